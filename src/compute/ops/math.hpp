// Kernels of the functions that need the C library: exponentials, logarithms, trigonometric and
// hyperbolic functions, and magnitudes of complex numbers.
//
// float32 and complex64 are computed in double and rounded once. float64 has the accuracy of the C
// library, in glibc 1 ULP or better for most functions. The kernels exist once, not for each
// instruction set.
#pragma once

#include "compute/kernels/operations.hpp"

namespace refarray::core {

/// The kernel for a dtype; nullptr for the functions of the other tables.
kernels::ElementwiseFunction math_kernel(Elementwise operation, ScalarType dtype) noexcept;

namespace detail {
kernels::ElementwiseFunction complex_math_kernel(Elementwise operation, ScalarType dtype) noexcept;
}

}  // namespace refarray::core
