// Implements Hermitian eigenvalues: reduction to tridiagonal form, then implicit QR iterations.
#include <numeric>
#include <vector>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/decompositions/parts/hermitian.hpp"
#include "compute/linalg/decompositions/parts/iterations.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/reflections.hpp"
#include "compute/linalg/decompositions/parts/rotations.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {
namespace {

/// A Hermitian matrix, its tridiagonal form and in the end its eigenvalues and eigenvectors.
template <class T>
class Hermitian {
 public:
  Matrix<T> matrix;         // its lower triangle; later the eigenvectors, in any order
  Vector<double> diagonal;  // later the eigenvalues, in any order
  Vector<double> below;     // the diagonal of the tridiagonal form

  /// Reduces to tridiagonal form. False if interrupted. The matrix is normalized.
  bool reduce(Progress& progress) {
    const Index n = matrix.rows();
    coefficients_.resize(n - 1);
    HermitianRest<T> rest(matrix);
    for (Index i = 0; i + 1 < n; ++i) {
      rest.load_column(i);
      auto column = matrix.col(i).tail(n - i - 1);
      auto products = coefficients_.tail(n - i - 1);
      T coefficient;
      double beta;
      column.makeHouseholderInPlace(coefficient, beta);
      column[0] = 1;
      // A := H A H with H = I - h v v^H, as the update A - v w^H - w v^H.
      const T conjugate = Eigen::numext::conj(coefficient);
      rest.multiply(products, conjugate * column, i + 1);
      products += (conjugate * -0.5 * products.dot(column)) * column;
      rest.subtract(column, products, i + 1);
      column[0] = beta;
      coefficients_[i] = coefficient;
      const double size = static_cast<double>(column.size());
      if (progress.is_stopped_after(2 * size * size)) return false;
    }
    rest.load_column(n - 1);
    diagonal = matrix.diagonal().real();
    below = matrix.template diagonal<-1>().real();
    return true;
  }

  /// Replaces the reduced matrix by the unitary one of the reduction. False if interrupted.
  bool form_vectors(Progress& progress) {
    Reflections<T> reflections;
    reflections.take(coefficients_);
    Matrix<T> formed;
    if (!reflections.form_below(formed, matrix, progress)) return false;
    matrix.swap(formed);
    return true;
  }

 private:
  Vector<T> coefficients_;
};

/// The lower triangle, with a zero upper one and a real diagonal.
template <class T>
void load_lower(Matrix<T>& to, const ArrayView& x) {
  load(to, x);
  to.template triangularView<Eigen::StrictlyUpper>().setZero();
  if constexpr (kIsComplex<T>) {
    for (Index i = 0; i < to.rows(); ++i) to(i, i) = to(i, i).real();
  }
}

/// Stores eigenvalues in ascending order, and eigenvectors if `vectors` is given.
template <class T>
void store_sorted(const Hermitian<T>& from, int exponent, const ArrayView& values,
                  const ArrayView* vectors) {
  const Index n = from.diagonal.size();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return from.diagonal[a] < from.diagonal[b]; });
  Vector<double> sorted = from.diagonal(order);
  scale(sorted, exponent);
  store(values, sorted);
  if (vectors != nullptr) store(*vectors, Matrix<T>(from.matrix(Eigen::all, order)));
}

/// The operands are the values, the vectors if there are any, and x.
template <class T>
Outcome eigh_each(std::span<const Stacked> operands, const InterruptCheck& interrupt) {
  const std::size_t x = operands.size() - 1;
  const bool has_vectors = x == 2;
  const auto one = [x, has_vectors, hermitian = Hermitian<T>()](
                       const Stack& stack, Progress& progress) mutable -> Outcome {
    if (stack[x].shape[0] == 0) return {};
    load_lower(hermitian.matrix, stack[x]);
    const std::optional<int> exponent = normalize(hermitian.matrix);
    if (!exponent) {
      store_nan(stack[0]);
      if (has_vectors) store_nan(stack[1]);
      return {};
    }
    if (!hermitian.reduce(progress) || (has_vectors && !hermitian.form_vectors(progress)))
      return {Ending::kInterrupted};
    Matrix<T> none;
    const Ending ending = diagonalize_tridiagonal(
        hermitian.diagonal, hermitian.below,
        sweeps_of(has_vectors ? hermitian.matrix : none, hermitian.diagonal.size()), progress);
    if (ending == Ending::kDone)
      store_sorted(hermitian, *exponent, stack[0], has_vectors ? &stack[1] : nullptr);
    return {ending};
  };
  return each_matrix(operands, interrupt, one);
}

}  // namespace

Outcome eigh(const ArrayView& values, const ArrayView& vectors, const ArrayView& x,
             const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    return eigh_each<T>(std::array{Stacked{values, 1}, Stacked{vectors, 2}, Stacked{x, 2}},
                        interrupt);
  });
}

Outcome eigvalsh(const ArrayView& values, const ArrayView& x, const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    return eigh_each<T>(std::array{Stacked{values, 1}, Stacked{x, 2}}, interrupt);
  });
}

}  // namespace refarray::core
