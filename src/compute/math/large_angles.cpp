// Payne and Hanek's reduction for float32: x is an integer M of 24 bits times 2^e, and of M times
// 2^e 2 / pi only what is left modulo 4 is computed. A table has 2^e 2 / pi modulo 4 in parts of
// 28, 29 and 53 bits, so that the products of M with the first two are exact.
#include "compute/math/large_angles.hpp"

#include <cmath>

#include "compute/math/levels/coefficients.hpp"

namespace refarray::core::math {

LargeAngle reduce_large_angle(double x, Quadrants which) noexcept {
  if (std::isinf(x)) return {0, __builtin_nan("")};
  const int exponent = std::ilogb(x) - 23;
  const double integer = std::ldexp(x, -exponent);
  const double* const part = kQuadrants[exponent - kLeastExponent];
  const double high = integer * part[0], middle = integer * part[1], low = integer * part[2];
  double n;
  if (which == Quadrants::kAll) {
    n = std::nearbyint(high + middle);
  } else {
    const double odd = which == Quadrants::kOdd ? 1 : 0;
    n = 2 * std::nearbyint((high + middle - odd) / 2) + odd;
  }
  constexpr double kHalfPi = 0x1.921fb54442d18p0;
  return {static_cast<long long>(n), (((high - n) + middle) + low) * kHalfPi};
}

}  // namespace refarray::core::math
