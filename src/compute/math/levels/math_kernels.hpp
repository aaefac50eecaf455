// The kernels of mathematics of one instruction set. The sources in this folder are compiled once
// per level, each time in another namespace (REFARRAY_MATH).
#pragma once

#include "compute/kernels/operations.hpp"

namespace refarray::core::math::REFARRAY_MATH {

const kernels::ElementwiseTable& functions() noexcept;  // math_kernels.cpp

void add_float32(kernels::ElementwiseTable& table) noexcept;  // float32.cpp
void add_float64(kernels::ElementwiseTable& table) noexcept;  // float64.cpp

}  // namespace refarray::core::math::REFARRAY_MATH
