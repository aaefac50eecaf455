// Implements QR decompositions by blocks of Householder reflections.
#include "core/linalg/decompositions/qr.hpp"

#include <vector>

#include "core/linalg/decompositions/matrices.hpp"
#include "core/linalg/decompositions/stack.hpp"

namespace refarray::core {
namespace {

constexpr Index kBlock = 48;   // reflections that are applied together
constexpr Index kChunk = 512;  // columns that they are applied to at a time

/// The reflections H_0 H_1 ... = Q, below the diagonal of a matrix, and R above.
template <class T>
class Reflections {
 public:
  /// False if interrupted. The elements of x are finite.
  bool compute(Matrix<T>& x, Progress& progress) {
    const Index size = std::min(x.rows(), x.cols());
    coefficients_.resize(size);
    workspace_.resize(x.cols());
    for (Index k = 0; k < size; k += kBlock) {
      const Index width = std::min(kBlock, size - k), rows = x.rows() - k;
      auto block = x.block(k, k, rows, width);
      auto coefficients = coefficients_.segment(k, width);
      Eigen::internal::householder_qr_inplace_unblocked(block, coefficients, workspace_.data());
      if (!apply(x, k, width, x, k + width, /*is_forward=*/false, progress)) return false;
    }
    return true;
  }

  /// Sets the columns of Q that `q` has. False if interrupted.
  bool form(Matrix<T>& q, const Matrix<T>& x, Progress& progress) {
    q.setIdentity();
    const Index size = coefficients_.size();
    for (Index k = (size - 1) / kBlock * kBlock; k >= 0 && size > 0; k -= kBlock) {
      // Columns to the left of k are still those of the identity.
      if (!apply(x, k, std::min(kBlock, size - k), q, k, /*is_forward=*/true, progress))
        return false;
    }
    return true;
  }

 private:
  /// Applies the reflections [k, k + width) to the columns of `to` from `begin` on.
  bool apply(const Matrix<T>& x, Index k, Index width, Matrix<T>& to, Index begin, bool is_forward,
             Progress& progress) {
    const Index rows = x.rows() - k;
    const auto vectors = x.block(k, k, rows, width);
    for (Index j = begin; j < to.cols(); j += kChunk) {
      const Index columns = std::min(kChunk, to.cols() - j);
      auto part = to.block(k, j, rows, columns);
      // Eigen takes the coefficients of Q^H.
      if (is_forward) {
        Eigen::internal::apply_block_householder_on_the_left(
            part, vectors, coefficients_.segment(k, width).conjugate(), true);
      } else {
        Eigen::internal::apply_block_householder_on_the_left(
            part, vectors, coefficients_.segment(k, width), false);
      }
      const double products = 2 * static_cast<double>(rows) * static_cast<double>(width);
      if (progress.is_stopped_after(products * static_cast<double>(columns))) return false;
    }
    return true;
  }

  Vector<T> coefficients_;
  Vector<T> workspace_;
};

/// Divides each column by a power of two so that its squares stay in range, and returns the
/// exponents; none if all columns are moderate. Columns of Q do not change by it.
template <class T>
std::vector<int> normalize_columns(Matrix<T>& x) {
  bool is_every_moderate = true;
  std::vector<int> out;
  for (Index j = 0; j < x.cols(); ++j) {
    const int exponent = exponent_of(parts_of(x.data() + j * x.rows(), x.rows()));
    is_every_moderate &= is_moderate(exponent);
    out.push_back(exponent == kNoExponent ? 0 : exponent);
  }
  if (is_every_moderate) return {};
  for (Index j = 0; j < x.cols(); ++j) {
    auto column = x.col(j);
    scale(column, -out[static_cast<std::size_t>(j)]);
  }
  return out;
}

template <class T>
Outcome qr_each(const ArrayView& q, const ArrayView& r, const ArrayView& x,
                const InterruptCheck& interrupt) {
  Matrix<T> work, orthogonal, triangle;
  Reflections<T> reflections;
  const auto one = [&](const Stack& stack, Progress& progress) -> Outcome {
    load(work, stack[2]);
    if (exponent_of(work) == kNotFinite) {
      store_nan(stack[0], stack[1]);
      return {};
    }
    const std::vector<int> exponents = normalize_columns(work);
    orthogonal.resize(stack[0].shape[0], stack[0].shape[1]);
    if (!reflections.compute(work, progress) || !reflections.form(orthogonal, work, progress))
      return {Ending::kInterrupted};
    store(stack[0], orthogonal);
    triangle.setZero(stack[1].shape[0], stack[1].shape[1]);
    const Index size = std::min(work.rows(), work.cols());
    triangle.topRows(size).template triangularView<Eigen::Upper>() = work.topRows(size);
    for (std::size_t j = 0; j < exponents.size(); ++j) {
      auto column = triangle.col(static_cast<Index>(j));
      scale(column, exponents[j]);
    }
    store(stack[1], triangle);
    return {};
  };
  return each_matrix(std::array{Stacked{q, 2}, Stacked{r, 2}, Stacked{x, 2}}, interrupt, one);
}

}  // namespace

Outcome qr(const ArrayView& q, const ArrayView& r, const ArrayView& x,
           const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) { return qr_each<T>(q, r, x, interrupt); });
}

}  // namespace refarray::core
