// Implements ranks and pseudo-inverses by singular value decompositions.
#include <algorithm>
#include <array>
#include <complex>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/matmul.hpp"
#include "compute/ops/elementwise.hpp"

namespace refarray::core {
namespace {

constexpr DType kFloat64{Kind::kFloat, 64};

/// A new array with the leading axes of the matrices and further ones.
Array new_stack(const DType& dtype, const ArrayView& like,
                std::initializer_list<std::int64_t> axes) {
  Layout shape(like.extents(), like.stride_span());
  shape.ndim -= 2;
  for (const std::int64_t extent : axes) shape.push(extent, 0);
  return new_array(dtype, shape.extents(), /*zeroed=*/false);
}

/// The singular values of the stack's matrices, one row for each, and those that are not zero.
class SingularValues {
 public:
  SingularValues(const Array& s, const ArrayView& rtol) noexcept
      : values_(reinterpret_cast<double*>(s.data)),
        rtol_(reinterpret_cast<const double*>(rtol.data)),
        count_(s.layout.shape[s.layout.ndim - 1]) {}

  const double* row(std::int64_t matrix) const noexcept { return values_ + matrix * count_; }
  /// They descend. NaN counts as zero.
  std::int64_t rank(std::int64_t matrix) const noexcept {
    const double* const s = row(matrix);
    const auto is_nonzero = [&](double value) { return value > rtol_[matrix] * s[0]; };
    return std::count_if(s, s + count_, is_nonzero);
  }

 private:
  const double* values_;
  const double* rtol_;
  std::int64_t count_;
};

/// Divides the columns of U by their singular values, or clears them where those count as zero.
template <class T>
void divide_columns(const Array& u, const SingularValues& s) noexcept {
  const std::int64_t rows = u.layout.shape[u.layout.ndim - 2];
  const std::int64_t columns = u.layout.shape[u.layout.ndim - 1];
  if (columns == 0) return;
  auto* each = reinterpret_cast<T*>(u.data);
  const std::int64_t count = u.view().size() / std::max<std::int64_t>(rows * columns, 1);
  for (std::int64_t matrix = 0; matrix < count; ++matrix) {
    const double* const values = s.row(matrix);
    const std::int64_t rank = s.rank(matrix);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j, ++each) {
        // NaN stays.
        if (j < rank)
          *each /= values[j];
        else
          *each *= 0;
      }
  }
}

/// out = the conjugate transpose of x.
bool store_adjoint(const ArrayView& out, const Array& x, const InterruptCheck& interrupt) {
  const Array transposed = with_layout(x, last_axes_swapped(x), 0);
  const ArrayView input = transposed;
  const auto operation = x.dtype.is_complex() ? Elementwise::kConj : Elementwise::kPositive;
  return run_elementwise(find_kernel(operation, computable_scalar(x.dtype)), out, {&input, 1},
                         interrupt);
}

}  // namespace

Outcome pinv(const ArrayView& out, const ArrayView& x, const ArrayView& rtol,
             const InterruptCheck& interrupt) {
  const std::int64_t m = x.shape[x.ndim - 2], n = x.shape[x.ndim - 1], k = std::min(m, n);
  const Array u = new_stack(x.dtype, x, {m, k}), vh = new_stack(x.dtype, x, {k, n});
  const Array s = new_stack(kFloat64, x, {k});
  if (const Outcome outcome = svd(u, s, vh, x, interrupt); outcome.ending != Ending::kDone)
    return outcome;
  const SingularValues values(s, rtol);
  if (x.dtype.is_complex())
    divide_columns<std::complex<double>>(u, values);
  else
    divide_columns<double>(u, values);
  // The inverse V S^-1 U^H is the adjoint of U S^-1 V^H.
  const Array adjoint = new_stack(x.dtype, x, {m, n});
  const bool is_done = matmul(adjoint, u, vh, interrupt) && store_adjoint(out, adjoint, interrupt);
  return {is_done ? Ending::kDone : Ending::kInterrupted};
}

Outcome matrix_rank(const ArrayView& out, const ArrayView& x, const ArrayView& rtol,
                    const InterruptCheck& interrupt) {
  const std::int64_t k = std::min(x.shape[x.ndim - 2], x.shape[x.ndim - 1]);
  const Array s = new_stack(kFloat64, x, {k});
  if (const Outcome outcome = svdvals(s, x, interrupt); outcome.ending != Ending::kDone)
    return outcome;
  const SingularValues values(s, rtol);
  auto* const ranks = reinterpret_cast<std::int64_t*>(out.data);
  for (std::int64_t matrix = 0; matrix < out.size(); ++matrix) ranks[matrix] = values.rank(matrix);
  return {};
}

}  // namespace refarray::core
