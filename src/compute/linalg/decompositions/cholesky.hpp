// Cholesky decompositions.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// The triangular out[..., :, :] with real, positive diagonal for which x[..., :, :] is L L^H or,
/// if `is_upper`, U^H U; zeros fill its other triangle. Only the triangle of x that corresponds to
/// the result is read, and only the real part of its diagonal.
///
/// kNotPositiveDefinite if a pivot is zero or negative; `pivot` is its index. A NaN spreads to the
/// results that depend on it, as does an infinity on the diagonal.
///
/// Both arrays are of dtype float64 or complex128, have any strides and equal leading axes, and do
/// not overlap. The bits depend on no strides, threads or instruction set. The interrupt is checked
/// between matrices, and within a large one between blocks of columns. Throws kMemory.
Outcome cholesky(const ArrayView& out, const ArrayView& x, bool is_upper,
                 const InterruptCheck& interrupt);

}  // namespace refarray::core
