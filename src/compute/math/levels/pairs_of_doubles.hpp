// Sums of two doubles in vectors: about 100 bits.
//
// The same bits at every level: a fused multiply-add is used where its result is exact, and where
// there is none the same number is computed by splitting.
#pragma once

#include "compute/math/float64_tables.hpp"
#include "compute/math/levels/lanes_of_double.hpp"

namespace refarray::core::math {
namespace {

/// high + low, |low| at most a few of high's last bits.
struct Pair {
  Doubles high, low;
};

/// a b - product, exact: Dekker's, of halves that Veltkamp's splitting makes. |a|, |b| < 2^996.
[[gnu::always_inline]] inline Doubles error_of_product(Doubles a, Doubles b,
                                                       Doubles product) noexcept {
#if defined(__AVX512F__) || (defined(__FMA__) && defined(__AVX2__)) || defined(__aarch64__)
  return multiply_add(a, b, -product);
#else
  constexpr double kSplit = 0x1p27 + 1;
  const Doubles a_shifted = a * kSplit, b_shifted = b * kSplit;
  const Doubles a_high = a_shifted - (a_shifted - a), b_high = b_shifted - (b_shifted - b);
  const Doubles a_low = a - a_high, b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
#endif
}

/// Exact, for |a| >= |b| or a = 0.
[[gnu::always_inline]] inline Pair fast_sum(Doubles a, Doubles b) noexcept {
  const Doubles sum = a + b;
  return {sum, b - (sum - a)};
}
/// Exact.
[[gnu::always_inline]] inline Pair exact_sum(Doubles a, Doubles b) noexcept {
  const Doubles sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
/// Exact.
[[gnu::always_inline]] inline Pair exact_product(Doubles a, Doubles b) noexcept {
  const Doubles product = a * b;
  return {product, error_of_product(a, b, product)};
}

[[gnu::always_inline]] inline Doubles sum_of(Pair a) noexcept { return a.high + a.low; }
[[gnu::always_inline]] inline Pair normalized(Pair a) noexcept { return fast_sum(a.high, a.low); }
[[gnu::always_inline]] inline Pair select(Words mask, Pair a, Pair b) noexcept {
  return {select(mask, a.high, b.high), select(mask, a.low, b.low)};
}
[[gnu::always_inline]] inline Pair broadcast(double high, double low) noexcept {
  return {broadcast(high), broadcast(low)};
}
[[gnu::always_inline]] inline Pair operator*(Pair a, Pair b) noexcept {
  const Pair out = exact_product(a.high, b.high);
  return {out.high, out.low + (a.high * b.low + a.low * b.high)};
}
/// a - b, |a| >= |b|.
[[gnu::always_inline]] inline Pair less(Pair a, Pair b) noexcept {
  const Pair out = fast_sum(a.high, -b.high);
  return {out.high, out.low + (a.low - b.low)};
}
[[gnu::always_inline]] inline Pair operator/(Pair a, Pair b) noexcept {
  const Doubles inverse = 1.0 / b.high, quotient = a.high * inverse;
  const Pair back = exact_product(quotient, b.high);
  const Doubles rest = ((a.high - back.high) - back.low) + (a.low - quotient * b.low);
  return {quotient, rest * inverse};
}

/// 1 / x to 11 bits, 2^-1000 < x < 2^1000.
[[gnu::always_inline]] inline Doubles approximate_inverse(Doubles x) noexcept {
  constexpr std::int64_t kMagic = 0x7FDE623822FC16E6;  // the exponent's negation, least error
  Doubles out = of_bits(subtract_bits(broadcast_bits(kMagic), bits_of(x)));
  out = out * (2.0 - x * out);
  return out * (2.0 - x * out);
}
[[gnu::always_inline]] inline Pair square_root(Pair x) noexcept {
  const Doubles root = square_root(x.high);
  const Pair back = exact_product(root, root);
  const Doubles rest = ((x.high - back.high) - back.low) + x.low;
  return {root, rest * (0.5 * approximate_inverse(root + 0x1p-1000))};
}

/// The sum of coefficients times powers of z, products rounded: Horner's scheme in z^2 of pairs of
/// terms, which wait less for one another.
template <std::size_t N>
[[gnu::always_inline]] inline Doubles rounded_polynomial(const double (&coefficients)[N],
                                                         Doubles z) noexcept {
  const Doubles square = z * z;
  const auto pair = [&](std::size_t i) {
    return i + 1 < N ? coefficients[i + 1] * z + coefficients[i] : broadcast(coefficients[i]);
  };
  constexpr std::size_t kPairs = (N + 1) / 2;
  Doubles sum = pair(2 * kPairs - 2);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((sum = sum * square + pair(2 * (kPairs - 2 - i))), ...);
  }(std::make_index_sequence<kPairs - 1>{});
  return sum;
}

/// table[index modulo its size]. Not by gathering, which is slow on many processors.
template <int kRows>
[[gnu::always_inline]] inline Doubles look_up(const double (&table)[kRows], Words index) noexcept {
#if defined(__AVX512F__)
  const auto of_16 = [&](int row) {
    return _mm512_permutex2var_pd(_mm512_load_pd(table + row), (__m512i)index,
                                  _mm512_load_pd(table + row + 8));
  };
  const auto of_32 = [&](int row) {
    return _mm512_mask_blend_pd(_mm512_test_epi64_mask((__m512i)index, _mm512_set1_epi64(16)),
                                of_16(row), of_16(row + 16));
  };
  if constexpr (kRows == 32)
    return (Doubles)of_32(0);
  else
    return (Doubles)_mm512_mask_blend_pd(
        _mm512_test_epi64_mask((__m512i)index, _mm512_set1_epi64(32)), of_32(0), of_32(32));
#else
  Doubles out{};
  for (int i = 0; i < kLanes; ++i) out[i] = table[index[i] & (kRows - 1)];
  return out;
#endif
}
template <int kRows>
[[gnu::always_inline]] inline Pair look_up(const PairTable<kRows>& table, Words index) noexcept {
  return {look_up(table.high, index), look_up(table.low, index)};
}

}  // namespace
}  // namespace refarray::core::math
