// Kernels of complex functions from real functions.
#pragma once

#include "compute/kernels/operations.hpp"

namespace refarray::core {

const kernels::ElementwiseTable& complex_kernels() noexcept;

}  // namespace refarray::core
