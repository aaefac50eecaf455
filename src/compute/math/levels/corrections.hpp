// Inputs of float32 functions of which the double lies on the wrong side of the middle of two
// floats, or on it, and their correctly rounded results, all as bits.
#pragma once

#include <array>
#include <cstdint>

#include "compute/ops/elementwise_operation.hpp"

namespace refarray::core::math {

struct Correction {
  std::int32_t input, output;
};

/// Of all 2^32 inputs, with and without fused multiply-adds. None where a function is not named.
template <Elementwise kOperation>
inline constexpr std::array<Correction, 0> kCorrections{};

}  // namespace refarray::core::math
