// Vectors of doubles, as wide as the instruction set that this file is compiled for, and what
// mathematics needs of them.
//
// Everything has internal linkage: see core/kernels/vector.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/kernels/vector.hpp"

#if defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace refarray::core::math {
namespace {

using kernels::kVectorBytes;
constexpr int kLanes = kVectorBytes / 8;

using Doubles = kernels::VectorOf<double, kVectorBytes>::type;
/// Also the results of comparisons.
using Words = kernels::VectorOf<std::int64_t, kVectorBytes>::type;
using Floats = kernels::VectorOf<float, kVectorBytes / 2>::type;

[[gnu::always_inline]] inline Doubles broadcast(double value) noexcept { return value - Doubles{}; }
[[gnu::always_inline]] inline Words bits_of(Doubles x) noexcept {
  return __builtin_bit_cast(Words, x);
}
[[gnu::always_inline]] inline Doubles of_bits(Words x) noexcept {
  return __builtin_bit_cast(Doubles, x);
}

/// Sums of bits may overflow, where they are those of numbers for which the result is not used.
using Unsigned = kernels::VectorOf<std::uint64_t, kVectorBytes>::type;
[[gnu::always_inline]] inline Words add_bits(Words a, Words b) noexcept {
  return (Words)((Unsigned)a + (Unsigned)b);
}
[[gnu::always_inline]] inline Words subtract_bits(Words a, Words b) noexcept {
  return (Words)((Unsigned)a - (Unsigned)b);
}
[[gnu::always_inline]] inline Words broadcast_bits(std::int64_t x) noexcept { return x - Words{}; }
constexpr std::int64_t kBitsOfOne = std::int64_t{1023} << 52;

/// Where `mask`, a; elsewhere b.
[[gnu::always_inline]] inline Doubles select(Words mask, Doubles a, Doubles b) noexcept {
  return mask ? a : b;
}

constexpr std::int64_t kSignOfDouble = INT64_MIN;
[[gnu::always_inline]] inline Doubles magnitude(Doubles x) noexcept {
  return of_bits(bits_of(x) & ~kSignOfDouble);
}
/// |x| with the sign of `sign`.
[[gnu::always_inline]] inline Doubles with_sign_of(Doubles x, Doubles sign) noexcept {
  return of_bits((bits_of(x) & ~kSignOfDouble) | (bits_of(sign) & kSignOfDouble));
}

/// a * b + c, rounded once where the instruction set can: only for results that are rounded to
/// float, whose bits are then equal.
[[gnu::always_inline]] inline Doubles multiply_add(Doubles a, Doubles b, Doubles c) noexcept {
#if defined(__AVX512F__)
  return (Doubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__) && defined(__AVX2__)
  return (Doubles)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
  return (Doubles)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}

[[gnu::always_inline]] inline Doubles square_root(Doubles x) noexcept {
#if defined(__AVX512F__)
  return (Doubles)_mm512_maskz_sqrt_pd(0xFF, (__m512d)x);
#elif defined(__AVX2__)
  return (Doubles)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
  return (Doubles)_mm_sqrt_pd((__m128d)x);
#else
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

/// Between -limit and limit; NaN stays.
[[gnu::always_inline]] inline Doubles clamp(Doubles x, double limit) noexcept {
  const Doubles most = broadcast(limit), least = broadcast(-limit);
#if defined(__AVX512F__)  // of two operands of which one is NaN these instructions give the second
  return (Doubles)_mm512_maskz_max_pd(0xFF, (__m512d)least,
                                      _mm512_maskz_min_pd(0xFF, (__m512d)most, (__m512d)x));
#elif defined(__AVX2__)
  return (Doubles)_mm256_max_pd((__m256d)least, _mm256_min_pd((__m256d)most, (__m256d)x));
#elif defined(__x86_64__)
  return (Doubles)_mm_max_pd((__m128d)least, _mm_min_pd((__m128d)most, (__m128d)x));
#else
  x = select(x > most, most, x);
  return select(x < least, least, x);
#endif
}

[[gnu::always_inline]] inline bool any(Words mask) noexcept {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask((__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)mask) != 0;
#elif defined(__x86_64__)
  return _mm_movemask_pd((__m128d)mask) != 0;
#else
  return (mask[0] | mask[1]) != 0;
#endif
}

/// The sum of coefficients times powers of z, by Horner's scheme.
template <std::size_t N>
[[gnu::always_inline]] inline Doubles polynomial(const double (&coefficients)[N],
                                                 Doubles z) noexcept {
  Doubles sum = broadcast(coefficients[N - 1]);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((sum = multiply_add(sum, z, broadcast(coefficients[N - 2 - i]))), ...);
  }(std::make_index_sequence<N - 1>{});
  return sum;
}

/// The nearest integer of |x| < 2^51, as a number and in the low bits of a word.
struct Rounded {
  Doubles value;
  Words low_bits;
};
[[gnu::always_inline]] inline Rounded round_to_integer(Doubles x) noexcept {
  constexpr double kShift = 0x1.8p52;  // its last bit is 1
  const Doubles shifted = x + kShift;
  return {shifted - kShift, bits_of(shifted)};
}

/// 2^n of an integer in [-1022, 1023].
[[gnu::always_inline]] inline Doubles power_of_2(Words low_bits) noexcept {
  return of_bits(add_bits(low_bits << 52, broadcast_bits(kBitsOfOne)));
}

/// The elements of even index of two vectors, and those of odd index: parts of complex numbers.
template <class V>
struct Parts {
  V real, imag;
};
template <class V>
[[gnu::always_inline]] inline Parts<V> split_parts(V a, V b) noexcept {
  return [=]<int... i>(std::integer_sequence<int, i...>) {
    return Parts<V>{__builtin_shufflevector(a, b, (2 * i)...),
                    __builtin_shufflevector(a, b, (2 * i + 1)...)};
  }(std::make_integer_sequence<int, kLanes>{});
}

// --- limits

constexpr double kNaN = __builtin_nan("");
constexpr double kInfinity = __builtin_inf();

/// A logarithm: `result` where x is positive and finite; the limits elsewhere.
[[gnu::always_inline]] inline Doubles limit_log(Doubles x, Doubles result) noexcept {
  result = select(x < broadcast(kInfinity), result, x);
  result = select(x < Doubles{}, broadcast(kNaN), result);
  return select(x == Doubles{}, broadcast(-kInfinity), result);
}

/// x to the power of y from that of |x|, as C99's annex F has it.
[[gnu::always_inline]] inline Doubles limit_power(Doubles x, Doubles y, Doubles result) noexcept {
  constexpr double kIntegers = 0x1p52;  // numbers from here on are integers, from twice it even
  const Doubles one = broadcast(1), base = magnitude(x);
  const Doubles limited = clamp(magnitude(y), 2 * kIntegers), half = 0.5 * limited;
  const Words is_integer =
      (limited >= broadcast(kIntegers)) | ((limited + kIntegers) - kIntegers == limited);
  const Words is_odd = is_integer & ((half + kIntegers) - kIntegers != half);
  const Words is_negative = bits_of(x) < 0;
  result = of_bits(bits_of(result) ^ (is_negative & is_odd & kSignOfDouble));
  const Words is_finite = (base < broadcast(kInfinity)) & (base > Doubles{});
  result = select(is_negative & is_finite & ~is_integer, broadcast(kNaN), result);
  result = select((base == one) & is_integer & ~is_odd, one, result);
  return select((y == Doubles{}) | (x == one), one, result);
}

}  // namespace
}  // namespace refarray::core::math
