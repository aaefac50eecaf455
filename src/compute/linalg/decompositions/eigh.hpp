// Eigenvalues and eigenvectors of Hermitian matrices.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

// x is of dtype float64 or complex128, of which only the lower triangle is read, and the real part
// of the diagonal. The eigenvalues are float64 and in ascending order. Arrays have any strides and
// equal leading axes; outputs overlap no other array. A matrix with an element in that triangle
// that is NaN or infinite has NaN in all results. kNotConverged after 30 n iterations. The bits
// depend on no strides, threads or instruction set. The interrupt is checked between matrices,
// between columns and between iterations. Throws kMemory.

namespace refarray::core {

/// x[..., :, :] = V diag(w) V^H. The columns of vectors[..., :, :] are orthonormal eigenvectors;
/// their signs (complex: phases) are as the algorithm leaves them.
Outcome eigh(const ArrayView& values, const ArrayView& vectors, const ArrayView& x,
             const InterruptCheck& interrupt);

/// The eigenvalues alone. They may differ from those of eigh() in the last bits.
Outcome eigvalsh(const ArrayView& values, const ArrayView& x, const InterruptCheck& interrupt);

}  // namespace refarray::core
