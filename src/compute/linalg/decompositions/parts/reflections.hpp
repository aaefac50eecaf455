// Householder reflections that reduce a matrix to a triangle, and the unitary matrix of them.
#pragma once

#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/part_products.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {

/// The reflections H_0 H_1 ... = Q, below the diagonal of a matrix, and R above.
template <class T>
class Reflections {
  static constexpr Index kReflections = 32;  // that are applied together

 public:
  /// False if interrupted. The elements of x are finite.
  bool compute(Matrix<T>& x, Progress& progress) {
    const Index size = std::min(x.rows(), x.cols());
    coefficients_.resize(size);
    for (Index k = 0; k < size; k += kReflections) {
      const Index end = std::min(k + kReflections, size);
      for (Index i = k; i < end; ++i) {
        reflect_to_zero(x, i, end);
        if (is_stopped(x.rows() - i, end - i, progress)) return false;
      }
      if (!apply(x, k, end, x, end, /*is_forward=*/false, progress)) return false;
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
      if (!apply(x, k, std::min(k + kReflections, size), q, k, /*is_forward=*/true, progress))
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
  static bool is_stopped(Index rows, Index columns, Progress& progress) noexcept {
    return progress.is_stopped_after(2.0 * static_cast<double>(rows) *
                                     static_cast<double>(columns));
  }

  /// Applies the reflection that makes the numbers of column k below the diagonal zero to this
  /// column and to those on its right before `end`.
  void reflect_to_zero(Matrix<T>& x, Index k, Index end) {
    auto column = x.col(k).tail(x.rows() - k);
    double diagonal;
    column.makeHouseholderInPlace(coefficients_[k], diagonal);
    column[0] = diagonal;
    for (Index j = k + 1; j < end; ++j) reflect(x, k, coefficients_[k], x, j);
  }

  /// Applies reflection k, whose vector is 1 in row k and stands below it in `x`, to a column.
  static void reflect(const Matrix<T>& x, Index k, T coefficient, Matrix<T>& to, Index j) noexcept {
    const auto vector = x.col(k).tail(x.rows() - k - 1);
    auto below = to.col(j).tail(x.rows() - k - 1);
    const T product = coefficient * (to(k, j) + vector.dot(below));
    to(k, j) -= product;
    below -= product * vector;
  }

  /// Applies the reflections [k, end), or their inverse, to the columns of `to` from `begin` on.
  /// False if interrupted.
  bool apply(const Matrix<T>& x, Index k, Index end, Matrix<T>& to, Index begin, bool is_forward,
             Progress& progress) const {
    const Index rows = x.rows() - k, columns = to.cols() - begin, width = end - k;
    if (columns == 0) return true;
    if (to.size() <= kFew) {
      for (Index i = 0; i < width; ++i) {
        const Index at = is_forward ? end - 1 - i : k + i;
        const T coefficient =
            is_forward ? Eigen::numext::conj(coefficients_[at]) : coefficients_[at];
        for (Index j = begin; j < to.cols(); ++j) reflect(x, at, coefficient, to, j);
      }
      return !is_stopped(rows * width, columns, progress);
    }
    // H_k ... = I - V F V^H with a triangular F.
    const Matrix<T> vectors =
        x.block(k, k, rows, width).template triangularView<Eigen::UnitLower>();
    const Matrix<T> adjoint = vectors.adjoint();
    Matrix<T> squares = Matrix<T>::Zero(width, width);
    if (!add_product<T>(squares, adjoint, vectors, progress)) return false;
    const Matrix<T> factor = triangular_factor(squares, k);
    auto part = to.block(k, begin, rows, columns);
    Matrix<T> products = Matrix<T>::Zero(width, columns), factored = products;
    return add_product<T>(products, adjoint, part, progress) &&
           (is_forward ? add_product<T>(factored, factor, products, progress)
                       : add_product<T>(factored, factor.adjoint(), products, progress)) &&
           subtract_product<T>(part, vectors, factored, progress);
  }

  /// F of the reflections from k on, of which `squares` are the products V^H V.
  Matrix<T> triangular_factor(const Matrix<T>& squares, Index k) const {
    const Index width = squares.cols();
    Matrix<T> out = Matrix<T>::Zero(width, width);
    for (Index j = 0; j < width; ++j) {
      const T coefficient = Eigen::numext::conj(coefficients_[k + j]);
      for (Index i = 0; i < j; ++i)
        subtract(&out(0, j), &out(0, i), coefficient * squares(i, j), 0, i + 1);
      out(j, j) = coefficient;
    }
    return out;
  }

  Vector<T> coefficients_;
};

}  // namespace refarray::core
