// The sources of elementwise kernels of one instruction set: each puts its kernels into the table.
#pragma once

#include "compute/kernels/operations.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {

void add_arithmetic(ElementwiseTable& table) noexcept;  // arithmetic.cpp
void add_comparison(ElementwiseTable& table) noexcept;  // comparison.cpp
void add_bits(ElementwiseTable& table) noexcept;        // bits.cpp
extern const ElementwiseFunction kWhere[5];             // selection.cpp

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
