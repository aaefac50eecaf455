// Implements singular values: reduction to bidiagonal form, then implicit QR iterations.
#include <numeric>
#include <vector>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/decompositions/parts/iterations.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
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
    left_.resize(rows, kPanel);
    right_.resize(n, kPanel);
    for (Index k = 0; k < n;) {
      auto rest = x.block(k, k, rows - k, n - k);
      const Index width = rest.cols() <= kUnblocked ? rest.cols() : kPanel;
      if (width == rest.cols()) {
        Eigen::internal::upperbidiagonalization_inplace_unblocked(rest, &diagonal[k], &above[k],
                                                                  left_.data());
      } else {
        Eigen::internal::upperbidiagonalization_blocked_helper<decltype(rest)>(
            rest, &diagonal[k], &above[k], width, left_.topLeftCorner(rest.rows(), width),
            right_.topLeftCorner(rest.cols(), width));
      }
      k += width;
      const double products = 4 * static_cast<double>(rest.size());
      if (progress.is_stopped_after(products * static_cast<double>(width))) return false;
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
  static constexpr Index kUnblocked = 48;  // columns for which panels do not pay

  Matrix<T> left_, right_;  // workspaces
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
  std::stable_sort(order.begin(), order.begin() + n,
                   [&](Index a, Index b) { return std::abs(s[a]) > std::abs(s[b]); });
  const std::vector<Index> first(order.begin(), order.begin() + n);
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
  Matrix<T> work;
  Factors<T> factors;
  const auto one = [&](const Stack& stack, Progress& progress) -> Outcome {
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
  Matrix<T> work;
  Factors<T> factors;
  const auto one = [&](const Stack& stack, Progress& progress) -> Outcome {
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
