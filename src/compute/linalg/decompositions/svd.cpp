// Implements singular values: reduction to bidiagonal form, then implicit QR iterations.
#include <numeric>
#include <vector>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/decompositions/parts/iterations.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/part_products.hpp"
#include "compute/linalg/decompositions/parts/reflections.hpp"
#include "compute/linalg/decompositions/parts/rotations.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {
namespace {

enum class Vectors { kNone, kThin, kFull };

/// A matrix with at least as many rows as columns is Q B P^H with a bidiagonal B.
template <class T>
class Bidiagonal {
 public:
  Vector<double> diagonal;
  Vector<double> above;

  /// Reduces to bidiagonal form. False if interrupted. The matrix is normalized.
  bool reduce(Matrix<T>& x, Progress& progress) {
    const Index rows = x.rows(), n = x.cols();
    diagonal.resize(n);
    above.resize(n);  // the last one is not used
    for (Index k = 0; k < n;) {
      auto rest = x.block(k, k, rows - k, n - k);
      if (rest.cols() > kUnblocked) {
        Panel panel(rest, progress);
        for (Index i = 0; i < kPanel; ++i)
          if (!panel.reduce_column(i, diagonal[k + i]) || !panel.reduce_row(i, above[k + i]))
            return false;
        if (!panel.finish()) return false;
        k += kPanel;
        continue;
      }
      Vector<T> workspace(rest.rows());
      Eigen::internal::upperbidiagonalization_inplace_unblocked(rest, &diagonal[k], &above[k],
                                                                workspace.data());
      const double products = 4 * static_cast<double>(rest.size());
      return !progress.is_stopped_after(products * static_cast<double>(rest.cols()));
    }
    return true;
  }

  /// Sets the columns of Q that `q` has, of the reduced matrix. False if interrupted.
  static bool form_left(Matrix<T>& q, const Matrix<T>& reduced, Progress& progress) {
    Reflections<T> reflections;
    reflections.take(reduced.diagonal());
    return reflections.form(q, reduced, progress);
  }

  /// Sets P of the reduced matrix. False if interrupted.
  static bool form_right(Matrix<T>& p, const Matrix<T>& reduced, Progress& progress) {
    const Index n = reduced.cols();
    p.setIdentity(n, n);
    if (n == 1) return true;
    // Each row of the reduced matrix has a reflection of the columns behind its diagonal.
    const Matrix<T> rows = reduced.block(0, 1, n - 1, n - 1).adjoint();
    Reflections<T> reflections;
    reflections.take(rows.diagonal());
    Matrix<T> formed(n - 1, n - 1);
    if (!reflections.form(formed, rows, progress)) return false;
    p.bottomRightCorner(n - 1, n - 1) = formed;
    return true;
  }

 private:
  static constexpr Index kPanel = 32;
  static constexpr Index kUnblocked =
      kIsComplex<T> ? 48 : 128;  // columns for which panels do not pay

  /// A part of a matrix that becomes bidiagonal, column by column and row by row.
  ///
  /// V and U are the vectors of the reflections of columns and of rows, below the diagonal and
  /// right of it. What is left of the matrix is A - V Y^H - X U: only the column and the row that
  /// are next are brought up to date, so that A is read twice for each.
  struct Panel {
    Part<T> a;
    Matrix<T> x, y;
    Vector<T> of_columns, of_rows;  // coefficients of the reflections
    Progress& progress;

    Panel(Part<T> part, Progress& of)
        : a(part),
          x(Matrix<T>::Zero(part.rows(), kPanel)),
          y(Matrix<T>::Zero(part.cols(), kPanel)),
          of_columns(kPanel),
          of_rows(kPanel),
          progress(of) {}

    Index below(Index k) const noexcept { return a.rows() - k; }
    Index right(Index k) const noexcept { return a.cols() - k - 1; }
    auto v(Index k) { return a.block(k, 0, below(k), k); }
    auto u(Index k) { return a.block(0, k + 1, k, right(k)); }

    /// Sets column k of Y, and `pivot` to what is left of column k of the matrix.
    bool reduce_column(Index k, double& pivot) {
      Vector<T> column = a.col(k).tail(below(k));
      const Vector<T> of_y = y.row(k).head(k).adjoint(), of_u = a.col(k).head(k);
      const auto old_x = x.block(k, 0, below(k), k);
      if (!subtract_product<T>(column, v(k), of_y, progress) ||
          !subtract_product<T>(column, old_x, of_u, progress))
        return false;
      column.makeHouseholderInPlace(of_columns[k], pivot);
      column[0] = 1;
      Vector<T> next = Vector<T>::Zero(right(k)), of_v = Vector<T>::Zero(k), of_x = of_v;
      const auto rest = a.block(k, k + 1, below(k), right(k));
      if (!add_adjoint_product<T>(next, rest, column, progress) ||
          !add_adjoint_product<T>(of_v, v(k), column, progress) ||
          !subtract_product<T>(next, y.block(k + 1, 0, right(k), k), of_v, progress) ||
          !add_adjoint_product<T>(of_x, old_x, column, progress) ||
          !add_adjoint_product<T>(next, u(k), -of_x, progress))
        return false;
      a.col(k).tail(below(k)) = column;
      y.col(k).tail(right(k)) = next * Eigen::numext::conj(of_columns[k]);
      return true;
    }

    /// Sets column k of X, and `pivot` to what is left of row k.
    bool reduce_row(Index k, double& pivot) {
      Vector<T> row = a.row(k).tail(right(k)).adjoint();
      const Vector<T> of_v = a.row(k).head(k + 1).adjoint(), of_x = -x.row(k).head(k).adjoint();
      const auto new_y = y.block(k + 1, 0, right(k), k + 1);
      if (!subtract_product<T>(row, new_y, of_v, progress) ||
          !add_adjoint_product<T>(row, u(k), of_x, progress))
        return false;
      T coefficient;
      row.makeHouseholderInPlace(coefficient, pivot);
      row[0] = 1;
      of_rows[k] = Eigen::numext::conj(coefficient);
      const Index rows = below(k) - 1;
      Vector<T> next = Vector<T>::Zero(rows), of_u = Vector<T>::Zero(k);
      Vector<T> of_y = Vector<T>::Zero(k + 1);
      if (!add_product<T>(next, a.block(k + 1, k + 1, rows, right(k)), row, progress) ||
          !add_product<T>(of_u, u(k), row, progress) ||
          !subtract_product<T>(next, x.block(k + 1, 0, rows, k), of_u, progress) ||
          !add_adjoint_product<T>(of_y, new_y, row, progress) ||
          !subtract_product<T>(next, a.block(k + 1, 0, rows, k + 1), of_y, progress))
        return false;
      x.col(k).tail(rows) = next * of_rows[k];
      a.row(k).tail(right(k)) = row.adjoint();
      return true;
    }

    /// Brings the rest up to date, and stores the coefficients in place of the ones of the vectors.
    bool finish() {
      const Index rows = a.rows() - kPanel, columns = a.cols() - kPanel;
      auto rest = a.bottomRightCorner(rows, columns);
      if (!subtract_product<T>(rest, a.bottomLeftCorner(rows, kPanel),
                               y.bottomRows(columns).adjoint(), progress) ||
          !subtract_product<T>(rest, x.bottomRows(rows), a.topRightCorner(kPanel, columns),
                               progress))
        return false;
      a.diagonal().head(kPanel) = of_columns;
      a.template diagonal<1>().head(kPanel) = of_rows;
      return true;
    }
  };
};

/// Of a matrix, or of its adjoint if that has more rows.
template <class T>
struct Factors {
  Matrix<T> u;
  Vector<double> s;
  Matrix<T> v;
};

/// Makes the values positive and sorts them in descending order, with their vectors if wanted.
template <class T>
void sort(Factors<T>& factors, Vectors vectors) {
  auto& [u, s, v] = factors;
  const Index n = s.size();
  std::vector<Index> order(static_cast<std::size_t>(vectors == Vectors::kNone ? n : u.cols()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(n);
  std::stable_sort(order.begin(), end,
                   [&](Index a, Index b) { return std::abs(s[a]) > std::abs(s[b]); });
  const std::vector<Index> first(order.begin(), end);
  if (vectors != Vectors::kNone) {
    for (Index j = 0; j < n; ++j)
      if (std::signbit(s[j])) v.col(j) = -v.col(j);
    u = Matrix<T>(u(Eigen::all, order));
    v = Matrix<T>(v(Eigen::all, first));
  }
  s = Vector<double>(s(first).cwiseAbs());
}

/// The factors of a normalized matrix, which is overwritten. kDone, kInterrupted or kNotConverged.
template <class T>
Ending decompose(Factors<T>& out, Matrix<T>& x, Vectors vectors, Progress& progress) {
  const bool is_wide = x.rows() < x.cols();
  if (is_wide) x.adjointInPlace();
  const Index n = x.cols();
  Bidiagonal<T> bidiagonal;
  if (!bidiagonal.reduce(x, progress)) return Ending::kInterrupted;
  out.u.resize(0, 0);
  out.v.resize(0, 0);
  if (vectors != Vectors::kNone) {
    out.u.resize(x.rows(), vectors == Vectors::kFull ? x.rows() : n);
    if (!bidiagonal.form_left(out.u, x, progress) || !bidiagonal.form_right(out.v, x, progress))
      return Ending::kInterrupted;
  }
  const Ending ending = diagonalize_bidiagonal(bidiagonal.diagonal, bidiagonal.above,
                                               sweeps_of(out.u, n), sweeps_of(out.v, n), progress);
  if (ending != Ending::kDone) return ending;
  out.s.swap(bidiagonal.diagonal);
  sort(out, vectors);
  if (is_wide) out.u.swap(out.v);
  return Ending::kDone;
}

/// Without singular values, the full matrices are those of the identity.
void store_identities(const ArrayView& u, const ArrayView& vh) {
  store(u, Matrix<double>(Matrix<double>::Identity(u.shape[0], u.shape[1])));
  store(vh, Matrix<double>(Matrix<double>::Identity(vh.shape[0], vh.shape[1])));
}

template <class T>
Outcome svd_each(const ArrayView& u, const ArrayView& s, const ArrayView& vh, const ArrayView& x,
                 const InterruptCheck& interrupt) {
  const auto one = [work = Matrix<T>(), factors = Factors<T>()](
                       const Stack& stack, Progress& progress) mutable -> Outcome {
    if (stack[1].shape[0] == 0) {
      store_identities(stack[0], stack[2]);
      return {};
    }
    load(work, stack[3]);
    const std::optional<int> exponent = normalize(work);
    if (!exponent) {
      store_nan(stack[0], stack[1], stack[2]);
      return {};
    }
    const bool is_full =
        stack[0].shape[1] > stack[1].shape[0] || stack[2].shape[0] > stack[1].shape[0];
    const Ending ending =
        decompose(factors, work, is_full ? Vectors::kFull : Vectors::kThin, progress);
    if (ending != Ending::kDone) return {ending};
    scale(factors.s, *exponent);
    store(stack[0], factors.u);
    store(stack[1], factors.s);
    store(stack[2], Matrix<T>(factors.v.adjoint()));
    return {};
  };
  return each_matrix(std::array{Stacked{u, 2}, Stacked{s, 1}, Stacked{vh, 2}, Stacked{x, 2}},
                     interrupt, one);
}

template <class T>
Outcome svdvals_each(const ArrayView& s, const ArrayView& x, const InterruptCheck& interrupt) {
  const auto one = [work = Matrix<T>(), factors = Factors<T>()](
                       const Stack& stack, Progress& progress) mutable -> Outcome {
    if (stack[0].shape[0] == 0) return {};
    load(work, stack[1]);
    const std::optional<int> exponent = normalize(work);
    if (!exponent) {
      store_nan(stack[0]);
      return {};
    }
    const Ending ending = decompose(factors, work, Vectors::kNone, progress);
    if (ending != Ending::kDone) return {ending};
    scale(factors.s, *exponent);
    store(stack[0], factors.s);
    return {};
  };
  return each_matrix(std::array{Stacked{s, 1}, Stacked{x, 2}}, interrupt, one);
}

}  // namespace

Outcome svd(const ArrayView& u, const ArrayView& s, const ArrayView& vh, const ArrayView& x,
            const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) { return svd_each<T>(u, s, vh, x, interrupt); });
}

Outcome svdvals(const ArrayView& s, const ArrayView& x, const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) { return svdvals_each<T>(s, x, interrupt); });
}

}  // namespace refarray::core
