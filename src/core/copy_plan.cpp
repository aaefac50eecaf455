// Owns the planner: it turns two strided arrays of equal shape into few long runs in an order that
// suits memory.
#include "core/copy_plan.hpp"

#include <cstdlib>
#include <utility>

namespace refarray::core {

namespace {

constexpr std::int64_t kLineBits = 512;
constexpr std::int64_t kShortRun = 8;
constexpr int kMaxTileBits = 128;  // see walk_tiles

Run first_of(const ArrayView& view) noexcept {
  return {view.data, view.dtype.stored_bits(), view.bit,
          int{view.dtype.bits} * int{view.dtype.lanes}};
}

}  // namespace

Plan::Plan(const ArrayView& to, const ArrayView& from) noexcept
    : recipe(to.dtype, from.dtype),
      dst(first_of(to)),
      src(first_of(from)),
      dst_bits(to.dtype.stored_bits()),
      src_bits(from.dtype.stored_bits()),
      gather(move_kernel(from.dtype, from.dtype)) {
  add_axes(to, from);
  sort_axes();
  merge_axes();
  choose_run();
  if (ndim == 0) return;
  dst.stride = dst_strides[ndim - 1];
  src.stride = src_strides[ndim - 1];
}

void Plan::add_axes(const ArrayView& to, const ArrayView& from) noexcept {
  for (int axis = 0; axis < to.ndim; ++axis) {
    const std::int64_t extent = to.shape[axis];
    if (extent == 1) continue;  // its strides carry no meaning and may be huge
    std::int64_t dst_stride = to.strides[axis] * dst_bits;
    std::int64_t src_stride = from.strides[axis] * src_bits;
    if (dst_stride < 0) {  // walk that axis from its other end
      dst = dst.at((extent - 1) * dst_stride);
      src = src.at((extent - 1) * src_stride);
      dst_stride = -dst_stride;
      src_stride = -src_stride;
    }
    shape[ndim] = extent;
    dst_strides[ndim] = dst_stride;
    src_strides[ndim] = src_stride;
    ++ndim;
  }
}

void Plan::sort_axes() noexcept {
  const auto is_before = [this](int a, int b) {
    if (dst_strides[a] != dst_strides[b]) return dst_strides[a] > dst_strides[b];
    return std::abs(src_strides[a]) > std::abs(src_strides[b]);
  };
  for (int end = 1; end < ndim; ++end) {
    for (int axis = end; axis > 0 && is_before(axis, axis - 1); --axis) swap_axes(axis, axis - 1);
  }
}

void Plan::swap_axes(int a, int b) noexcept {
  std::swap(shape[a], shape[b]);
  std::swap(dst_strides[a], dst_strides[b]);
  std::swap(src_strides[a], src_strides[b]);
}

void Plan::merge_axes() noexcept {
  if (ndim == 0) return;
  int kept = 0;
  for (int axis = 1; axis < ndim; ++axis) {
    const bool continues = dst_strides[kept] == shape[axis] * dst_strides[axis] &&
                           src_strides[kept] == shape[axis] * src_strides[axis];
    if (continues) {
      shape[kept] *= shape[axis];
    } else {
      ++kept;
      shape[kept] = shape[axis];
    }
    dst_strides[kept] = dst_strides[axis];
    src_strides[kept] = src_strides[axis];
  }
  ndim = kept + 1;
}

void Plan::choose_run() noexcept {
  if (ndim < 2) return;
  const int last = ndim - 1;
  int nearest = last - 1;  // of the other axes, the one along which src is densest
  for (int axis = last - 1; axis >= 0; --axis) {
    if (std::abs(src_strides[axis]) < std::abs(src_strides[nearest])) nearest = axis;
  }
  const std::int64_t step = std::abs(src_strides[last]);
  const bool crosses = step >= kLineBits && std::abs(src_strides[nearest]) < step;
  if (crosses) {
    for (int axis = nearest; axis < last - 1; ++axis) swap_axes(axis, axis + 1);
  }
  // A run of a few elements costs more to start than its neighbourhood saves.
  const bool is_short = shape[last] < kShortRun && shape[last - 1] > shape[last];
  if (is_short) swap_axes(last, last - 1);
  tiled = crosses && !is_short && src_bits % 8 == 0 && src_bits <= kMaxTileBits;
}

bool Plan::is_memmove() const noexcept {
  const bool gapless = ndim == 0 || (ndim == 1 && dst.stride == dst_bits && src.stride == src_bits);
  return recipe.is_move() && gapless && dst_bits == src_bits && dst_bits % 8 == 0;
}

}  // namespace refarray::core
