// Implements the QR iterations for Schur forms: of real matrices with two shifts at a time, of
// complex ones with one.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "compute/linalg/decompositions/parts/hessenberg.hpp"
#include "compute/linalg/decompositions/parts/iterations.hpp"

namespace refarray::core {
namespace {

using Complex = std::complex<double>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr Index kExceptional = 10;  // every so many iterations for one block

double sum_of_parts(double x) noexcept { return std::abs(x); }
double sum_of_parts(Complex x) noexcept { return std::fabs(x.real()) + std::fabs(x.imag()); }

/// Reduces a Hessenberg matrix to the form of a Schur<T>, from its last row on. `Steps` derives
/// from it and has:
///
///   bool finish(Index first, Index last);  // false: the block [first, last] needs a step
///   void step(Index first, Index last);
///
/// Eigen's own classes cannot be interrupted, and that for complex matrices can fail to converge,
/// because its exceptional shifts may be zero.
template <class T, class Steps>
class Iteration {
 public:
  Iteration(Schur<T>& schur, Progress& progress) noexcept
      : t_(schur.t), u_(schur.u), progress_(progress), norm_(schur.t.norm()) {}

  Ending run(Index most) {
    auto& steps = static_cast<Steps&>(*this);
    Index last = t_.rows() - 1;
    while (last > 0) {
      Index first = last;
      while (first > 0 && !is_negligible(first - 1)) --first;
      if (steps.finish(first, last)) {
        last = first - 1;
        since_last_ = 0;
        continue;
      }
      if (most-- == 0) return Ending::kNotConverged;
      ++since_last_;
      steps.step(first, last);
      const double rows = static_cast<double>(last - first);
      if (progress_.is_stopped_after(12 * rows * static_cast<double>(t_.rows())))
        return Ending::kInterrupted;
    }
    return Ending::kDone;
  }

 protected:
  bool has_vectors() const noexcept { return u_.size() != 0; }
  bool is_exceptional() const noexcept { return since_last_ % kExceptional == 0; }

  Matrix<T>& t_;
  Matrix<T>& u_;

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

  Progress& progress_;
  double norm_;
  Index since_last_ = 0;  // iterations since the last eigenvalue was found
};

// --- real

/// I - c v v^T with v = (1, second, third), of three or two rows or columns.
struct Reflection {
  double c = 0;
  double second = 0;
  double third = 0;
  bool has_third = true;
  double size = 0;  // of the vector that it takes to (size, 0, 0)

  Reflection(double x, double y, double z, bool is_of_three) noexcept
      : has_third(is_of_three), size(x) {
    if (y == 0 && z == 0) return;
    // Scaled, so that the squares stay in range.
    const double greatest = std::max({std::abs(x), std::abs(y), std::abs(z)});
    x /= greatest, y /= greatest, z /= greatest;
    const double beta = -std::copysign(std::sqrt(x * x + y * y + z * z), x);
    c = (beta - x) / beta;
    second = y / (x - beta);
    third = z / (x - beta);
    size = beta * greatest;
  }

  /// Replaces `count` numbers each from x, y and z on. `z` is not read without a third.
  void apply(double* x, double* y, double* z, Index count, Index step) const noexcept {
    if (has_third) {
      for (Index i = 0; i < count * step; i += step) {
        const double product = c * (x[i] + second * y[i] + third * z[i]);
        x[i] -= product;
        y[i] -= product * second;
        z[i] -= product * third;
      }
    } else {
      for (Index i = 0; i < count * step; i += step) {
        const double product = c * (x[i] + second * y[i]);
        x[i] -= product;
        y[i] -= product * second;
      }
    }
  }
  /// Of three rows from the element `x` on, or of three columns, of a matrix with `stride`.
  void apply_to_rows(double* x, Index columns, Index stride) const noexcept {
    apply(x, x + 1, x + 2, columns, stride);
  }
  void apply_to_columns(double* x, Index rows, Index stride) const noexcept {
    apply(x, x + stride, x + 2 * stride, rows, 1);
  }
};

/// The eigenvalues d + scale (half + root) and d + scale (half - root) of the matrix (a, b; c, d).
struct Pair {
  double scale;
  double half = 0;
  double product = 0;
  double square = 0;  // of the root, which may be imaginary

  Pair(double a, double b, double c, double d) noexcept
      : scale(std::max({std::abs((a - d) / 2), std::abs(b), std::abs(c)})) {
    if (scale == 0) return;
    half = (a - d) / 2 / scale;
    product = b / scale * (c / scale);
    square = half * half + product;
  }

  /// half + root or half - root, for a real root: the one of greater magnitude.
  double greater() const noexcept { return half + std::copysign(std::sqrt(square), half); }
  /// The other one, without cancellation.
  double lesser() const noexcept { return product == 0 ? 0 : -product / greater(); }
};

/// The two numbers middle + root and middle - root.
struct Shifts {
  double middle;
  double square;  // of the root, which may be imaginary
};

class RealSteps : public Iteration<double, RealSteps> {
 public:
  using Iteration::Iteration;

  bool finish(Index first, Index last) {
    if (last - first == 1) split(first);
    return last - first < 2;
  }

  /// One QR step on the rows [first, last]: elements below the Hessenberg form are pushed down.
  void step(Index first, Index last) {
    const Shifts by = shifts(last);
    Index begin = last - 2;
    Eigen::Vector3d vector = start(begin, by);
    while (begin > first && !may_start(begin, vector)) vector = start(--begin, by);
    for (Index k = begin; k < last; ++k) {
      const bool is_of_three = k + 2 <= last;
      if (k > begin) vector = {t_(k, k - 1), t_(k + 1, k - 1), is_of_three ? t_(k + 2, k - 1) : 0};
      const Reflection reflection(vector[0], vector[1], vector[2], is_of_three);
      if (k > begin) {
        t_(k, k - 1) = reflection.size;
        t_(k + 1, k - 1) = 0;
        if (is_of_three) t_(k + 2, k - 1) = 0;
      } else if (begin > first) {
        t_(k, k - 1) *= 1 - reflection.c;
      }
      reflect(reflection, k, first, last);
    }
  }

 private:
  /// Makes the block of two rows triangular if its eigenvalues are real.
  void split(Index first) {
    const Index second = first + 1;
    const Pair pair(t_(first, first), t_(first, second), t_(second, first), t_(second, second));
    if (pair.square < 0) return;
    Eigen::JacobiRotation<double> rotation;
    rotation.makeGivens(pair.greater(), t_(second, first) / pair.scale);
    t_.rightCols(t_.cols() - first).applyOnTheLeft(first, second, rotation.adjoint());
    t_.topRows(second + 1).applyOnTheRight(first, second, rotation);
    if (has_vectors()) u_.applyOnTheRight(first, second, rotation);
    t_(second, first) = 0;
  }

  /// The eigenvalues of the last two rows; if they are real, twice the one nearer to the last
  /// element. Every so often numbers that the elements did not lead to, which ends cycles.
  Shifts shifts(Index last) const noexcept {
    const double below = t_(last, last - 1), d = t_(last, last);
    if (is_exceptional()) {
      const double size = std::abs(below) + std::abs(t_(last - 1, last - 2));
      return {d + 0.75 * size, -0.4375 * size * size};
    }
    const Pair pair(t_(last - 1, last - 1), t_(last - 1, last), below, d);
    if (pair.square >= 0) return {d + pair.lesser() * pair.scale, 0};
    return {d + pair.half * pair.scale, pair.square * pair.scale * pair.scale};
  }

  /// A vector in the direction of the first column of the product of T less either shift, where T
  /// begins at `row`.
  Eigen::Vector3d start(Index row, const Shifts& by) const noexcept {
    const double a = t_(row, row) - by.middle, b = t_(row + 1, row + 1) - by.middle;
    const double root = std::sqrt(std::abs(by.square)), below = t_(row + 1, row);
    const double size = std::abs(a) + root + std::abs(below);
    const double square = std::copysign(root * (root / size), by.square);
    const double factor = below / size;
    return {a * (a / size) - square + factor * t_(row, row + 1), factor * (a + b),
            factor * t_(row + 2, row + 1)};
  }

  /// Whether a step on the rows [first, last] may begin at `row` with this vector, because the
  /// elements that it would make below the Hessenberg form are negligible.
  bool may_start(Index row, const Eigen::Vector3d& vector) const noexcept {
    const double neighbours =
        std::abs(t_(row - 1, row - 1)) + std::abs(t_(row, row)) + std::abs(t_(row + 1, row + 1));
    return std::abs(t_(row, row - 1)) * (std::abs(vector[1]) + std::abs(vector[2])) <=
           kEpsilon * std::abs(vector[0]) * neighbours;
  }

  /// Without vectors, only the block [first, last] is needed.
  void reflect(const Reflection& reflection, Index k, Index first, Index last) noexcept {
    const Index n = t_.rows(), top = has_vectors() ? 0 : first;
    reflection.apply_to_rows(&t_(k, k), (has_vectors() ? n : last + 1) - k, n);
    reflection.apply_to_columns(&t_(top, k), std::min(k + 3, last) + 1 - top, n);
    if (has_vectors()) reflection.apply_to_columns(&u_(0, k), n, n);
  }
};

// --- complex

class ComplexSteps : public Iteration<Complex, ComplexSteps> {
  using Rotation = Eigen::JacobiRotation<Complex>;

 public:
  using Iteration::Iteration;

  bool finish(Index first, Index last) const noexcept { return first == last; }

  /// One QR step on the rows [first, last]: an element below the Hessenberg form is pushed down.
  void step(Index first, Index last) {
    const Complex by = is_exceptional() ? exceptional_shift(last) : shift(last);
    Complex length = 0;
    Rotation rotation = rotation_of(t_(first, first) - by, t_(first + 1, first), length);
    rotate(first, rotation, first, std::min(first + 2, last) + 1);
    for (Index i = first + 1; i < last; ++i) {
      rotation = rotation_of(t_(i, i - 1), t_(i + 1, i - 1), t_(i, i - 1));
      t_(i + 1, i - 1) = 0;
      rotate(i, rotation, i, std::min(i + 2, last) + 1);
    }
  }

 private:
  /// The rotation that takes (p, q) to (length, 0). Numbers of about 1 at most are scaled if one is
  /// subnormal: its quotient by its own magnitude, which is rounded, would be far from 1.
  static Rotation rotation_of(Complex p, Complex q, Complex& length) {
    const double scale = std::min(sum_of_parts(p), sum_of_parts(q)) < 0x1p-900 ? 0x1p200 : 1;
    Rotation rotation;
    rotation.makeGivens(scale * p, scale * q, &length);
    length /= scale;
    return rotation;
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
    if (has_vectors()) u_.applyOnTheRight(row, row + 1, rotation);
  }
};

template <class Steps, class T>
Ending find(Schur<T>& out, const Matrix<T>& x, bool has_vectors, Progress& progress,
            Index most_per_row) {
  out.t = x;
  out.u.resize(0, 0);
  if (!reduce_to_hessenberg(out.t, has_vectors ? &out.u : nullptr, progress))
    return Ending::kInterrupted;
  return Steps(out, progress).run(most_per_row * x.rows());
}

}  // namespace

Ending find_schur(Schur<double>& out, const Matrix<double>& x, bool has_vectors, Progress& progress,
                  Index most_per_row) {
  return find<RealSteps>(out, x, has_vectors, progress, most_per_row);
}
Ending find_schur(Schur<Complex>& out, const Matrix<Complex>& x, bool has_vectors,
                  Progress& progress, Index most_per_row) {
  return find<ComplexSteps>(out, x, has_vectors, progress, most_per_row);
}

}  // namespace refarray::core
