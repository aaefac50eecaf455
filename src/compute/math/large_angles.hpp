// Angles of float32 beyond the range in which three parts of pi suffice.
#pragma once

namespace refarray::core::math {

/// Which multiples of a quadrant, pi / 2, may be subtracted.
enum class Quadrants { kAll, kEven, kOdd };

constexpr double kLargeAngle = 0x1p25;

/// x = n pi / 2 + r, n modulo 4.
struct LargeAngle {
  long long n;
  double r;
};

/// Of a float `x` of at least kLargeAngle; NaN if it is infinite.
LargeAngle reduce_large_angle(double x, Quadrants which) noexcept;

}  // namespace refarray::core::math
