// Chooses between the driver's copy, its pitched copy, staging and a temporary array.
#include "runtime/copy/host_device_copy.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/copy/copy.hpp"
#include "core/copy/plan.hpp"
#include "runtime/copy/device_copy.hpp"
#include "runtime/copy/operation.hpp"
#include "runtime/device_context.hpp"
#include "runtime/memory/new_array.hpp"
#include "runtime/streams/host_access.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;
using core::DType;
using core::Plan;

// In bytes; drivers stage smaller copies themselves.
constexpr std::int64_t kMinStagedBytes = 64 * 1024;
constexpr std::int64_t kMinPitchedRow = 512;  // bytes per row, for a pitched copy to be worth it
constexpr std::int64_t kMaxPitch = std::int64_t{1} << 31;

/// Pageable memory: the driver's copies of it are synchronous.
bool is_pageable(const ArrayView& array) noexcept { return tracked(array.storage) == nullptr; }

/// The dtype to transfer: the smaller one.
const DType& transfer_dtype(const ArrayView& dst, const ArrayView& src) noexcept {
  return dst.dtype.stored_bits() < src.dtype.stored_bits() ? dst.dtype : src.dtype;
}

/// The span as a one-dimensional array of bytes.
ArrayView as_bytes(const ArrayView& array, const core::StridedSpan& run,
                   const std::int64_t* extent) {
  static constexpr std::int64_t kStride = 1;
  ArrayView out = array;
  out.data = run.data;
  out.bit = 0;
  out.dtype = {core::Kind::kUInt, 8};
  out.ndim = 1;
  out.shape = extent;
  out.strides = &kStride;
  return out;
}

void copy_rows(const ArrayView& dst, const ArrayView& src, const Plan& plan, Direction direction,
               const StreamPtr& stream) {
  Operation operation(dst, src, stream);
  DeviceContext& context = stream->context();
  const DeviceGuard on_device(context);
  const auto bytes = [](std::int64_t bits) { return static_cast<std::size_t>(bits / 8); };
  context.check(
      context.api().copy_rows(reinterpret_cast<Address>(plan.dst.data), bytes(plan.dst_strides[0]),
                              reinterpret_cast<Address>(plan.src.data), bytes(plan.src_strides[0]),
                              bytes(plan.shape[1] * plan.dst_bits),
                              static_cast<std::size_t>(plan.shape[0]), direction, stream->handle()),
      "copying rows of memory");
  operation.finish();
}

/// Whether the driver's pitched copy can do it: rows of equal length, with gaps between them.
bool is_pitched_copy(const Plan& plan) noexcept {
  if (!plan.moves || plan.ndim != 2 || plan.pattern != core::Pattern::kRuns) return false;
  const std::int64_t row = plan.shape[1] * plan.dst_bits;
  return row >= kMinPitchedRow * 8 && std::min(plan.dst_strides[0], plan.src_strides[0]) >= row &&
         std::max(plan.dst_strides[0], plan.src_strides[0]) < kMaxPitch * 8;
}

/// Uses the driver's copy for contiguous and pitched data. Large pageable memory is staged where
/// that is faster (rows) or returns earlier (uploads). Returns false if the driver's copy is not
/// suitable.
bool copy_directly(const ArrayView& dst, const ArrayView& src, const ArrayView& host,
                   Direction direction, const StreamPtr& stream) {
  const bool is_staged = is_pageable(host) && dst.nbytes() >= kMinStagedBytes;
  if (is_staged && direction == Direction::kHostToDevice) return false;
  const Plan plan(dst, src);
  if (plan.is_memmove()) {
    const std::int64_t extent = plan.shape[0] * plan.dst_bits / 8;
    copy_bytes(as_bytes(dst, plan.dst, &extent), as_bytes(src, plan.src, &extent), extent, stream);
    return true;
  }
  if (is_staged || !is_pitched_copy(plan)) return false;
  copy_rows(dst, src, plan, direction, stream);
  return true;
}

bool should_stage(const ArrayView& array) noexcept {
  return !array.dtype.is_packed() && array.nbytes() >= kMinStagedBytes &&
         array.dtype.itemsize() <= 4096;
}

/// To contiguous device memory.
void upload(const ArrayView& to, const ArrayView& from, const StreamPtr& stream) {
  wait_on_host(from, /*writes=*/false);  // the CPU reads it below
  if (should_stage(to) && stream->context().staging.upload(to, from, stream)) return;
  const core::Array packed = core::new_array(to.dtype, to.extents(), /*zeroed=*/false);
  core::copy(packed, from);
  copy_bytes(to, packed, to.nbytes(), stream);
}

/// From contiguous device memory.
void download(const ArrayView& to, const ArrayView& from, const StreamPtr& stream) {
  wait_on_host(to, /*writes=*/true);
  if (should_stage(from) && stream->context().staging.download(to, from, stream)) return;
  const core::Array packed = core::new_array(from.dtype, from.extents(), /*zeroed=*/false);
  copy_bytes(packed, from, from.nbytes(), stream);
  core::copy(to, packed);
}

/// Drops the repetitions of broadcast axes (stride 0).
ArrayView without_broadcast(ArrayView array, std::int64_t* shape) noexcept {
  for (int i = 0; i < array.ndim; ++i) shape[i] = array.strides[i] == 0 ? 1 : array.shape[i];
  array.shape = shape;
  return array;
}

/// The inverse: broadcasts `array` like `model`.
ArrayView broadcast_like(ArrayView array, const ArrayView& model, std::int64_t* strides) noexcept {
  for (int i = 0; i < model.ndim; ++i) strides[i] = model.strides[i] == 0 ? 0 : array.strides[i];
  array.shape = model.shape;
  array.strides = strides;
  return array;
}

/// Converts the only element on the host and passes it to the kernel by value.
void fill(const ArrayView& dst, ArrayView element, const StreamPtr& stream) {
  wait_on_host(element, /*writes=*/false);
  element.ndim = 0;
  alignas(16) std::byte value[16] = {};
  ArrayView converted = element;
  converted.storage = nullptr;
  converted.data = value;
  converted.bit = 0;
  converted.dtype = dst.dtype;
  core::copy(converted, element);
  fill_by_kernels(dst, value, stream);
}

}  // namespace

bool copy_to_device(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  DeviceContext& context = context_of(dst.device());
  const StreamPtr on = stream_on(context, stream);
  if (copy_directly(dst, src, src, Direction::kHostToDevice, on)) return true;
  std::int64_t shape[core::kMaxRank];
  const ArrayView distinct = without_broadcast(src, shape);
  const DType& transferred = transfer_dtype(dst, src);
  if (distinct.size() == src.size() && is_contiguous(dst) && transferred == dst.dtype) {
    upload(dst, src, on);
    return true;
  }
  if (!has_kernels(context)) return false;
  if (distinct.size() == 1 && can_fill(dst.dtype)) {
    fill(dst, distinct, on);
    return true;
  }
  const core::Array arrived =
      new_array(transferred, distinct.extents(), dst.device(), /*zeroed=*/false, on);
  upload(arrived, distinct, on);
  std::int64_t strides[core::kMaxRank];
  copy_by_kernels(dst, broadcast_like(arrived, src, strides), on);
  return true;
}

bool copy_to_host(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  DeviceContext& context = context_of(src.device());
  const StreamPtr on = stream_on(context, stream);
  if (copy_directly(dst, src, dst, Direction::kDeviceToHost, on)) return true;
  const DType& transferred = transfer_dtype(dst, src);
  if (is_contiguous(src) && transferred == src.dtype) {
    download(dst, src, on);
    return true;
  }
  if (!has_kernels(context)) return false;
  const core::Array packed =
      new_array(transferred, src.extents(), src.device(), /*zeroed=*/false, on);
  copy_by_kernels(packed, src, on);
  download(dst, packed, on);
  return true;
}

}  // namespace refarray::runtime
