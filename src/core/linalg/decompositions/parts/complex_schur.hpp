// Schur forms of complex matrices.
#pragma once

#include "core/linalg/decompositions/outcome.hpp"
#include "core/linalg/decompositions/parts/matrices.hpp"
#include "core/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {

/// x = U T U^H with an upper triangular T, whose diagonal has the eigenvalues, and a unitary U.
struct ComplexSchur {
  Matrix<std::complex<double>> t;
  Matrix<std::complex<double>> u;  // empty unless wanted
};

/// `x` is finite, not empty and of magnitude about 1. kDone, kInterrupted, or kNotConverged after
/// 30 n iterations. Throws std::bad_alloc.
Ending find_schur(ComplexSchur& out, const Matrix<std::complex<double>>& x, bool has_vectors,
                  Progress& progress);

}  // namespace refarray::core
