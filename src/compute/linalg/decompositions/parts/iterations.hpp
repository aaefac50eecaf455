// QR iterations: eigenvalues of tridiagonal matrices, singular values of bidiagonal ones, and Schur
// forms of general ones. They end by kDone, kInterrupted or, after `most_per_value` iterations for
// each value (row), kNotConverged, and throw std::bad_alloc. Elements are finite and at most about
// 1.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/rotations.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {

/// Replaces the diagonal of a symmetric tridiagonal matrix by its eigenvalues, in any order. The
/// columns of the matrix in `sweeps` are rotated to the eigenvectors.
Ending diagonalize_tridiagonal(Vector<double>& diagonal, Vector<double>& below, Sweeps sweeps,
                               Progress& progress, Index most_per_value = 30);

/// Replaces the diagonal of an upper bidiagonal matrix by its singular values, which may be
/// negative and in any order. Elements above the diagonal that are less than a rounding error of
/// the greatest element count as zero. The columns of the matrices in `left` and `right` are
/// rotated to the singular vectors.
Ending diagonalize_bidiagonal(Vector<double>& diagonal, Vector<double>& above, Sweeps left,
                              Sweeps right, Progress& progress, Index most_per_value = 30);

/// x = U T U^H with a unitary U. A complex T is upper triangular. A real one also has blocks of two
/// rows on its diagonal, one for each pair of conjugate eigenvalues.
template <class T>
struct Schur {
  Matrix<T> t;
  Matrix<T> u;  // empty unless wanted
};

/// `x` is finite, not empty and of magnitude about 1. Without vectors, only the blocks on the
/// diagonal of T are meaningful.
Ending find_schur(Schur<double>& out, const Matrix<double>& x, bool has_vectors, Progress& progress,
                  Index most_per_row = 30);
Ending find_schur(Schur<std::complex<double>>& out, const Matrix<std::complex<double>>& x,
                  bool has_vectors, Progress& progress, Index most_per_row = 30);

}  // namespace refarray::core
