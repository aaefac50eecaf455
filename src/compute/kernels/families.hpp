// The sources of elementwise kernels of one instruction set: each finds the kernels of its
// functions.
#pragma once

#include "compute/kernels/operations.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {

// Each returns nullptr for the functions of the others.
ElementwiseFunction arithmetic(Elementwise operation, ScalarType dtype) noexcept;  // arithmetic.cpp
ElementwiseFunction comparison(Elementwise operation, ScalarType dtype) noexcept;  // comparison.cpp
ElementwiseFunction bits(Elementwise operation, ScalarType dtype) noexcept;        // bits.cpp
ElementwiseFunction selection(Elementwise operation, ScalarType dtype) noexcept;   // selection.cpp

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
