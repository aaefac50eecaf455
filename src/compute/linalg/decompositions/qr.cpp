// Implements QR decompositions: Householder reflections of columns that are scaled first.
#include <vector>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/reflections.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {
namespace {

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
  const auto one = [work = Matrix<T>(), orthogonal = Matrix<T>(), triangle = Matrix<T>(),
                    reflections = Reflections<T>()](const Stack& stack,
                                                    Progress& progress) mutable -> Outcome {
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
