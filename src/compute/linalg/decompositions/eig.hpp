// Eigenvalues and eigenvectors of general matrices.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

// x is of dtype float64 or complex128, the outputs are complex128. Eigenvalues are in no particular
// order; those of a real matrix are real or in conjugate pairs, the one with the positive imaginary
// part first. Arrays have any strides and equal leading axes; outputs overlap no other array. A
// matrix with an element that is NaN or infinite has NaN in all results. kNotConverged after 30 n
// iterations. The bits depend on no strides, threads or instruction set. The interrupt is checked
// between matrices, and within a large one between columns and between sweeps. Throws kMemory.

namespace refarray::core {

/// x[..., :, :] V = V diag(w). Each column of vectors[..., :, :] has norm 1, and its component of
/// the greatest magnitude is real and positive. A defective matrix has nearly parallel ones.
Outcome eig(const ArrayView& values, const ArrayView& vectors, const ArrayView& x,
            const InterruptCheck& interrupt);

/// The eigenvalues alone. They may differ from those of eig() in the last bits.
Outcome eigvals(const ArrayView& values, const ArrayView& x, const InterruptCheck& interrupt);

}  // namespace refarray::core
