// Eigenvalues of symmetric tridiagonal matrices.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/rotations.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {

/// Replaces the diagonal of a symmetric tridiagonal matrix by its eigenvalues, in any order, by
/// implicit QR iterations. Elements are finite and at most about 1.
///
/// The columns of the matrix in `sweeps` are rotated to the eigenvectors. Ends by kDone,
/// kInterrupted or, after `most_per_value` iterations for each eigenvalue, kNotConverged. Throws
/// std::bad_alloc.
Ending diagonalize_tridiagonal(Vector<double>& diagonal, Vector<double>& below, Sweeps sweeps,
                               Progress& progress, Index most_per_value = 30);

}  // namespace refarray::core
