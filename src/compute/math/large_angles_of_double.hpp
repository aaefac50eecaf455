// Angles of float64 beyond the range in which three parts of pi suffice.
#pragma once

#include <cstdint>

namespace refarray::core::math {

constexpr double kLargeAngleOfDouble = 0x1p20;

/// x = n pi / 32 + high + low, n modulo 64.
struct LargeAngleOfDouble {
  std::int64_t n;
  double high, low;
};

/// Of a number of at least kLargeAngleOfDouble; NaN if it is infinite.
LargeAngleOfDouble reduce_large_angle_of_double(double x) noexcept;

}  // namespace refarray::core::math
