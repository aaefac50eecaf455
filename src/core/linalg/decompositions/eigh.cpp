// Implements Hermitian eigenvalues: reduction to tridiagonal form, then implicit QR iterations.
#include "core/linalg/decompositions/eigh.hpp"

#include <numeric>
#include <vector>

#include "core/linalg/decompositions/parts/matrices.hpp"
#include "core/linalg/decompositions/parts/rotations.hpp"
#include "core/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {
namespace {

constexpr Index kIterations = 30;  // for each eigenvalue

/// A Hermitian matrix, its tridiagonal form and in the end its eigenvalues and eigenvectors.
template <class T>
class Hermitian {
 public:
  Matrix<T> matrix;         // its lower triangle; later the eigenvectors, in any order
  Vector<double> diagonal;  // later the eigenvalues, in any order

  /// Reduces to tridiagonal form. False if interrupted. The matrix is normalized.
  bool reduce(Progress& progress) {
    const Index n = matrix.rows();
    coefficients_.resize(n - 1);
    for (Index i = 0; i + 1 < n; ++i) {
      const Index rest = n - i - 1;
      auto column = matrix.col(i).tail(rest);
      auto products = coefficients_.tail(rest);
      T coefficient;
      double beta;
      column.makeHouseholderInPlace(coefficient, beta);
      column[0] = 1;
      // A := H A H with H = I - h v v^H, as the update A - v w^H - w v^H.
      auto below = matrix.bottomRightCorner(rest, rest).template selfadjointView<Eigen::Lower>();
      const T conjugate = Eigen::numext::conj(coefficient);
      products.noalias() = below * (conjugate * column);
      products += (conjugate * -0.5 * products.dot(column)) * column;
      below.rankUpdate(column, products, T(-1));
      column[0] = beta;
      coefficients_[i] = coefficient;
      const double size = static_cast<double>(rest);
      if (progress.is_stopped_after(2 * size * size)) return false;
    }
    diagonal = matrix.diagonal().real();
    subdiagonal_ = matrix.template diagonal<-1>().real();
    return true;
  }

  /// Replaces the reduced matrix by the unitary one of the reduction.
  void form_vectors() {
    using Reflections = Eigen::HouseholderSequence<Matrix<T>, Vector<T>>;
    const Vector<T> conjugates = coefficients_.conjugate();
    // A copy, because Eigen works in place without blocks.
    Matrix<T> formed = Reflections(matrix, conjugates).setLength(matrix.rows() - 1).setShift(1);
    matrix.swap(formed);
  }

  /// Diagonalizes. kDone, kInterrupted or kNotConverged.
  Ending iterate(bool has_vectors, Progress& progress) {
    const Index n = diagonal.size();
    Sweeps sweeps = has_vectors ? sweeps_of(matrix, n) : Sweeps(nullptr, 0, 0, 0);
    Index start = 0, end = n - 1;
    for (Index iterations = 0; end > 0; ++iterations) {
      clear_negligible(start, end);
      while (end > 0 && subdiagonal_[end - 1] == 0) --end;
      if (end <= 0) break;
      if (iterations == kIterations * n) return Ending::kNotConverged;
      start = end - 1;
      while (start > 0 && subdiagonal_[start - 1] != 0) --start;
      sweep(start, end, sweeps);
      double products = 10 * static_cast<double>(end - start);
      if (sweeps.is_full()) products += sweeps.apply();
      if (progress.is_stopped_after(products)) return Ending::kInterrupted;
    }
    sweeps.apply();
    return Ending::kDone;
  }

 private:
  /// A subdiagonal element is negligible next to the geometric mean of its neighbours on the
  /// diagonal, or next to 1, the magnitude of the matrix.
  void clear_negligible(Index start, Index end) noexcept {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    for (Index i = start; i < end; ++i) {
      const double neighbours = std::abs(diagonal[i]) + std::abs(diagonal[i + 1]);
      if (std::abs(subdiagonal_[i]) <= kEpsilon * neighbours ||
          std::abs(subdiagonal_[i]) <= kEpsilon * kEpsilon)
        subdiagonal_[i] = 0;
    }
  }

  /// The eigenvalue of the last two rows of the block that is closer to the last element.
  double shift_at(Index end) const noexcept {
    const double half = (diagonal[end - 1] - diagonal[end]) / 2, below = subdiagonal_[end - 1];
    if (half == 0) return diagonal[end] - std::abs(below);
    const double root = std::sqrt(half * half + below * below);
    return diagonal[end] - below * (below / (half + std::copysign(root, half)));
  }

  /// An implicit QR step with the rows [start, end].
  void sweep(Index start, Index end, Sweeps& sweeps) {
    sweeps.begin(start, 1);
    double x = diagonal[start] - shift_at(end), y = subdiagonal_[start];
    for (Index k = start; k < end; ++k) {
      double size;
      const auto [c, s] = rotation_to_zero(x, y, size);
      if (k > start) subdiagonal_[k - 1] = size;
      // The rotation of the rows k and k + 1, then of the columns.
      const double above = diagonal[k], middle = subdiagonal_[k], below = diagonal[k + 1];
      const double first = c * above + s * middle, second = c * middle + s * below;
      diagonal[k] = c * first + s * second;
      subdiagonal_[k] = x = c * second - s * first;
      diagonal[k + 1] = c * (c * below - s * middle) - s * (c * middle - s * above);
      if (k + 1 < end) {
        y = s * subdiagonal_[k + 1];
        subdiagonal_[k + 1] = c * subdiagonal_[k + 1];
      }
      sweeps.add({c, s});
    }
  }

  Vector<double> subdiagonal_;
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
  Hermitian<T> hermitian;
  const auto one = [&](const Stack& stack, Progress& progress) -> Outcome {
    if (stack[x].shape[0] == 0) return {};
    load_lower(hermitian.matrix, stack[x]);
    const std::optional<int> exponent = normalize(hermitian.matrix);
    if (!exponent) {
      store_nan(stack[0]);
      if (has_vectors) store_nan(stack[1]);
      return {};
    }
    if (!hermitian.reduce(progress)) return {Ending::kInterrupted};
    if (has_vectors) hermitian.form_vectors();
    const Ending ending = hermitian.iterate(has_vectors, progress);
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
