// Kernels of exponentials, logarithms, trigonometric and hyperbolic functions, real and complex,
// and of magnitudes of complex numbers.
//
// float32 and complex64 are computed in double and rounded once. float64 has the accuracy of the C
// library, in glibc 1 ULP or better for most functions; complex128 is computed from real functions,
// to 4 ULP of the larger part. The kernels exist once, not for each instruction set.
#pragma once

#include "compute/kernels/operations.hpp"

namespace refarray::core {

const kernels::ElementwiseTable& math_kernels() noexcept;

}  // namespace refarray::core
