// Owns the choice between a driver's own copy, its copy of rows, pinned memory piece by piece, and
// one temporary array.
#include "runtime/copy/host_device_copy.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/copy/copy.hpp"
#include "core/copy/plan.hpp"
#include "runtime/copy/device_copy.hpp"
#include "runtime/copy/operation.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;
using core::DType;
using core::Plan;

constexpr std::int64_t kWorthStaging = 64 * 1024;  // bytes; the driver stages fewer by itself
constexpr std::int64_t kWorthRows = 512;           // bytes of a row that is moved by itself
constexpr std::int64_t kMaxPitch = std::int64_t{1} << 31;

/// Memory of the CPU's own, which a driver's copies do not overlap with anything.
bool is_pageable(const ArrayView& array) noexcept { return tracked(array.storage) == nullptr; }

/// The type that crosses: fewer bytes.
const DType& wire_type(const ArrayView& dst, const ArrayView& src) noexcept {
  return dst.dtype.stored_bits() < src.dtype.stored_bits() ? dst.dtype : src.dtype;
}

/// The same memory as one row of bytes.
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

void copy_rows(const ArrayView& dst, const ArrayView& src, const Plan& plan, Direction way,
               const StreamPtr& stream) {
  Operation operation(dst, src, stream);
  DeviceContext& unit = stream->unit();
  const OnDevice here(unit);
  const auto bytes = [](std::int64_t bits) { return static_cast<std::size_t>(bits / 8); };
  unit.check(
      unit.api().copy_rows(reinterpret_cast<Address>(plan.dst.data), bytes(plan.dst_strides[0]),
                           reinterpret_cast<Address>(plan.src.data), bytes(plan.src_strides[0]),
                           bytes(plan.shape[1] * plan.dst_bits),
                           static_cast<std::size_t>(plan.shape[0]), way, stream->handle()),
      "copying rows of memory");
  operation.finish();
}

/// Rows that a driver copies by itself, with gaps between them on either side.
bool is_rows(const Plan& plan) noexcept {
  if (!plan.moves || plan.ndim != 2 || plan.pattern != core::Pattern::kRuns) return false;
  const std::int64_t row = plan.shape[1] * plan.dst_bits;
  return row >= kWorthRows * 8 && std::min(plan.dst_strides[0], plan.src_strides[0]) >= row &&
         std::max(plan.dst_strides[0], plan.src_strides[0]) < kMaxPitch * 8;
}

/// What a driver does by itself, and as fast: a gapless copy, or one of long rows. Of large arrays
/// in memory of the CPU's own it does not: those go through pinned memory.
bool copy_directly(const ArrayView& dst, const ArrayView& src, const ArrayView& host, Direction way,
                   const StreamPtr& stream) {
  if (is_pageable(host) && dst.nbytes() >= kWorthStaging) return false;
  const Plan plan(dst, src);
  if (plan.is_memmove()) {
    const std::int64_t extent = plan.shape[0] * plan.dst_bits / 8;
    copy_bytes(as_bytes(dst, plan.dst, &extent), as_bytes(src, plan.src, &extent), extent, stream);
    return true;
  }
  if (!is_rows(plan)) return false;
  copy_rows(dst, src, plan, way, stream);
  return true;
}

bool is_worth_staging(const ArrayView& gapless) noexcept {
  return !gapless.dtype.is_packed() && gapless.nbytes() >= kWorthStaging &&
         gapless.dtype.itemsize() <= 4096;
}

/// Into gapless device memory.
void send(const ArrayView& to, const ArrayView& from, const StreamPtr& stream) {
  wait_on_host(from, /*writes=*/false);  // the CPU is about to read it
  if (is_worth_staging(to) && stream->unit().staging.send(to, from, stream)) return;
  const core::Array packed = core::new_array(to.dtype, to.extents(), /*zeroed=*/false);
  core::copy(packed, from);
  copy_bytes(to, packed, to.nbytes(), stream);
}

/// Out of gapless device memory.
void fetch(const ArrayView& to, const ArrayView& from, const StreamPtr& stream) {
  wait_on_host(to, /*writes=*/true);
  if (is_worth_staging(from) && stream->unit().staging.fetch(to, from, stream)) return;
  const core::Array packed = core::new_array(from.dtype, from.extents(), /*zeroed=*/false);
  copy_bytes(packed, from, from.nbytes(), stream);
  core::copy(to, packed);
}

/// The elements of `array` without those that a stride of zero repeats.
ArrayView without_repeats(ArrayView array, std::int64_t* shape) noexcept {
  for (int i = 0; i < array.ndim; ++i) shape[i] = array.strides[i] == 0 ? 1 : array.shape[i];
  array.shape = shape;
  return array;
}

/// The inverse: `array`, which has their extents or 1, repeated like `model`.
ArrayView repeated(ArrayView array, const ArrayView& model, std::int64_t* strides) noexcept {
  for (int i = 0; i < model.ndim; ++i) strides[i] = model.strides[i] == 0 ? 0 : array.strides[i];
  array.shape = model.shape;
  array.strides = strides;
  return array;
}

/// One element for all: it travels with the launch.
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
  DeviceContext& unit = unit_of(dst.device());
  const StreamPtr on = stream_at(unit, stream);
  if (copy_directly(dst, src, src, Direction::kHostToDevice, on)) return true;
  std::int64_t shape[core::kMaxRank];
  const ArrayView once = without_repeats(src, shape);
  const DType& wire = wire_type(dst, src);
  if (once.size() == src.size() && is_gapless(dst) && wire == dst.dtype) {
    send(dst, src, on);
    return true;
  }
  if (!has_kernels(unit)) return false;
  if (once.size() == 1 && can_fill(dst.dtype)) {
    fill(dst, once, on);
    return true;
  }
  const core::Array arrived = new_array(wire, once.extents(), dst.device(), /*zeroed=*/false, on);
  send(arrived, once, on);
  std::int64_t strides[core::kMaxRank];
  copy_by_kernels(dst, repeated(arrived, src, strides), on);
  return true;
}

bool copy_to_host(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  DeviceContext& unit = unit_of(src.device());
  const StreamPtr on = stream_at(unit, stream);
  if (copy_directly(dst, src, dst, Direction::kDeviceToHost, on)) return true;
  const DType& wire = wire_type(dst, src);
  if (is_gapless(src) && wire == src.dtype) {
    fetch(dst, src, on);
    return true;
  }
  if (!has_kernels(unit)) return false;
  const core::Array packed = new_array(wire, src.extents(), src.device(), /*zeroed=*/false, on);
  copy_by_kernels(packed, src, on);
  fetch(dst, packed, on);
  return true;
}

}  // namespace refarray::runtime
