// Owns the arithmetic of shapes and strides: every product of extents and every address range is
// computed here, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "refarray/core/dtype.hpp"

namespace refarray::core {

/// More axes than any partner uses (NumPy and PyTorch: 64), and small enough for a stack.
inline constexpr int kMaxRank = 64;

using Extents = std::span<const std::int64_t>;

/// Extents and strides of up to kMaxRank axes; strides count ELEMENTS and may be negative or zero.
/// A plain value without an allocation: entries past ndim are not initialised.
struct Layout {
  int ndim = 0;
  std::int64_t shape[kMaxRank];
  std::int64_t strides[kMaxRank];

  Layout() noexcept {
  }  // leaves the entries alone: 1 KiB that only the first ndim entries of are used
  Layout(Extents shape, Extents strides) noexcept;
  Layout(const Layout& other) noexcept : Layout(other.extents(), other.stride_span()) {}
  Layout& operator=(const Layout& other) noexcept;

  Extents extents() const noexcept { return {shape, static_cast<std::size_t>(ndim)}; }
  Extents stride_span() const noexcept { return {strides, static_cast<std::size_t>(ndim)}; }
  /// Appends one axis. The caller has checked ndim < kMaxRank.
  void push(std::int64_t extent, std::int64_t stride) noexcept {
    shape[ndim] = extent;
    strides[ndim] = stride;
    ++ndim;
  }
};

/// "(2, 3)", "(2,)", "()": for messages.
std::string shape_text(Extents shape);

/// Wraps instead of overflowing: for strides that no element uses, such as those of an empty array.
inline std::int64_t wrapped_product(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Number of elements: 1 for rank 0. Throws kValue on a negative extent and kOverflow when the
/// product of the non-zero extents does not fit (so that a huge extent beside a zero is refused,
/// never wrapped).
std::int64_t checked_size(Extents shape);
/// Number of elements of a shape that has been checked before.
std::int64_t size_of(Extents shape) noexcept;
/// Bytes that `size` elements take, packed types rounded up once. Throws kOverflow.
std::int64_t checked_nbytes(std::int64_t size, const DType& dtype);
std::int64_t nbytes_of(std::int64_t size, const DType& dtype) noexcept;

/// The row-major layout of `shape`. Throws kValue for rank > kMaxRank and as checked_size does.
Layout c_layout(Extents shape);

/// Lowest and one-past-highest bit that any element touches, relative to element (0,...,0); {0, 0}
/// when empty.
struct BitRange {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t first_byte() const noexcept { return begin >> 3; }
  /// One past the last byte; `end` may be as large as an int64, so nothing is added to it.
  std::int64_t end_byte() const noexcept { return (end >> 3) + ((end & 7) != 0 ? 1 : 0); }
};
/// Nothing when an offset does not fit int64 bits.
std::optional<BitRange> bit_range(Extents shape, Extents strides, const DType& dtype) noexcept;
/// The same, throwing kOverflow.
BitRange checked_bit_range(Extents shape, Extents strides, const DType& dtype);

/// What one pass over a layout that came from outside finds; the import path's only look at it.
/// When `sound` is false an extent is negative or a number does not fit, and the throwing functions
/// above say which.
struct Survey {
  std::int64_t size;  // elements
  BitRange range;     // as checked_bit_range; meaningless for no elements
  bool sound;
};
/// Copies `ndim` extents and strides into `out`, each read once, and surveys the copy. `shape` and
/// `strides` may be out's own.
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

/// Row-major without gaps. Strides of axes of extent 1 and of empty arrays carry no meaning
/// (TENS-14).
bool is_c_contiguous(Extents shape, Extents strides) noexcept;
bool is_f_contiguous(Extents shape, Extents strides) noexcept;

/// Axis in [-ndim, ndim) made non-negative. Throws kIndex naming the axis and the rank.
int normalize_axis(std::int64_t axis, int ndim);

/// Strides by which `shape` can be read as `to_shape` without a copy, if there are such strides.
/// Throws kValue when the numbers of elements differ, and as c_layout does for `to_shape`.
std::optional<Layout> reshape_layout(Extents shape, Extents strides, Extents to_shape);
/// `shape` stretched to `to_shape` by zero strides. Throws kValue when it does not broadcast.
Layout broadcast_layout(Extents shape, Extents strides, Extents to_shape);

}  // namespace refarray::core
