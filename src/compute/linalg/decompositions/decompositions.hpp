// Decompositions of stacks of matrices, and what follows from them.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

// Arrays are of dtype float64 or complex128, the same for all unless said otherwise. They may have
// any strides; outputs overlap no other array, and the leading axes of all have equal extents. A
// matrix with an element that is NaN or infinite has NaN in all results unless said otherwise. The
// bits depend on no strides, threads or instruction set. The interrupt is checked between matrices,
// and within a large one between blocks of columns, columns, sweeps or iterations. Throws kMemory.

namespace refarray::core {

// --- LU, with partial pivoting: P A = L U, where rows change places so that no element of L is
// greater than 1 in magnitude (complex: in |re| + |im| than its pivot). Matrices with elements
// outside of 2^-400 to 2^400 have their rows and columns scaled by powers of two first. Elements
// that are NaN or infinite make only the results that they reach NaN.

/// out[...] = the determinant of x[..., :, :]: 0 for a singular matrix, 1 for an empty one. Only
/// the result itself overflows or underflows. Never kSingular.
Outcome det(const ArrayView& out, const ArrayView& x, const InterruptCheck& interrupt);

/// The determinant of x[..., :, :] as sign[...] * exp(logabsdet[...]). `logabsdet` is float64. A
/// complex sign has magnitude 1. A singular matrix has sign 0 and -infinity. The logarithm is that
/// of the C library, whose last bit may depend on the processor. Never kSingular.
Outcome slogdet(const ArrayView& sign, const ArrayView& logabsdet, const ArrayView& x,
                const InterruptCheck& interrupt);

/// out[..., :, :] = the inverse of x[..., :, :]. kSingular if a pivot is exactly zero.
Outcome inv(const ArrayView& out, const ArrayView& x, const InterruptCheck& interrupt);

/// out[..., n, k] = the solution y of x1[..., n, n] y = x2[..., n, k]. kSingular as for inv().
Outcome solve(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
              const InterruptCheck& interrupt);

// --- Cholesky and QR.

/// The triangular out[..., :, :] with real, positive diagonal for which x[..., :, :] is L L^H or,
/// if `is_upper`, U^H U; zeros fill its other triangle. Only the triangle of x that corresponds to
/// the result is read, and only the real part of its diagonal.
///
/// kNotPositiveDefinite if a pivot is zero or negative; `pivot` is its index. A NaN spreads to the
/// results that depend on it, as does an infinity on the diagonal.
Outcome cholesky(const ArrayView& out, const ArrayView& x, bool is_upper,
                 const InterruptCheck& interrupt);

/// x[..., :, :] = Q R for matrices of m rows and n columns. The shape of `q` tells what is wanted:
/// (..., m, k) with r (..., k, n), where k is min(m, n) (reduced) or m (complete).
///
/// By Householder reflections without pivoting. R has zeros below its diagonal, which is real with
/// the signs that the reflections give, as in LAPACK: where a reflection takes place, opposite to
/// the element that it finds there.
Outcome qr(const ArrayView& q, const ArrayView& r, const ArrayView& x,
           const InterruptCheck& interrupt);

// --- Eigenvalues of Hermitian matrices, of which only the lower triangle is read, and the real
// part of the diagonal. They are float64 and in ascending order. kNotConverged after 30 n
// iterations.

/// x[..., :, :] = V diag(w) V^H. The columns of vectors[..., :, :] are orthonormal eigenvectors;
/// their signs (complex: phases) are as the algorithm leaves them.
Outcome eigh(const ArrayView& values, const ArrayView& vectors, const ArrayView& x,
             const InterruptCheck& interrupt);

/// The eigenvalues alone. They may differ from those of eigh() in the last bits.
Outcome eigvalsh(const ArrayView& values, const ArrayView& x, const InterruptCheck& interrupt);

// --- Eigenvalues of general matrices. The outputs are complex128. Eigenvalues are in no particular
// order; those of a real matrix are real or in conjugate pairs, the one with the positive imaginary
// part first. kNotConverged after 30 n iterations.

/// x[..., :, :] V = V diag(w). Each column of vectors[..., :, :] has norm 1, and its component of
/// the greatest magnitude is real and positive. A defective matrix has nearly parallel ones.
Outcome eig(const ArrayView& values, const ArrayView& vectors, const ArrayView& x,
            const InterruptCheck& interrupt);

/// The eigenvalues alone. They may differ from those of eig() in the last bits.
Outcome eigvals(const ArrayView& values, const ArrayView& x, const InterruptCheck& interrupt);

// --- Singular values of matrices of m rows and n columns, where k is min(m, n). They are float64,
// not negative and in descending order. kNotConverged after 30 k iterations.

/// x[..., :, :] = U diag(s) Vh, where the columns of U and the rows of Vh are orthonormal; the
/// signs (complex: phases) of each pair of them are as the algorithm leaves them. The shapes of the
/// outputs tell what is wanted: u (..., m, k) with vh (..., k, n), or u (..., m, m) with
/// vh (..., n, n). s is (..., k).
Outcome svd(const ArrayView& u, const ArrayView& s, const ArrayView& vh, const ArrayView& x,
            const InterruptCheck& interrupt);

/// The singular values alone. They may differ from those of svd() in the last bits.
Outcome svdvals(const ArrayView& s, const ArrayView& x, const InterruptCheck& interrupt);

// --- By singular values. `rtol` is row-major, of dtype float64, with one number for each matrix:
// singular values up to rtol times the greatest one count as zero. The outputs are row-major.
// kNotConverged as for svd(). The interrupt is checked between matrices.

/// out[..., n, m] = the Moore-Penrose inverse of x[..., m, n].
Outcome pinv(const ArrayView& out, const ArrayView& x, const ArrayView& rtol,
             const InterruptCheck& interrupt);

/// out[...], of dtype int64, = the number of singular values of x[..., :, :] that are not zero. 0
/// if x has an element that is not finite.
Outcome matrix_rank(const ArrayView& out, const ArrayView& x, const ArrayView& rtol,
                    const InterruptCheck& interrupt);

}  // namespace refarray::core
