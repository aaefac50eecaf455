// Implements Cholesky decompositions by blocks of columns.
#include <vector>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {
namespace {

constexpr Index kPanel = 128;  // columns that are decomposed, or updated, at a time

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

template <class T>
void decompose_panel(Matrix<T>& a, Index k, Index width, Index& failed) {
  auto pivot_block = a.block(k, k, width, width);
  const Index zero = Eigen::internal::llt_inplace<T, Eigen::Lower>::blocked(pivot_block);
  if (zero >= 0) {
    failed = k + zero;
    return;
  }
  auto below = a.block(k + width, k, a.rows() - k - width, width);
  if (below.rows() > 0) {
    pivot_block.adjoint()
        .template triangularView<Eigen::Upper>()
        .template solveInPlace<Eigen::OnTheRight>(below);
  }
}

/// Replaces the lower triangle. `failed` becomes the index of a pivot that is not positive.
/// Returns false if interrupted.
template <class T>
bool decompose(Matrix<T>& a, Index& failed, Progress& progress) {
  const Index n = a.rows();
  for (Index k = 0; k < n; k += kPanel) {
    const Index width = std::min(kPanel, n - k), end = k + width;
    decompose_panel(a, k, width, failed);
    if (failed >= 0) return true;
    const double products = static_cast<double>(width) * static_cast<double>(width);
    if (progress.is_stopped_after(products * static_cast<double>(n - k))) return false;
    for (Index j = end; j < n; j += kPanel) {
      const Index columns = std::min(kPanel, n - j);
      a.block(j, j, n - j, columns).noalias() -=
          a.block(j, k, n - j, width) * a.block(j, k, columns, width).adjoint();
      if (progress.is_stopped_after(products * static_cast<double>(n - j))) return false;
    }
  }
  return true;
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
  Matrix<T> a;
  const auto one = [&](const Stack& stack, Progress& progress) -> Outcome {
    load(a, stack[1]);
    if (is_upper) a.adjointInPlace();
    const std::vector<int> exponents = exponents_of_diagonal(a);
    scale_triangle(a, exponents, -1, /*both=*/true);
    Index failed = -1;
    if (!decompose(a, failed, progress)) return {Ending::kInterrupted};
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
