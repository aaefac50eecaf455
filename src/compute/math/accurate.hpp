// The functions of two float32 numbers, correctly rounded, for results that lie so near the middle
// of two floats that double cannot decide.
#pragma once

namespace refarray::core::math {

// Of numbers for which the result is finite and not 0.
float accurate_atan2(float y, float x) noexcept;
float accurate_hypot(float x, float y) noexcept;
float accurate_logaddexp(float x, float y) noexcept;
float accurate_pow(float x, float y) noexcept;

}  // namespace refarray::core::math
