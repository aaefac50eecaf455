// Owns the planner: how the plan of a copy is found.
#include "core/copy/plan.hpp"

#include <bit>
#include <cstdlib>
#include <utility>

namespace refarray::core {

namespace {

constexpr std::int64_t kShortRun = 8;
constexpr std::int64_t kMostParts = 4;   // of an interleave
constexpr std::int64_t kMaxUnit = 128;   // bits
constexpr std::int64_t kLineBits = 512;  // of a cache line
constexpr std::int64_t kShortRow = 4 * kLineBits;

StridedSpan first_of(const ArrayView& view) noexcept {
  return {view.data, 0, view.bit, int{view.dtype.bits} * int{view.dtype.lanes}};
}

/// The elements stay the same bits, and those are whole bytes on both sides.
bool is_move_of_bytes(const DType& to, const DType& from) noexcept {
  return to.kind == from.kind && to.bits == from.bits && to.stored_bits() == from.stored_bits() &&
         !to.is_packed();
}

}  // namespace

Plan::Plan(const ArrayView& to_view, const ArrayView& from_view) noexcept
    : dst(first_of(to_view)),
      src(first_of(from_view)),
      to(to_view.dtype),
      from(from_view.dtype),
      moves(is_move_of_bytes(to_view.dtype, from_view.dtype)),
      dst_bits(to_view.dtype.stored_bits()),
      src_bits(from_view.dtype.stored_bits()) {
  for (int axis = 0; axis < to_view.ndim; ++axis) {
    if (to_view.shape[axis] == 1) continue;  // its strides carry no meaning and may be huge
    add_axis(to_view.shape[axis], to_view.strides[axis] * dst_bits,
             from_view.strides[axis] * src_bits);
  }
  if (moves && (!std::has_single_bit(static_cast<unsigned>(dst_bits)) || dst_bits > kMaxUnit)) {
    const int whole = dst_bits;  // an element becomes an axis of units
    dst_bits = 1 << std::countr_zero(static_cast<unsigned>(whole));
    if (dst_bits > kMaxUnit) dst_bits = kMaxUnit;
    src_bits = dst_bits;
    add_axis(whole / dst_bits, dst_bits, src_bits);
  }
  if (ndim == 0) add_axis(1, dst_bits, src_bits);
  sort_axes();
  merge_axes();
  if (moves) widen_units();
  choose_pattern();
  dst.stride = dst_strides[ndim - 1];
  src.stride = src_strides[ndim - 1];
}

void Plan::add_axis(std::int64_t extent, std::int64_t dst_stride,
                    std::int64_t src_stride) noexcept {
  shape[ndim] = extent;
  dst_strides[ndim] = dst_stride;
  src_strides[ndim] = src_stride;
  if (dst_stride < 0) flip(ndim);
  ++ndim;
}

void Plan::flip(int axis) noexcept {  // walk that axis from its other end
  dst = dst.at((shape[axis] - 1) * dst_strides[axis]);
  src = src.at((shape[axis] - 1) * src_strides[axis]);
  dst_strides[axis] = -dst_strides[axis];
  src_strides[axis] = -src_strides[axis];
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

void Plan::move_to(int axis, int place) noexcept {
  for (; axis < place; ++axis) swap_axes(axis, axis + 1);
}

/// Rows of a tile that are shorter than a few lines go on in memory with another axis: that one
/// shall vary next, and be cut last (see TileWalk).
void Plan::bring_continuations() noexcept {
  for (const bool in_src : {true, false}) {
    const std::int64_t* const strides = in_src ? src_strides : dst_strides;
    const int of = in_src ? ndim - 2 : ndim - 1;
    const std::int64_t reach = shape[of] * strides[of];
    if (reach >= kShortRow) continue;
    for (int axis = ndim - 3; axis >= 0; --axis) {
      if (strides[axis] != reach) continue;
      move_to(axis, ndim - 3);
      break;
    }
  }
}

/// And sees, while the axes are in order, whether units of dst share memory.
void Plan::merge_axes() noexcept {
  int kept = 0;
  for (int axis = 1; axis < ndim; ++axis) {
    const std::int64_t dst_reach = wrapped_product(shape[axis], dst_strides[axis]);
    const bool continues = dst_strides[kept] == dst_reach &&
                           src_strides[kept] == wrapped_product(shape[axis], src_strides[axis]);
    if (dst_strides[kept] < dst_reach) shares_dst = true;
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
  if (shape[kept] > 1 && dst_strides[kept] < dst_bits) shares_dst = true;
}

void Plan::widen_units() noexcept {
  const int last = ndim - 1;
  const std::int64_t row = shape[last] * dst_bits;
  if (ndim == 1 || row > kMaxUnit || !std::has_single_bit(static_cast<std::uint64_t>(row))) return;
  if (dst_strides[last] != dst_bits || src_strides[last] != src_bits) return;
  dst_bits = src_bits = static_cast<int>(row);
  ndim = last;
}

/// Of the axes but the last, the one along which src is densest; -1 when it repeats along them all.
int Plan::nearest_in_src() const noexcept {
  int nearest = -1;
  for (int axis = ndim - 2; axis >= 0; --axis) {
    if (src_strides[axis] == 0) continue;
    if (nearest < 0 || std::abs(src_strides[axis]) < std::abs(src_strides[nearest])) nearest = axis;
  }
  return nearest;
}

Pattern Plan::crossing_pattern(int nearest) const noexcept {
  const int last = ndim - 1;
  const auto is_few = [](std::int64_t extent) { return extent >= 2 && extent <= kMostParts; };
  if (!moves || dst_strides[last] != dst_bits || src_strides[nearest] != src_bits)
    return Pattern::kTiles;
  if (is_few(shape[last]) && dst_strides[nearest] == shape[last] * dst_bits)
    return Pattern::kInterleave;
  if (is_few(shape[nearest]) && src_strides[last] == shape[nearest] * src_bits)
    return Pattern::kDeinterleave;
  return Pattern::kTiles;
}

/// A few units across are not worth a tile, and what cannot be addressed by bytes has none.
bool Plan::is_worth_tiles(int nearest) const noexcept {
  if (src_bits % 8 != 0 || src_bits > kMaxUnit || dst_bits % 8 != 0) return false;
  const std::int64_t fewer = shape[nearest] < shape[ndim - 1] ? shape[nearest] : shape[ndim - 1];
  if (moves) return fewer * src_bits >= (src_bits <= 16 ? 32 : 64);
  return fewer >= kShortRun && std::abs(src_strides[ndim - 1]) >= kLineBits;
}

void Plan::choose_pattern() noexcept {
  const int last = ndim - 1;
  const std::int64_t step = std::abs(src_strides[last]);
  if (dst_strides[last] == dst_bits && src_strides[last] == src_bits) {
    if (moves) return;  // kRuns
  } else if (step != 0) {
    const int nearest = nearest_in_src();
    if (nearest >= 0 && std::abs(src_strides[nearest]) < step) {
      const Pattern crossing = crossing_pattern(nearest);
      if (crossing != Pattern::kTiles || is_worth_tiles(nearest)) {
        pattern = crossing;
        move_to(nearest, last - 1);
        if (src_strides[last - 1] < 0) flip(last - 1);
        if (pattern == Pattern::kTiles) bring_continuations();
        return;
      }
    }
  }
  pattern = Pattern::kStrided;
  // A run of a few elements costs more to start than its neighbourhood saves.
  if (ndim > 1 && shape[last] < kShortRun && shape[last - 1] > shape[last])
    swap_axes(last, last - 1);
}

std::int64_t Plan::size() const noexcept {
  std::int64_t units = 1;
  for (int axis = 0; axis < ndim; ++axis) units *= shape[axis];
  return units;
}

void Plan::narrow(int axis, std::int64_t begin, std::int64_t end) noexcept {
  dst = dst.at(begin * dst_strides[axis]);
  src = src.at(begin * src_strides[axis]);
  shape[axis] = end - begin;
}

}  // namespace refarray::core
