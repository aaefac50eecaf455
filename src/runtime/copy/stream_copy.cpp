// copy(): chooses between the driver's copy, staging, kernels and a detour through host memory.
#include "runtime/copy/stream_copy.hpp"

#include <algorithm>

#include "core/copy/copy.hpp"
#include "core/copy/plan.hpp"
#include "runtime/copy/device_copy.hpp"
#include "runtime/copy/operation.hpp"
#include "runtime/device_context.hpp"
#include "runtime/memory/device_storage.hpp"
#include "runtime/streams/order.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;
using core::DeviceKind;
using core::DType;
using core::Plan;

/// Contiguous transfers below this many bytes go straight to the driver.
constexpr std::int64_t kDriverCopyMax = 64 * 1024;

/// The byte range of an array's elements, relative to array.data.
struct Span {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const noexcept { return end - begin; }
};

Span span_of(const ArrayView& array) {
  core::BitRange bits = core::checked_bit_range(array.extents(), array.stride_span(), array.dtype);
  bits.begin += array.bit;
  bits.end += array.bit;
  return {bits.first_byte(), bits.end_byte()};
}

StreamPtr stream_for(const ArrayView& array, const StreamPtr& wanted) {
  DeviceContext& context = context_of(array.device());
  const bool fits = wanted != nullptr && &wanted->context().driver == &context.driver;
  return fits ? wanted : current_stream_of(context);
}

/// The same elements in memory that the CPU can read; device data is copied to `buffer`.
ArrayView on_host(const ArrayView& array, const StreamPtr& stream, core::Array& buffer) {
  if (!is_on_device(array)) {
    wait_on_host(array, /*writes=*/false);
    return array;
  }
  const Span span = span_of(array);
  const std::int64_t extent[] = {span.size()};
  const core::DType byte{core::Kind::kUInt, 8};
  buffer = core::new_array(byte, extent, /*zeroed=*/false);
  ArrayView from = array;
  from.data += span.begin;
  ArrayView to = buffer;
  copy_bytes(to, from, span.size(), stream_for(array, stream));
  ArrayView out = array;
  out.storage = buffer.storage.get();
  out.data = buffer.data - span.begin;
  out.readonly = false;
  return out;
}

/// Copies through host memory: any layout, any conversion, any two devices. Blocks the host.
void copy_through_host(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  core::Array fetched;
  const ArrayView from = on_host(src, stream, fetched);
  if (!is_on_device(dst)) {
    wait_on_host(dst, /*writes=*/true);
    core::copy(dst, from);
    return;
  }
  const StreamPtr on = stream_for(dst, stream);
  if (is_contiguous(dst)) {
    const core::Array packed = core::new_array(dst.dtype, dst.extents(), /*zeroed=*/false);
    core::copy(packed, from);
    return copy_bytes(dst, packed, dst.nbytes(), on);
  }
  core::Array span_bytes;  // a round trip keeps the bytes between the elements
  const ArrayView to = on_host(dst, on, span_bytes);
  core::copy(to, from);
  const Span span = span_of(dst);
  ArrayView target = dst;
  target.data += span.begin;
  copy_bytes(target, span_bytes, span.size(), on);
}

// Between host memory and a device: the driver's copy, its pitched copy, staging and a temporary
// array.

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

/// dst is device memory, src host memory; any layouts, any conversion. Pageable memory has been
/// read on return. Returns false, without side effects, if the copy needs kernels and the device
/// has none. Throws as copy().
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

/// The same from device to host; pageable memory has been written on return.
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

/// Whether one driver can access both arrays' memory.
bool is_one_driver(const ArrayView& dst, const ArrayView& src) noexcept {
  const auto is_cpu = [](const ArrayView& array) {
    return array.device().kind == DeviceKind::kCpu;
  };
  return is_cpu(dst) || is_cpu(src) || vendor_of(dst.device().kind) == vendor_of(src.device().kind);
}

/// Whether one device's kernels can access both arrays.
bool is_one_device(const ArrayView& dst, const ArrayView& src) noexcept {
  const auto is_managed = [](const ArrayView& array) {
    return array.device().kind == DeviceKind::kCudaManaged;
  };
  return is_managed(dst) || is_managed(src) || dst.device() == src.device();
}

/// Both arrays are not empty. Work runs on `stream` where it belongs to the device that does it.
void copy_elements(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  if (!is_one_driver(dst, src)) return copy_through_host(dst, src, stream);
  DeviceContext& context = is_on_device(dst) ? kernel_context(dst, src) : context_of(src.device());
  const bool is_small = dst.nbytes() < kDriverCopyMax || (is_on_device(dst) && is_on_device(src));
  if (is_small && dst.dtype == src.dtype && is_contiguous(dst) && is_contiguous(src) &&
      !core::may_overlap(dst, src)) {
    return copy_bytes(dst, src, dst.nbytes(), stream_on(context, stream));
  }
  if (!is_on_device(src)) {
    if (!copy_to_device(dst, src, stream)) copy_through_host(dst, src, stream);
  } else if (!is_on_device(dst)) {
    if (!copy_to_host(dst, src, stream)) copy_through_host(dst, src, stream);
  } else if (!has_kernels(context) || !has_kernels(context_of(src.device()))) {
    copy_through_host(dst, src, stream);
  } else if (is_one_device(dst, src)) {
    copy_by_kernels(dst, src, stream);
  } else {
    copy_between(dst, src, stream);
  }
}

/// The work may have run on other streams, because `wanted` belongs to another device.
void make_stream_wait_for(const ArrayView& dst, const StreamPtr& wanted) {
  TrackedStorage* storage = tracked(dst.storage);
  if (wanted == nullptr || storage == nullptr) return;
  DeviceContext& context = wanted->context();
  if (context.driver.vendor != vendor_of(dst.device().kind)) return;
  const DeviceGuard on_device(context);
  storage->pending.make_stream_wait(context, StreamKey(*wanted), /*writes=*/false);
}

}  // namespace

void copy(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  core::check_copy(dst, src);
  if (dst.size() == 0) return;
  copy_elements(dst, src, stream);
  make_stream_wait_for(dst, stream);
}

}  // namespace refarray::runtime
