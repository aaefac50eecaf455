// Construction of a plan: sorts and merges axes, widens words and chooses the pattern.
#include "core/copy/plan.hpp"

#include <bit>
#include <cstdlib>
#include <utility>

namespace refarray::core {

namespace {

constexpr std::int64_t kShortRun = 8;  // words
constexpr std::int64_t kMaxParts = 4;  // of (de)interleaving
constexpr std::int64_t kMaxWordBits = 128;
constexpr std::int64_t kLineBits = 512;  // of a cache line
constexpr std::int64_t kShortRow = 4 * kLineBits;

StridedSpan first_of(const ArrayView& view) noexcept {
  return {view.data, 0, view.bit, int{view.dtype.bits} * int{view.dtype.lanes}};
}

/// Both types have the same representation, in whole bytes.
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
    if (to_view.shape[axis] == 1) continue;  // its strides are meaningless and may be huge
    add_axis(to_view.shape[axis], to_view.strides[axis] * dst_bits,
             from_view.strides[axis] * src_bits);
  }
  if (moves && (!std::has_single_bit(static_cast<unsigned>(dst_bits)) || dst_bits > kMaxWordBits)) {
    const int element_bits = dst_bits;  // an element becomes an axis of words
    dst_bits = 1 << std::countr_zero(static_cast<unsigned>(element_bits));
    if (dst_bits > kMaxWordBits) dst_bits = kMaxWordBits;
    src_bits = dst_bits;
    add_axis(element_bits / dst_bits, dst_bits, src_bits);
  }
  if (ndim == 0) add_axis(1, dst_bits, src_bits);
  sort_axes();
  merge_axes();
  if (moves) widen_words();
  choose_pattern();
  dst.stride = dst_strides[ndim - 1];
  src.stride = src_strides[ndim - 1];
}

void Plan::add_axis(std::int64_t extent, std::int64_t dst_stride,
                    std::int64_t src_stride) noexcept {
  shape[ndim] = extent;
  dst_strides[ndim] = dst_stride;
  src_strides[ndim] = src_stride;
  if (dst_stride < 0) reverse(ndim);
  ++ndim;
}

void Plan::reverse(int axis) noexcept {
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

void Plan::move_axis(int axis, int position) noexcept {
  for (; axis < position; ++axis) swap_axes(axis, axis + 1);
}

/// Moves an axis that continues a short axis of the tile in memory right before the two tile axes:
/// TileWalk appends it to the tile, and chunks cut it last.
void Plan::place_continuations() noexcept {
  for (const bool in_src : {true, false}) {
    const std::int64_t* const strides = in_src ? src_strides : dst_strides;
    const int of = in_src ? ndim - 2 : ndim - 1;
    const std::int64_t reach = shape[of] * strides[of];
    if (reach >= kShortRow) continue;
    for (int axis = ndim - 3; axis >= 0; --axis) {
      if (strides[axis] != reach) continue;
      move_axis(axis, ndim - 3);
      break;
    }
  }
}

/// Also detects whether words of dst share memory, which is visible while the axes are sorted.
void Plan::merge_axes() noexcept {
  int merged = 0;
  for (int axis = 1; axis < ndim; ++axis) {
    const std::int64_t dst_reach = wrapped_product(shape[axis], dst_strides[axis]);
    const bool continues = dst_strides[merged] == dst_reach &&
                           src_strides[merged] == wrapped_product(shape[axis], src_strides[axis]);
    if (dst_strides[merged] < dst_reach) dst_overlaps_itself = true;
    if (continues) {
      shape[merged] *= shape[axis];
    } else {
      ++merged;
      shape[merged] = shape[axis];
    }
    dst_strides[merged] = dst_strides[axis];
    src_strides[merged] = src_strides[axis];
  }
  ndim = merged + 1;
  if (shape[merged] > 1 && dst_strides[merged] < dst_bits) dst_overlaps_itself = true;
}

void Plan::widen_words() noexcept {
  const int last = ndim - 1;
  const std::int64_t row = shape[last] * dst_bits;
  if (ndim == 1 || row > kMaxWordBits || !std::has_single_bit(static_cast<std::uint64_t>(row)))
    return;
  if (dst_strides[last] != dst_bits || src_strides[last] != src_bits) return;
  dst_bits = src_bits = static_cast<int>(row);
  ndim = last;
}

/// The axis before the last along which src is densest; -1 when src is broadcast along all of them.
int Plan::densest_in_src() const noexcept {
  int densest = -1;
  for (int axis = ndim - 2; axis >= 0; --axis) {
    if (src_strides[axis] == 0) continue;
    if (densest < 0 || std::abs(src_strides[axis]) < std::abs(src_strides[densest])) densest = axis;
  }
  return densest;
}

Pattern Plan::transpose_pattern(int densest) const noexcept {
  const int last = ndim - 1;
  const auto is_part_count = [](std::int64_t extent) { return extent >= 2 && extent <= kMaxParts; };
  if (!moves || dst_strides[last] != dst_bits || src_strides[densest] != src_bits)
    return Pattern::kTiles;
  if (is_part_count(shape[last]) && dst_strides[densest] == shape[last] * dst_bits)
    return Pattern::kInterleave;
  if (is_part_count(shape[densest]) && src_strides[last] == shape[densest] * src_bits)
    return Pattern::kDeinterleave;
  return Pattern::kTiles;
}

/// False for tiles of only a few words across, and for elements that are not whole bytes.
bool Plan::is_worth_tiling(int densest) const noexcept {
  if (src_bits % 8 != 0 || src_bits > kMaxWordBits || dst_bits % 8 != 0) return false;
  const std::int64_t shorter = shape[densest] < shape[ndim - 1] ? shape[densest] : shape[ndim - 1];
  if (moves) return shorter * src_bits >= (src_bits <= 16 ? 32 : 64);
  return shorter >= kShortRun && std::abs(src_strides[ndim - 1]) >= kLineBits;
}

void Plan::choose_pattern() noexcept {
  const int last = ndim - 1;
  const std::int64_t step = std::abs(src_strides[last]);
  if (dst_strides[last] == dst_bits && src_strides[last] == src_bits) {
    if (moves) return;  // kRuns
  } else if (step != 0) {
    const int densest = densest_in_src();
    if (densest >= 0 && std::abs(src_strides[densest]) < step) {
      const Pattern transpose = transpose_pattern(densest);
      if (transpose != Pattern::kTiles || is_worth_tiling(densest)) {
        pattern = transpose;
        move_axis(densest, last - 1);
        if (src_strides[last - 1] < 0) reverse(last - 1);
        if (pattern == Pattern::kTiles) place_continuations();
        return;
      }
    }
  }
  pattern = Pattern::kStrided;
  // Starting a conversion for a few words costs more than locality saves.
  if (!moves && ndim > 1 && shape[last] < kShortRun && shape[last - 1] > shape[last])
    swap_axes(last, last - 1);
}

std::int64_t Plan::size() const noexcept {
  std::int64_t words = 1;
  for (int axis = 0; axis < ndim; ++axis) words *= shape[axis];
  return words;
}

std::int64_t Plan::bytes_read() const noexcept {
  std::int64_t words = 1;
  for (int axis = 0; axis < ndim; ++axis)
    if (src_strides[axis] != 0) words *= shape[axis];
  return words * src_bits / 8;
}

void Plan::follow_src() noexcept {
  if (pattern != Pattern::kRuns || ndim < 3) return;
  const int densest = densest_in_src();
  if (densest < 0 || densest == ndim - 2) return;
  // Lines that are written in part only stay in the cache while few others are written.
  bool whole_lines = reinterpret_cast<std::uintptr_t>(dst.data) * 8 % kLineBits == 0 &&
                     shape[ndim - 1] * dst_bits % kLineBits == 0;
  for (int axis = 0; axis < ndim - 1; ++axis)
    whole_lines = whole_lines && dst_strides[axis] % kLineBits == 0;
  if (shape[densest] > shape[ndim - 2] / (whole_lines ? 1 : kShortRun)) return;
  move_axis(densest, ndim - 2);
}

void Plan::narrow(int axis, std::int64_t begin, std::int64_t end) noexcept {
  dst = dst.at(begin * dst_strides[axis]);
  src = src.at(begin * src_strides[axis]);
  shape[axis] = end - begin;
}

}  // namespace refarray::core
