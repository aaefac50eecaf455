// QR decompositions.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// x[..., :, :] = Q R for matrices of m rows and n columns. The shape of `q` tells what is wanted:
/// (..., m, k) with r (..., k, n), where k is min(m, n) (reduced) or m (complete).
///
/// By Householder reflections without pivoting. R has zeros below its diagonal, which is real with
/// the signs that the reflections give, as in LAPACK: where a reflection takes place, opposite to
/// the element that it finds there. A matrix with an element that is NaN or infinite has NaN in
/// all results.
///
/// All arrays are of dtype float64 or complex128, have any strides and equal leading axes; outputs
/// overlap no other array. The bits depend on no strides, threads or instruction set. The interrupt
/// is checked between matrices, and within a large one between blocks of columns. Throws kMemory.
Outcome qr(const ArrayView& q, const ArrayView& r, const ArrayView& x,
           const InterruptCheck& interrupt);

}  // namespace refarray::core
