// Implements Cholesky decompositions by recursion: the left half of a matrix, then the right one.
#include <vector>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/part_products.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {
namespace {

/// Exponents of the powers of two that scale a Hermitian matrix to a diagonal in [1, 4). If it is
/// positive definite, no other element is greater than 4 then. Nothing if the diagonal is moderate
/// or has a number that is not positive and finite.
template <class T>
std::vector<int> exponents_of_diagonal(const Matrix<T>& a) {
  bool is_every_moderate = true;
  for (Index i = 0; i < a.rows(); ++i) {
    const double each = std::real(a(i, i));
    if (!(each > 0) || !std::isfinite(each)) return {};
    is_every_moderate &= is_moderate(std::ilogb(each));
  }
  std::vector<int> out;
  if (is_every_moderate) return out;
  for (Index i = 0; i < a.rows(); ++i) {
    const int exponent = std::ilogb(std::real(a(i, i)));
    out.push_back((exponent - (exponent & 1)) / 2);  // exact also for negative exponents
  }
  return out;
}

std::int64_t at(const std::vector<int>& list, Index i) { return list[static_cast<std::size_t>(i)]; }

/// Replaces the lower triangle. Returns the index of a pivot that is not positive, or -1.
template <class T>
Index decompose_few(Part<T>& a) noexcept {
  const Index n = a.rows();
  for (Index k = 0; k < n; ++k) {
    const double pivot = std::real(a(k, k));
    if (pivot <= 0) return k;
    T* const column = a.col(k).data();
    column[k] = std::sqrt(pivot);
    for (Index i = k + 1; i < n; ++i) column[i] /= std::real(column[k]);
    for (Index j = k + 1; j < n; ++j)
      subtract(a.col(j).data(), column, Eigen::numext::conj(column[j]), j, n);
  }
  return -1;
}

/// Replaces each row y of `b` by the solution x of x l^H = y. False if interrupted.
template <class T>
bool solve_rows(const ConstPart<T>& l, Part<T> b, Progress& progress) {
  const Index n = l.rows();
  if (n <= kFewColumns) {
    for (Index k = 0; k < n; ++k) {
      T* const column = b.col(k).data();
      for (Index j = 0; j < k; ++j)
        subtract(column, b.col(j).data(), Eigen::numext::conj(l(k, j)), 0, b.rows());
      for (Index i = 0; i < b.rows(); ++i) column[i] /= std::real(l(k, k));
    }
    return !progress.is_stopped_after(static_cast<double>(n * n) * static_cast<double>(b.rows()));
  }
  const Index half = n / 2, rest = n - half;
  auto left = b.leftCols(half), right = b.rightCols(rest);
  return solve_rows<T>(l.topLeftCorner(half, half), left, progress) &&
         subtract_product<T>(right, left, l.bottomLeftCorner(rest, half).adjoint(), progress) &&
         solve_rows<T>(l.bottomRightCorner(rest, rest), right, progress);
}

/// Subtracts b b^H from the lower triangle of `a`; of the upper one some elements change. False if
/// interrupted.
template <class T>
bool subtract_square(Part<T> a, const ConstPart<T>& b, Progress& progress) {
  const Index n = a.rows(), half = n / 2, rest = n - half;
  return subtract_product<T>(a.leftCols(half), b, b.topRows(half).adjoint(), progress) &&
         subtract_product<T>(a.bottomRightCorner(rest, rest), b.bottomRows(rest),
                             b.bottomRows(rest).adjoint(), progress);
}

/// As decompose_few() for a part of a matrix that begins at row and column `first`. `failed`
/// becomes the index of a pivot that is not positive. Returns false if interrupted.
template <class T>
bool decompose(Part<T> a, Index first, Index& failed, Progress& progress) {
  const Index n = a.rows();
  if (n <= kFewColumns) {
    const Index zero = decompose_few<T>(a);
    if (zero >= 0) failed = first + zero;
    return !progress.is_stopped_after(static_cast<double>(n * n * n));
  }
  const Index half = n / 2, rest = n - half;
  auto upper_left = a.topLeftCorner(half, half), lower_right = a.bottomRightCorner(rest, rest);
  auto below = a.bottomLeftCorner(rest, half);
  if (!decompose<T>(upper_left, first, failed, progress)) return false;
  if (failed >= 0) return true;
  return solve_rows<T>(upper_left, below, progress) &&
         subtract_square<T>(lower_right, below, progress) &&
         decompose<T>(lower_right, first + half, failed, progress);
}

/// Multiplies row i by 2^exponents[i] and, if `both`, column j by 2^exponents[j], times `sign`.
template <class T>
void scale_triangle(Matrix<T>& a, const std::vector<int>& exponents, int sign, bool both) {
  if (exponents.empty()) return;
  for (Index j = 0; j < a.cols(); ++j)
    for (Index i = j; i < a.rows(); ++i)
      a(i, j) = scaled(a(i, j), sign * (at(exponents, i) + (both ? at(exponents, j) : 0)));
}

template <class T>
Outcome cholesky_each(const ArrayView& out, const ArrayView& x, bool is_upper,
                      const InterruptCheck& interrupt) {
  const auto one = [is_upper, a = Matrix<T>()](const Stack& stack,
                                               Progress& progress) mutable -> Outcome {
    load(a, stack[1]);
    if (is_upper) a.adjointInPlace();
    const std::vector<int> exponents = exponents_of_diagonal(a);
    scale_triangle(a, exponents, -1, /*both=*/true);
    Index failed = -1;
    if (!decompose<T>(a, 0, failed, progress)) return {Ending::kInterrupted};
    if (failed >= 0) return {Ending::kNotPositiveDefinite, 0, failed};
    scale_triangle(a, exponents, 1, /*both=*/false);
    a.template triangularView<Eigen::StrictlyUpper>().setZero();
    if (is_upper) a.adjointInPlace();
    store(stack[0], a);
    return {};
  };
  return each_matrix(std::array{Stacked{out, 2}, Stacked{x, 2}}, interrupt, one);
}

}  // namespace

Outcome cholesky(const ArrayView& out, const ArrayView& x, bool is_upper,
                 const InterruptCheck& interrupt) {
  return with_scalar(x.dtype,
                     [&]<class T>(T) { return cholesky_each<T>(out, x, is_upper, interrupt); });
}

}  // namespace refarray::core
