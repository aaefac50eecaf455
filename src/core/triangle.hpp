// Triangular parts of matrices.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// Sets the elements above diagonal `k` of row-major matrices to zero bytes, or those below it if
/// `below`. The last two axes are those of a matrix. False when interrupted.
bool clear_triangle(const ArrayView& array, std::int64_t k, bool below,
                    const InterruptCheck& interrupt) noexcept;

}  // namespace refarray::core
