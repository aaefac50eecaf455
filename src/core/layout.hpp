// Shapes and strides: sizes, address ranges, contiguity, reshape and broadcast, with checked
// arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "refarray/core/dtype.hpp"

namespace refarray::core {

/// The limit of NumPy and PyTorch too; small enough for arrays on the stack.
inline constexpr int kMaxRank = 64;

using Extents = std::span<const std::int64_t>;

[[noreturn]] void fail_rank(std::int64_t ndim);

/// Extents and strides of up to kMaxRank axes; strides count ELEMENTS and may be negative or zero.
/// Allocates nothing; entries past ndim are uninitialized.
struct Layout {
  int ndim = 0;
  std::int64_t shape[kMaxRank];
  std::int64_t strides[kMaxRank];

  Layout() noexcept {}  // NOLINT: leaves 1 KiB uninitialized
  /// Throws kValue for more than kMaxRank axes.
  Layout(Extents shape, Extents strides);
  Layout(const Layout& other) noexcept { *this = other; }  // NOLINT: likewise
  Layout& operator=(const Layout& other) noexcept;

  Extents extents() const noexcept { return {shape, static_cast<std::size_t>(ndim)}; }
  Extents stride_span() const noexcept { return {strides, static_cast<std::size_t>(ndim)}; }
  /// Appends one axis. Throws kValue if there are kMaxRank already.
  void push(std::int64_t extent, std::int64_t stride) {
    if (ndim >= kMaxRank) [[unlikely]]
      fail_rank(std::int64_t{ndim} + 1);
    shape[ndim] = extent;
    strides[ndim] = stride;
    ++ndim;
  }
};

/// "(2, 3)", "(2,)", "()": for error messages.
std::string shape_text(Extents shape);

/// Wraps around on overflow: for strides that no element uses, such as those of an empty array.
inline std::int64_t wrapped_product(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Number of elements: 1 for rank 0. Throws kValue on a negative extent and kOverflow when the
/// product of the non-zero extents overflows, even if another extent is 0.
std::int64_t checked_size(Extents shape);
/// Number of elements of a shape that passed checked_size().
std::int64_t size_of(Extents shape) noexcept;
/// Bytes of `size` contiguous elements, rounded up. Throws kOverflow.
std::int64_t checked_nbytes(std::int64_t size, const DType& dtype);
std::int64_t nbytes_of(std::int64_t size, const DType& dtype) noexcept;

/// The row-major layout of `shape`. Throws kValue if rank > kMaxRank, and as checked_size() does.
Layout c_layout(Extents shape);

/// Bits [begin, end) of all elements, relative to element (0,...,0); {0, 0} for an empty array.
struct BitRange {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t first_byte() const noexcept { return begin >> 3; }
  /// One past the last byte. `end` may be INT64_MAX, so rounding must not add to it.
  std::int64_t end_byte() const noexcept { return (end >> 3) + ((end & 7) != 0 ? 1 : 0); }
};
/// Empty when an offset in bits overflows.
std::optional<BitRange> bit_range(Extents shape, Extents strides, const DType& dtype) noexcept;
/// The same, but throws kOverflow.
BitRange checked_bit_range(Extents shape, Extents strides, const DType& dtype);

/// Result of validating an imported layout in a single pass. If `sound` is false, an extent is
/// negative or a number overflows; the throwing functions above then report which.
struct Survey {
  std::int64_t size;  // elements
  BitRange range;     // as checked_bit_range(); meaningless if size is 0
  bool sound;
};
/// Copies `ndim` extents and strides to `out`, reading each once, and validates the copy. `shape`
/// and `strides` may be those of `out`.
inline Survey survey(const std::int64_t* shape, const std::int64_t* strides, int ndim,
                     const DType& dtype, Layout& out) noexcept {
  std::int64_t size = 1, low = 0, high = 0;
  std::int64_t signs = 0;  // negative when any extent is
  bool empty = false, too_many = false, too_far = false;
  out.ndim = ndim;
  for (int i = 0; i < ndim; ++i) {
    const std::int64_t extent = shape[i];
    const std::int64_t stride = strides[i];
    out.shape[i] = extent;
    out.strides[i] = stride;
    signs |= extent;
    empty |= extent == 0;
    too_many |= __builtin_mul_overflow(size, extent == 0 ? 1 : extent, &size);
    const auto steps = static_cast<std::int64_t>(static_cast<std::uint64_t>(extent) - 1);
    std::int64_t reach = 0;
    too_far |= __builtin_mul_overflow(steps, stride, &reach);
    too_far |= __builtin_add_overflow(low, reach < 0 ? reach : 0, &low);
    too_far |= __builtin_add_overflow(high, reach < 0 ? 0 : reach, &high);
  }
  const std::int64_t bits = dtype.stored_bits();
  std::int64_t all_bits = 0;
  too_many |= __builtin_mul_overflow(size, bits, &all_bits);
  too_far |= __builtin_mul_overflow(low, bits, &low);
  too_far |= __builtin_add_overflow(high, 1, &high);
  too_far |= __builtin_mul_overflow(high, bits, &high);
  return {empty ? 0 : size, {low, high}, signs >= 0 && !too_many && (empty || !too_far)};
}

/// Row-major and contiguous. Strides of axes of extent 1 and of empty arrays are ignored (TENS-14).
bool is_c_contiguous(Extents shape, Extents strides) noexcept;
bool is_f_contiguous(Extents shape, Extents strides) noexcept;

/// The layout with the axes in reverse order.
Layout reversed_axes(Extents shape, Extents strides) noexcept;

/// Maps an axis in [-ndim, ndim) to [0, ndim). Throws kAxis.
int normalize_axis(std::int64_t axis, int ndim);

/// The layout of a view with the shape `to_shape`, or empty if the reshape needs a copy. Throws
/// kValue when the sizes differ, and as c_layout() does for `to_shape`.
std::optional<Layout> reshape_layout(Extents shape, Extents strides, Extents to_shape);
/// The layout of `shape` broadcast to `to_shape`, with zero strides. Throws kValue if it does not
/// broadcast.
Layout broadcast_layout(Extents shape, Extents strides, Extents to_shape);

}  // namespace refarray::core
