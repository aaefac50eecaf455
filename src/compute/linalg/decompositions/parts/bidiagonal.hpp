// Singular values of bidiagonal matrices.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/rotations.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {

/// Replaces the diagonal of an upper bidiagonal matrix by its singular values, which may be
/// negative and in any order, by implicit QR iterations. Elements above the diagonal that are less
/// than a rounding error of the greatest element count as zero. All numbers are finite and at most
/// about 1.
///
/// The columns of the matrices in `left` and `right` are rotated to the singular vectors. Ends by
/// kDone, kInterrupted or, after `most_per_value` iterations for each value, kNotConverged. Throws
/// std::bad_alloc.
Ending diagonalize_bidiagonal(Vector<double>& diagonal, Vector<double>& above, Sweeps left,
                              Sweeps right, Progress& progress, Index most_per_value = 30);

}  // namespace refarray::core
