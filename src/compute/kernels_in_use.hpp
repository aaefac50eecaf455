// The kernels of computations that belong to the instruction set in use: kernels::table() of the
// core, which knows nothing of them.
#pragma once

#include "compute/kernels/operations.hpp"
#include "compute/kernels/products/products.hpp"

namespace refarray::core::kernels {

const Operations& operations() noexcept;

/// Real exponentials, logarithms, functions of angles and powers, and magnitudes; nullptr
/// elsewhere.
const ElementwiseTable& mathematics() noexcept;

/// `dtype`: an integer, float32, float64 or complex dtype. `one_row`: the left operand has only
/// one.
const ProductKernels& products(ScalarType dtype, bool one_row) noexcept;

}  // namespace refarray::core::kernels
