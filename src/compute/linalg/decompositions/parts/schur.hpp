// Schur forms of real and of complex matrices.
#pragma once

#include "compute/linalg/decompositions/outcome.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {

/// x = U T U^H with a unitary U. A complex T is upper triangular. A real one also has blocks of two
/// rows on its diagonal, one for each pair of conjugate eigenvalues.
template <class T>
struct Schur {
  Matrix<T> t;
  Matrix<T> u;  // empty unless wanted
};

/// `x` is finite, not empty and of magnitude about 1. Without vectors, only the blocks on the
/// diagonal of T are meaningful. kDone, kInterrupted, or kNotConverged after `most_per_row`
/// iterations for each row. Throws std::bad_alloc.
Ending find_schur(Schur<double>& out, const Matrix<double>& x, bool has_vectors, Progress& progress,
                  Index most_per_row = 30);
Ending find_schur(Schur<std::complex<double>>& out, const Matrix<std::complex<double>>& x,
                  bool has_vectors, Progress& progress, Index most_per_row = 30);

}  // namespace refarray::core
