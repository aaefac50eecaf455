// Payne and Hanek's reduction: x is an integer of 53 bits times 2^e, and of its product with the
// bits of 32 / pi only 192 bits are computed, of which the first 6 are n.
#include "compute/math/large_angles_of_double.hpp"

#include <bit>
#include <cmath>

#include "compute/math/float64_tables.hpp"

namespace refarray::core::math {

LargeAngleOfDouble reduce_large_angle_of_double(double x) noexcept {
  if (std::isinf(x)) return {0, __builtin_nan(""), 0};
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t integer = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1075;
  // Bits of 32 / pi that times 2^e are multiples of 64 are skipped; the table begins with 2^63.
  const int start = exponent + 58;
  const std::uint32_t* const words = kInverseOfStep + start / 32;
  std::uint32_t product[6] = {};  // most significant word first
  for (int shift = 0; shift < 2; ++shift) {
    const std::uint64_t part = integer >> (32 * shift) & 0xFFFFFFFF;
    std::uint64_t carry = 0;
    for (int i = 5; i >= shift; --i) {
      const std::uint64_t both = std::uint64_t{words[i]} << 32 | words[i + 1];
      const std::uint64_t word = both << (start % 32) >> 32;
      carry += part * word + product[i - shift];
      product[i - shift] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  const auto pair = [&](int i) { return std::uint64_t{product[i]} << 32 | product[i + 1]; };
  auto n = static_cast<std::int64_t>(product[0] >> 26);
  std::uint64_t high = pair(0) << 6 | product[2] >> 26, low = pair(2) << 6 | product[4] >> 26;
  const bool is_above = high >> 63 != 0;  // the middle: the next multiple is nearer
  if (is_above) {
    ++n;
    low = -low;
    high = ~high + (low == 0 ? 1 : 0);
  }
  int exponent_of_rest = -64;
  if (high == 0) {
    high = low;
    low = 0;
    exponent_of_rest -= 64;
  }
  const int zeros = std::countl_zero(high);
  if (zeros != 0) {
    high = high << zeros | low >> (64 - zeros);
    low <<= zeros;
    exponent_of_rest -= zeros;
  }
  constexpr std::uint64_t kLost = 0x7FF;  // bits that a double has no room for
  const auto first = static_cast<double>(high & ~kLost);
  const double second = static_cast<double>(high & kLost) + static_cast<double>(low) * 0x1p-64;
  constexpr double kStep = 0x1.921fb54442d18p-4, kStepLow = 0x1.1a62633145c07p-58;
  const double rest = first * kStep;
  const double error = std::fma(first, kStep, -rest) + (first * kStepLow + second * kStep);
  const double scale = std::ldexp(is_above != std::signbit(x) ? -1.0 : 1.0, exponent_of_rest);
  return {std::signbit(x) ? -n : n, rest * scale, error * scale};
}

}  // namespace refarray::core::math
