// Determinants, inverses and linear systems, by LU decompositions with partial pivoting.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

// Arrays are of dtype float64 or complex128, the same for all unless said otherwise. They may have
// any strides; outputs overlap no other array, and the leading axes of all have equal extents.
//
// A P = L U: rows change places so that no element of L is greater than 1 in magnitude. Matrices
// with elements outside of 2^-400 to 2^400 have their rows and columns scaled by powers of two
// first. Elements that are NaN or infinite make the results that they reach NaN. The bits depend
// on no strides, threads or instruction set. The interrupt is checked between matrices, and within
// a large one between blocks of columns. Throws kMemory.

namespace refarray::core {

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

}  // namespace refarray::core
