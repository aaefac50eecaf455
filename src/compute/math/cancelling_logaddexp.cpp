// In fixed point of 224 bits: e^g + e^l - 1 of g and l below 0, which differs from 0 by no more
// than the last bits of g may. One in a thousand results comes here, of inputs chosen for it.
#include "compute/math/cancelling_logaddexp.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include "compute/math/float64_tables.hpp"

namespace refarray::core::math {
namespace {

constexpr int kWords = 8;

/// A number that is not negative: an integer, then words behind the point.
struct Fixed {
  std::uint32_t words[kWords] = {};
};

/// x 2^shift, x > 0; bits behind the last word are dropped.
Fixed fixed(double x, int shift) noexcept {
  Fixed out;
  x = std::ldexp(x, shift);
  for (std::uint32_t& word : out.words) {
    word = static_cast<std::uint32_t>(x);
    x = (x - word) * 0x1p32;
  }
  return out;
}

bool is_less(const Fixed& a, const Fixed& b) noexcept {
  for (int i = 0; i < kWords; ++i)
    if (a.words[i] != b.words[i]) return a.words[i] < b.words[i];
  return false;
}

/// a + factor b, of a result that is not negative.
Fixed add(Fixed a, const Fixed& b, std::int64_t factor) noexcept {
  std::int64_t carry = 0;
  for (int i = kWords - 1; i >= 0; --i) {
    carry += a.words[i] + factor * b.words[i];
    a.words[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return a;
}

/// a b / divisor
Fixed multiply(const Fixed& a, const Fixed& b, std::uint32_t divisor) noexcept {
  std::uint32_t product[kWords + 1] = {};
  for (int i = kWords - 1; i >= 0; --i) {
    std::uint64_t carry = 0;
    for (int j = i == 0 ? kWords - 1 : kWords - i; j >= 0; --j) {
      carry += std::uint64_t{a.words[i]} * b.words[j] + product[i + j];
      product[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (i > 0) product[i - 1] = static_cast<std::uint32_t>(carry);
  }
  Fixed out;
  std::uint64_t rest = 0;
  for (int i = 0; i < kWords; ++i) {
    rest = rest << 32 | product[i];
    out.words[i] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  return out;
}

/// (1 - e^-x) times `scaled` / x.
Fixed less_than_1(const Fixed& scaled, const Fixed& x) noexcept {
  constexpr std::uint32_t kTerms = 50;
  Fixed sum = scaled, term = scaled;
  for (std::uint32_t n = 2; n < kTerms; ++n) {
    term = multiply(term, x, n);
    sum = add(sum, term, n % 2 == 0 ? -1 : 1);
  }
  return sum;
}

/// Rounded once: 64 bits, the last of which stands for all behind them.
double to_double(const Fixed& x) noexcept {
  int i = 0;
  while (i < kWords - 1 && x.words[i] == 0) ++i;
  const auto word = [&](int j) { return std::uint64_t{j < kWords ? x.words[j] : 0}; };
  const int zeros = std::countl_zero(x.words[i]) % 32;
  const std::uint64_t bits = (word(i) << 32 | word(i + 1)) << zeros | (word(i + 2) << zeros >> 32);
  return std::ldexp(static_cast<double>(bits | 1), -32 * (i + 1) - zeros);
}

}  // namespace

double cancelling_logaddexp(double greater, double lesser) noexcept {
  // e^lesser = 2^-scale e^-rest
  const int scale = static_cast<int>(-lesser * 1.4426);
  Fixed one;
  one.words[0] = 1;
  Fixed ln2;
  for (int i = 0; i < kWords; ++i) ln2.words[i] = kWordsOfLn2[i];
  const Fixed rest = add(fixed(-lesser, 0), ln2, -scale);
  const Fixed share = add(one, less_than_1(rest, rest), -1);
  const Fixed lost = less_than_1(fixed(-greater, scale), fixed(-greater, 0));
  const bool is_negative = is_less(share, lost);
  const double excess =
      is_negative ? -to_double(add(lost, share, -1)) : to_double(add(share, lost, -1));
  const double d = std::ldexp(excess, -scale);  // log(1 + d) is wanted
  const double series =
      1.0 / 2 - d * (1.0 / 3 - d * (1.0 / 4 - d * (1.0 / 5 - d * (1.0 / 6 - d / 7))));
  return std::ldexp(excess - excess * d * series, -scale);
}

}  // namespace refarray::core::math
