// What follows from singular values: ranks, and pseudo-inverses.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

// x is of dtype float64 or complex128 and has any strides. `rtol` is row-major, of dtype float64,
// with one number for each matrix: singular values up to rtol times the greatest one count as zero.
// The outputs are row-major and do not overlap the others. kNotConverged as for svd(). The
// interrupt is checked between matrices. Throws kMemory.

namespace refarray::core {

/// out[..., n, m] = the Moore-Penrose inverse of x[..., m, n]. NaN where x has an element that is
/// not finite.
Outcome pinv(const ArrayView& out, const ArrayView& x, const ArrayView& rtol,
             const InterruptCheck& interrupt);

/// out[...], of dtype int64, = the number of singular values of x[..., :, :] that are not zero. 0
/// if x has an element that is not finite.
Outcome matrix_rank(const ArrayView& out, const ArrayView& x, const ArrayView& rtol,
                    const InterruptCheck& interrupt);

}  // namespace refarray::core
