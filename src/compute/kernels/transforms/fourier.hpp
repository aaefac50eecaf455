// Arguments of the kernels of Fourier transforms.
//
// Complex numbers are two planes, the real parts and the imaginary parts. Several transforms of one
// length can lie side by side: element k of transform b is at k * width + b. No kernel fuses a
// product and a sum, so that the bits depend on neither the level nor the width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refarray::core::kernels {

template <class T>
struct Planes {
  T* real;
  T* imag;

  Planes swapped() const noexcept { return {imag, real}; }
  operator Planes<const T>() const noexcept { return {real, imag}; }  // NOLINT: implicit
};

/// The largest prime that a pass takes.
inline constexpr int kMaxRadix = 61;

/// A pass of Stockham's algorithm over `radix * groups * stride` elements. For each group k, each
/// q < stride and each j < radix
///
///   out[q + stride * (radix * k + j)] =
///       twiddle(j, k) * sum over i of in[q + stride * (k + groups * i)] * root(i * j)
///
/// with twiddle(j, k) = exp(-2 pi i j k / (radix * groups)), root(i) = exp(-2 pi i i / radix).
/// `out` does not overlap `in`.
template <class T>
struct FourierPass {
  Planes<const T> in;
  Planes<T> out;
  int radix;  // 4 or a prime up to kMaxRadix
  std::int64_t groups;
  std::int64_t stride;
  /// radix - 1 rows, for j = 1, 2, ...; not read if groups is 1. A row has the factors of the
  /// groups, each `repeats` times: `stride` times if that is less than kNarrow, otherwise once.
  Planes<const T> twiddles;
  Planes<const T> roots;  // radix of them
  // The part of the work that is done: groups [first, last) and q < columns.
  std::int64_t first;
  std::int64_t last;
  std::int64_t columns;  // stride if that is less than kNarrow
};

/// Passes with a smaller stride take several groups at a time.
template <class T>
inline constexpr std::int64_t kNarrow = 32 / static_cast<std::int64_t>(sizeof(T));

/// out[k] = in[k] * factors[k] for `count` elements of each of `width` transforms. `out` may be
/// `in`.
template <class T>
struct FourierProduct {
  Planes<const T> in;
  Planes<T> out;
  Planes<const T> factors;
  std::int64_t count;
  std::int64_t width;
};

/// The transform of 2 * half real numbers from, or into, that of `half` complex ones, which are
/// pairs of them: half + 1 elements. `out` does not overlap `in`.
template <class T>
struct RealPass {
  Planes<const T> in;
  Planes<T> out;
  Planes<const T> roots;  // exp(-2 pi i k / (2 * half)) for k <= half
  std::int64_t half;
  std::int64_t width;
  // The part of the work that is done: the elements k and half - k for k in [first, last), of those
  // up to half / 2.
  std::int64_t first;
  std::int64_t last;
};

/// Whole transforms of rows of contiguous complex numbers, with the bits of the passes. `out` may
/// be `in`.
template <class T>
struct FourierRows {
  std::byte* out;
  const std::byte* in;
  std::int64_t out_pitch;  // bytes from one sequence to the next
  std::int64_t in_pitch;
  std::int64_t length;       // one that is_row_length()
  std::int64_t count;        // of sequences, a multiple of kNarrow
  Planes<const T> twiddles;  // of the first pass
  bool exchanges;            // real and imaginary parts, before and after
  T scale;
};
/// These have one pass with twiddle factors at most.
constexpr bool is_row_length(std::int64_t length) noexcept {
  return length == 4 || length == 8 || length == 16;
}

template <class T>
struct FourierKernels {
  void (*pass)(const FourierPass<T>& call) noexcept;
  void (*multiply)(const FourierProduct<T>& call) noexcept;
  void (*scale)(T* values, std::int64_t count, T factor) noexcept;
  void (*split)(const RealPass<T>& call) noexcept;  // the half + 1 elements from `half` ones
  void (*join)(const RealPass<T>& call) noexcept;   // the reverse, times 2
  void (*rows)(const FourierRows<T>& call) noexcept;
};

}  // namespace refarray::core::kernels
