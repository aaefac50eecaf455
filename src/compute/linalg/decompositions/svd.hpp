// Singular value decompositions.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

// x is of dtype float64 or complex128 and has matrices of m rows and n columns; k is min(m, n). The
// singular values are float64, not negative and in descending order. Arrays have any strides and
// equal leading axes; outputs overlap no other array. A matrix with an element that is NaN or
// infinite has NaN in all results. kNotConverged after 30 k iterations. The bits depend on no
// strides, threads or instruction set. The interrupt is checked between matrices, and within a
// large one between blocks of columns and between iterations. Throws kMemory.

namespace refarray::core {

/// x[..., :, :] = U diag(s) Vh, where the columns of U and the rows of Vh are orthonormal; the
/// signs (complex: phases) of each pair of them are as the algorithm leaves them. The shapes of the
/// outputs tell what is wanted: u (..., m, k) with vh (..., k, n), or u (..., m, m) with
/// vh (..., n, n). s is (..., k).
Outcome svd(const ArrayView& u, const ArrayView& s, const ArrayView& vh, const ArrayView& x,
            const InterruptCheck& interrupt);

/// The singular values alone. They may differ from those of svd() in the last bits.
Outcome svdvals(const ArrayView& s, const ArrayView& x, const InterruptCheck& interrupt);

}  // namespace refarray::core
