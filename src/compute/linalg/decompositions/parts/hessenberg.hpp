// The reduction of square matrices to Hessenberg form: zero below the first subdiagonal.
#pragma once

#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/reflections.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {

/// Replaces x by H with x = Q H Q^H, and sets the unitary Q unless `q` is nullptr. False if
/// interrupted. Throws std::bad_alloc.
template <class T>
bool reduce_to_hessenberg(Matrix<T>& x, Matrix<T>* q, Progress& progress) {
  const Index n = x.rows();
  Vector<T> coefficients(n - 1), workspace(n);
  for (Index k = 0; k + 1 < n; ++k) {
    const Index rest = n - k - 1;
    auto column = x.col(k).tail(rest);
    double beta;
    column.makeHouseholderInPlace(coefficients[k], beta);
    column[0] = beta;
    const auto reflection = column.tail(rest - 1);
    x.bottomRightCorner(rest, rest)
        .applyHouseholderOnTheLeft(reflection, coefficients[k], workspace.data());
    x.rightCols(rest).applyHouseholderOnTheRight(reflection, Eigen::numext::conj(coefficients[k]),
                                                 workspace.data());
    const double products = 2 * static_cast<double>(rest) * static_cast<double>(rest + n);
    if (progress.is_stopped_after(products)) return false;
  }
  if (q != nullptr) {
    Reflections<T> reflections;
    reflections.take(coefficients);
    if (!reflections.form_below(*q, x, progress)) return false;
  }
  for (Index k = 0; k + 2 < n; ++k) x.col(k).tail(n - k - 2).setZero();
  return true;
}

}  // namespace refarray::core
