// Implements the QR iteration for Schur forms of complex matrices.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "compute/linalg/decompositions/parts/hessenberg.hpp"
#include "compute/linalg/decompositions/parts/schur.hpp"

namespace refarray::core {
namespace {

using Complex = std::complex<double>;
using Rotation = Eigen::JacobiRotation<Complex>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr Index kExceptional = 10;  // every so many iterations for one eigenvalue

double sum_of_parts(Complex x) noexcept { return std::fabs(x.real()) + std::fabs(x.imag()); }

/// Reduces a Hessenberg matrix to triangular form, from its last row on. Eigen's own class can fail
/// to converge, because its exceptional shifts may be zero.
class Iteration {
 public:
  Iteration(Schur<Complex>& schur, Progress& progress) noexcept
      : t_(schur.t), u_(schur.u), progress_(progress), norm_(schur.t.norm()) {}

  Ending run(Index most) {
    Index last = t_.rows() - 1;
    for (;;) {
      while (last > 0 && is_negligible(last - 1)) {
        --last;
        since_last_ = 0;
      }
      if (last == 0) return Ending::kDone;
      if (most-- == 0) return Ending::kNotConverged;
      Index first = last - 1;
      while (first > 0 && !is_negligible(first - 1)) --first;
      const bool is_exceptional = ++since_last_ % kExceptional == 0;
      step(first, last, is_exceptional ? exceptional_shift(last) : shift(last));
      const double rotations = static_cast<double>(last - first);
      if (progress_.is_stopped_after(12 * rotations * static_cast<double>(t_.rows())))
        return Ending::kInterrupted;
    }
  }

 private:
  /// Whether the element below the diagonal in this column may be zero; then it becomes zero. It is
  /// small beside its neighbours, which keeps small eigenvalues accurate. Where the rounding errors
  /// of great elements prevent that, it is small beside the norm.
  bool is_negligible(Index column) noexcept {
    const double size = sum_of_parts(t_(column + 1, column));
    const double neighbours =
        sum_of_parts(t_(column, column)) + sum_of_parts(t_(column + 1, column + 1));
    const bool is_stuck = neighbours == 0 || since_last_ >= kExceptional;
    if (size > kEpsilon * (is_stuck ? norm_ : neighbours)) return false;
    t_(column + 1, column) = 0;
    return true;
  }

  /// The eigenvalue of the 2 x 2 matrix that ends at `last` that is nearer to its last element.
  Complex shift(Index last) const {
    const Complex a = t_(last - 1, last - 1), d = t_(last, last);
    const Complex half = 0.5 * (a - d), product = t_(last - 1, last) * t_(last, last - 1);
    if (product == Complex(0)) return d;
    const Complex root = std::sqrt(half * half + product);
    const double agreement = half.real() * root.real() + half.imag() * root.imag();
    // The greater denominator gives the nearer eigenvalue, and does not cancel.
    const Complex denominator = agreement >= 0 ? half + root : half - root;
    return denominator == Complex(0) ? d : d - product / denominator;
  }

  /// Ends cycles of the iteration: a number that the elements did not lead to.
  Complex exceptional_shift(Index last) const noexcept {
    return t_(last, last) + 0.75 * sum_of_parts(t_(last, last - 1));
  }

  void rotate(Index row, const Rotation& rotation, Index first_column, Index row_end) {
    t_.rightCols(t_.cols() - first_column).applyOnTheLeft(row, row + 1, rotation.adjoint());
    t_.topRows(row_end).applyOnTheRight(row, row + 1, rotation);
    if (u_.size() != 0) u_.applyOnTheRight(row, row + 1, rotation);
  }

  /// One QR step on the rows [first, last]: an element below the Hessenberg form is pushed down.
  void step(Index first, Index last, Complex by) {
    Rotation rotation;
    rotation.makeGivens(t_(first, first) - by, t_(first + 1, first));
    rotate(first, rotation, first, std::min(first + 2, last) + 1);
    for (Index i = first + 1; i < last; ++i) {
      rotation.makeGivens(t_(i, i - 1), t_(i + 1, i - 1), &t_(i, i - 1));
      t_(i + 1, i - 1) = 0;
      rotate(i, rotation, i, std::min(i + 2, last) + 1);
    }
  }

  Matrix<Complex>& t_;
  Matrix<Complex>& u_;
  Progress& progress_;
  double norm_;
  Index since_last_ = 0;  // iterations since the last eigenvalue was found
};

}  // namespace

Ending find_schur(Schur<Complex>& out, const Matrix<Complex>& x, bool has_vectors,
                  Progress& progress, Index most_per_row) {
  out.t = x;
  out.u.resize(0, 0);
  if (!reduce_to_hessenberg(out.t, has_vectors ? &out.u : nullptr, progress))
    return Ending::kInterrupted;
  return Iteration(out, progress).run(most_per_row * x.rows());
}

}  // namespace refarray::core
