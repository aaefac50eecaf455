// Implements eigenvalues of general matrices by the Schur form.
#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/decompositions/parts/iterations.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/part_products.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {
namespace {

using Complex = std::complex<double>;

/// Scales each column to norm 1 with a real, positive component of greatest magnitude.
void normalize_vectors(Matrix<Complex>& vectors) {
  for (Index j = 0; j < vectors.cols(); ++j) {
    auto column = vectors.col(j);
    const int exponent = exponent_of(parts_of(column.data(), column.size()));
    if (exponent == kNoExponent || exponent == kNotFinite) continue;
    scale(column, -exponent);
    Index greatest = 0;
    for (Index i = 1; i < column.size(); ++i)
      if (std::norm(column[i]) > std::norm(column[greatest])) greatest = i;
    const double magnitude = std::sqrt(std::norm(column[greatest]));
    const Complex phase = std::conj(column[greatest]) / magnitude;
    for (Index i = 0; i < column.size(); ++i) column[i] *= phase;
    column[greatest] = magnitude;
    column /= column.norm();
  }
}

/// Differences of eigenvalues below this count as rounding errors, and are taken to be as great. At
/// least a number whose square is not zero.
template <class T>
double least_difference(const Matrix<T>& t) {
  return std::max(std::numeric_limits<double>::epsilon() * t.norm(), 0x1p-500);
}
Complex at_least(Complex value, double least) noexcept {
  return std::norm(value) < least * least ? Complex(least) : value;
}

/// Scales the components of an eigenvector down when they grow, as for a defective matrix.
template <class X>
void limit(X&& x, Index i) {
  const double size = std::max(std::abs(x[i].real()), std::abs(x[i].imag()));
  if (size > 0x1p200) x *= 1 / size;
}

/// Eigenvectors of an upper triangular matrix of magnitude about 1, as the columns of an upper
/// triangular one. False if interrupted.
bool triangular_vectors(Matrix<Complex>& out, const Matrix<Complex>& t, Progress& progress) {
  const Index n = t.rows();
  const double least = least_difference(t);
  out.setZero(n, n);
  for (Index k = n - 1; k >= 0; --k) {
    auto x = out.col(k);
    x.head(k) = -t.col(k).head(k);
    x[k] = 1;
    for (Index i = k - 1; i >= 0; --i) {
      x[i] /= at_least(t(i, i) - t(k, k), least);
      limit(x.head(k + 1), i);
      x.head(i) -= x[i] * t.col(i).head(i);
    }
    if (progress.is_stopped_after(2 * static_cast<double>(k) * static_cast<double>(k)))
      return false;
  }
  return true;
}

/// A real Schur form: upper triangular but for blocks of two rows, one for each conjugate pair.
class QuasiTriangle {
 public:
  explicit QuasiTriangle(const Matrix<double>& t) : t_(t), least_(least_difference(t)) {}

  bool begins_pair(Index k) const noexcept { return k + 1 < t_.rows() && t_(k + 1, k) != 0; }

  Vector<Complex> values() const {
    Vector<Complex> out = t_.diagonal().cast<Complex>();
    for (Index k = 0; k < out.size(); ++k) {
      if (!begins_pair(k)) continue;
      const double half = (t_(k, k) - t_(k + 1, k + 1)) / 2;
      const double above = t_(k, k + 1), below = t_(k + 1, k);
      const double scale = std::max({std::abs(half), std::abs(above), std::abs(below)});
      const double square = half / scale * (half / scale) + above / scale * (below / scale);
      out[k] = {t_(k + 1, k + 1) + half, scale * std::sqrt(std::abs(square))};
      out[k + 1] = std::conj(out[k]);
      ++k;
    }
    return out;
  }

  /// The eigenvector of one of values(): that of a pair which comes first, or of a real one.
  void vector(Index k, Complex value, Vector<Complex>& x) const {
    x.setZero();
    Index i = k;  // components from here on are solved for
    if (!begins_pair(k)) {
      x[k] = 1;
    } else if (std::abs(t_(k, k + 1)) >= std::abs(t_(k + 1, k))) {
      x[k] = 1;
      x[k + 1] = (value - t_(k, k)) / t_(k, k + 1);
    } else {
      x[k + 1] = 1;
      x[k] = (value - t_(k + 1, k + 1)) / t_(k + 1, k);
    }
    x.head(k) = -t_.col(k).head(k) * x[k];
    if (begins_pair(k)) x.head(k) -= t_.col(k + 1).head(k) * x[k + 1];
    while (i > 0) {
      if (i == 1 || !begins_pair(i - 2)) {
        --i;
        x[i] /= at_least(t_(i, i) - value, least_);
      } else {
        i -= 2;
        solve_pair(i, value, x);
        limit(x, i + 1);
        x.head(i) -= x[i + 1] * t_.col(i + 1).head(i);
      }
      limit(x, i);
      x.head(i) -= x[i] * t_.col(i).head(i);
    }
  }

 private:
  /// Solves for x[i] and x[i + 1] by elimination with pivoting.
  void solve_pair(Index i, Complex value, Vector<Complex>& x) const {
    Complex rows[2][3] = {{t_(i, i) - value, t_(i, i + 1), x[i]},
                          {t_(i + 1, i), t_(i + 1, i + 1) - value, x[i + 1]}};
    if (std::norm(rows[0][0]) < std::norm(rows[1][0])) std::swap(rows[0], rows[1]);
    const Complex pivot = at_least(rows[0][0], least_), factor = rows[1][0] / pivot;
    x[i + 1] =
        (rows[1][2] - factor * rows[0][2]) / at_least(rows[1][1] - factor * rows[0][1], least_);
    x[i] = (rows[0][2] - rows[0][1] * x[i + 1]) / pivot;
  }

  const Matrix<double>& t_;
  double least_;
};

/// The order to which a matrix is extended by zeros. Rows are read across columns: if these began
/// every few pages, few of their elements would fit into the caches at a time.
Index padded_order(Index n) noexcept {
  const Index off = (n + 3) % 64;  // at most 6 near a multiple of 64
  return n < 128 || off > 6 ? n : n - off + 11;
}

/// Sets out = a b, where each column of b is zero from the second element below the diagonal on.
/// False if interrupted.
template <class T>
bool multiply(Matrix<T>& out, const Matrix<T>& a, const Matrix<T>& b, Progress& progress) {
  constexpr Index kColumns = 64;
  const Index n = a.rows();
  out.setZero();
  for (Index j = 0; j < n; j += kColumns) {
    const Index columns = std::min(kColumns, n - j), rows = std::min(j + columns + 1, n);
    if (!add_product<T>(out.middleCols(j, columns), a.leftCols(rows), b.block(0, j, rows, columns),
                        progress))
      return false;
  }
  return true;
}

/// Sets the eigenvalues, and the vectors if wanted, of a normalized matrix.
Ending decompose(const Matrix<double>& x, Vector<Complex>& values, Matrix<Complex>* vectors,
                 Progress& progress) {
  Schur<double> schur;
  const Ending ending = find_schur(schur, x, vectors != nullptr, progress);
  if (ending != Ending::kDone) return ending;
  const QuasiTriangle triangle(schur.t);
  values = triangle.values();
  if (vectors == nullptr) return Ending::kDone;
  // The real and the imaginary parts of the vectors of a pair share its two columns.
  const Index n = x.rows();
  Matrix<double> parts(n, n), products(n, n);
  Vector<Complex> one(n);
  for (Index k = 0; k < n; ++k) {
    triangle.vector(k, values[k], one);
    if (progress.is_stopped_after(static_cast<double>(n) * static_cast<double>(n)))
      return Ending::kInterrupted;
    parts.col(k) = one.real();
    if (triangle.begins_pair(k)) parts.col(++k) = one.imag();
  }
  if (!multiply(products, schur.u, parts, progress)) return Ending::kInterrupted;
  *vectors = products.cast<Complex>();
  for (Index k = 0; k < n; ++k) {
    if (!triangle.begins_pair(k)) continue;
    vectors->col(k).imag() = products.col(k + 1);
    vectors->col(k + 1) = vectors->col(k).conjugate();
    ++k;
  }
  return Ending::kDone;
}

Ending decompose(const Matrix<Complex>& x, Vector<Complex>& values, Matrix<Complex>* vectors,
                 Progress& progress) {
  Schur<Complex> schur;
  const Ending ending = find_schur(schur, x, vectors != nullptr, progress);
  if (ending != Ending::kDone) return ending;
  values = schur.t.diagonal();
  if (vectors == nullptr) return Ending::kDone;
  Matrix<Complex> triangle;
  vectors->resize(x.rows(), x.rows());
  return triangular_vectors(triangle, schur.t, progress) &&
                 multiply(*vectors, schur.u, triangle, progress)
             ? Ending::kDone
             : Ending::kInterrupted;
}

/// The operands are the values, the vectors if there are any, and x.
template <class T>
Outcome eig_each(std::span<const Stacked> operands, const InterruptCheck& interrupt) {
  const std::size_t x = operands.size() - 1;
  const bool has_vectors = x == 2;
  const auto one = [x, has_vectors, work = Matrix<T>(), values = Vector<Complex>(),
                    vectors = Matrix<Complex>()](const Stack& stack,
                                                 Progress& progress) mutable -> Outcome {
    if (stack[x].shape[0] == 0) return {};
    load(work, stack[x]);
    const std::optional<int> exponent = normalize(work);
    if (!exponent) {
      store_nan(stack[0]);
      if (has_vectors) store_nan(stack[1]);
      return {};
    }
    const Index n = work.rows(), padded = padded_order(n);
    // Zero rows and columns add zeros behind the eigenvalues.
    work.conservativeResizeLike(Matrix<T>::Zero(padded, padded));
    const Ending ending = decompose(work, values, has_vectors ? &vectors : nullptr, progress);
    if (ending != Ending::kDone) return {ending};
    values.conservativeResize(n);
    scale(values, *exponent);
    store(stack[0], values);
    if (has_vectors) {
      vectors.conservativeResize(n, n);
      normalize_vectors(vectors);
      store(stack[1], vectors);
    }
    return {};
  };
  return each_matrix(operands, interrupt, one);
}

}  // namespace

Outcome eig(const ArrayView& values, const ArrayView& vectors, const ArrayView& x,
            const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    return eig_each<T>(std::array{Stacked{values, 1}, Stacked{vectors, 2}, Stacked{x, 2}},
                       interrupt);
  });
}

Outcome eigvals(const ArrayView& values, const ArrayView& x, const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    return eig_each<T>(std::array{Stacked{values, 1}, Stacked{x, 2}}, interrupt);
  });
}

}  // namespace refarray::core
