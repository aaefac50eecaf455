// Complex Schur forms of real and complex matrices.
#pragma once

#include "core/linalg/decompositions/matrices.hpp"
#include "core/linalg/decompositions/outcome.hpp"
#include "core/linalg/decompositions/stack.hpp"

namespace refarray::core {

/// x = U T U^H with an upper triangular T and a unitary U. The diagonal of T has the eigenvalues;
/// those of a real x are real or in conjugate pairs, the one with the positive imaginary part
/// first.
struct Schur {
  Matrix<std::complex<double>> t;
  Matrix<std::complex<double>> u;  // empty unless wanted
};

/// `x` is finite, not empty and of magnitude about 1. kNotConverged after 40 n iterations (complex:
/// 30 n); kInterrupted only for a complex x. Throws std::bad_alloc.
Ending find_schur(Schur& out, const Matrix<std::complex<double>>& x, bool has_vectors,
                  Progress& progress);
Ending find_schur(Schur& out, const Matrix<double>& x, bool has_vectors, Progress& progress);

}  // namespace refarray::core
