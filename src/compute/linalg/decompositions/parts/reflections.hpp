// Householder reflections that reduce a matrix to a triangle, and the unitary matrix of them.
#pragma once

#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {

/// The reflections H_0 H_1 ... = Q, below the diagonal of a matrix, and R above.
template <class T>
class Reflections {
  static constexpr Index kReflections = 48;  // that are applied together
  static constexpr Index kColumns = 512;     // that they are applied to at a time

 public:
  /// False if interrupted. The elements of x are finite.
  bool compute(Matrix<T>& x, Progress& progress) {
    const Index size = std::min(x.rows(), x.cols());
    coefficients_.resize(size);
    workspace_.resize(x.cols());
    for (Index k = 0; k < size; k += kReflections) {
      const Index width = std::min(kReflections, size - k), rows = x.rows() - k;
      auto block = x.block(k, k, rows, width);
      auto coefficients = coefficients_.segment(k, width);
      Eigen::internal::householder_qr_inplace_unblocked(block, coefficients, workspace_.data());
      if (!apply(x, k, width, x, k + width, /*is_forward=*/false, progress)) return false;
    }
    return true;
  }

  /// As compute() leaves them, for reflections from elsewhere.
  void take(Vector<T> coefficients) { coefficients_.swap(coefficients); }

  /// Sets the columns of Q that `q` has. False if interrupted.
  bool form(Matrix<T>& q, const Matrix<T>& x, Progress& progress) const {
    q.setIdentity();
    const Index size = coefficients_.size();
    for (Index k = (size - 1) / kReflections * kReflections; k >= 0 && size > 0;
         k -= kReflections) {
      // Columns to the left of k are still those of the identity.
      if (!apply(x, k, std::min(kReflections, size - k), q, k, /*is_forward=*/true, progress))
        return false;
    }
    return true;
  }

  /// Sets the whole of Q, of reflections that begin below the first subdiagonal of the square `x`,
  /// as a reduction to Hessenberg form leaves them. False if interrupted.
  bool form_below(Matrix<T>& q, const Matrix<T>& x, Progress& progress) const {
    const Index n = x.rows();
    q.setIdentity(n, n);
    if (n == 1) return true;
    Matrix<T> formed(n - 1, n - 1);
    if (!form(formed, x.bottomLeftCorner(n - 1, n - 1), progress)) return false;
    q.bottomRightCorner(n - 1, n - 1) = formed;
    return true;
  }

 private:
  /// Applies the reflections [k, k + width) to the columns of `to` from `begin` on.
  bool apply(const Matrix<T>& x, Index k, Index width, Matrix<T>& to, Index begin, bool is_forward,
             Progress& progress) const {
    const Index rows = x.rows() - k;
    const auto vectors = x.block(k, k, rows, width);
    for (Index j = begin; j < to.cols(); j += kColumns) {
      const Index columns = std::min(kColumns, to.cols() - j);
      auto part = to.block(k, j, rows, columns);
      // Eigen takes the coefficients of Q^H.
      if (is_forward) {
        Eigen::internal::apply_block_householder_on_the_left(
            part, vectors, coefficients_.segment(k, width).conjugate(), true);
      } else {
        Eigen::internal::apply_block_householder_on_the_left(
            part, vectors, coefficients_.segment(k, width), false);
      }
      const double products = 2 * static_cast<double>(rows) * static_cast<double>(width);
      if (progress.is_stopped_after(products * static_cast<double>(columns))) return false;
    }
    return true;
  }

  Vector<T> coefficients_;
  Vector<T> workspace_;
};

}  // namespace refarray::core
