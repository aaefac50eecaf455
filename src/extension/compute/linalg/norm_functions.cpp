// vector_norm() and matrix_norm().
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/norms.hpp"
#include "core/error.hpp"
#include "extension/compute/linalg/matrix_arguments.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/reduction_functions.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::InterruptCheck;

constexpr FunctionRow kMatrixNorm{
    "matrix_norm",
    "x, /, *, keepdims=False, ord='fro'",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the norms of matrices.

x: an array of a floating-point dtype with shape (..., M, N).
keepdims: whether the last two axes stay, with extent 1.
ord: "fro" or None: the root of the sum of squares. "nuc": the sum of the singular
    values; 2, -2: the greatest and the least one. 1, -1: the greatest and the least
    sum of magnitudes in a column; inf, -inf: in a row.

Returns a new array of the real dtype of the precision of x with shape (...). Only the
result itself overflows. Of an empty matrix it is 0.

Raises ValueError for another ord and ndim less than 2, TypeError for other dtypes,
NotImplementedError on a device.)doc",
};

constexpr FunctionRow kVectorNorm{
    "vector_norm",
    "x, /, *, axis=None, keepdims=False, ord=2",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the norms of vectors: (sum of |x| ** ord) ** (1 / ord).

x: an array of a floating-point dtype.
axis: an axis, or several whose elements are one vector. None: all axes.
keepdims: whether the reduced axes stay, with extent 1.
ord: a number. inf: the greatest magnitude; -inf: the least one; 0: the number of
    elements that are not zero.

Returns a new array of the real dtype of the precision of x. Only the result itself
overflows. Without elements it is 0.

Raises ValueError for NaN and repeated axes, IndexError for an axis out of range,
TypeError for other dtypes, NotImplementedError on a device.)doc",
};

constexpr core::DType kFloat64{core::Kind::kFloat, 64};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has_bit(std::uint64_t bits, int axis) noexcept { return (bits >> axis & 1) != 0; }

/// The elements in the dtype in which norms are computed, as a row for each vector.
core::Array rows_of(const core::ArrayView& x, std::uint64_t axes) {
  core::Layout moved;
  std::int64_t shape[] = {1, 1};
  for (const bool is_reduced : {false, true}) {
    for (int axis = 0; axis < x.ndim; ++axis) {
      if (has_bit(axes, axis) != is_reduced) continue;
      moved.push(x.shape[axis], x.strides[axis]);
      shape[is_reduced ? 1 : 0] *= x.shape[axis];
    }
  }
  const core::Layout rows = core::c_layout(shape);
  const bool is_contiguous = core::is_c_contiguous(moved.extents(), moved.stride_span());
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(x.data) % alignof(double) == 0;
  if (is_contiguous && is_aligned && x.dtype == decomposed_dtype(x.dtype))
    return core::with_layout(x, rows, 0);
  const core::Array copy = working_copy(core::with_layout(x, moved, 0), decomposed_dtype(x.dtype));
  return core::with_layout(copy, rows, 0);
}

/// The norms over some axes, a float64 array in which these are missing or have extent 1.
core::Array norms(const core::ArrayView& x, std::uint64_t axes, double order, bool keepdims) {
  core::Layout shape;
  for (int axis = 0; axis < x.ndim; ++axis) {
    const bool is_reduced = has_bit(axes, axis);
    if (!is_reduced || keepdims) shape.push(is_reduced ? 1 : x.shape[axis], 0);
  }
  core::Array out = core::new_array(kFloat64, shape.extents(), /*zeroed=*/false);
  const core::Array rows = rows_of(x, axes);
  const core::Layout flat = core::c_layout(std::array{out.view().size()});
  run_interruptibly(x.nbytes(), [&](const InterruptCheck& interrupt) {
    return core::vector_norms(core::with_layout(out, flat, 0), rows, order, interrupt);
  });
  return out;
}

Ref vector_norm(const State& state, const Given<kVectorNorm>& given) {
  const auto [argument, axis, keepdims, ord] = given;
  const core::ArrayView x =
      computable_view(state, argument, kVectorNorm.name, core::dtype_sets::kFloating);
  const std::uint64_t axes = to_axis_bits(state, axis, x.ndim, /*takes_one=*/false);
  const bool keeps = to_flag(keepdims, kVectorNorm.name, "keepdims");
  const double order = ord == nullptr ? 2 : to_real(state, ord, kVectorNorm.name, "ord");
  core::Array out = norms(x, axes, order, keeps);
  return make_array(state, finished(out, real_dtype(x.dtype)));
}

// --- matrix_norm

enum class MatrixNorm { kFrobenius, kSumOfColumn, kSumOfRow, kSingularValues };

/// What is computed, and the order of the vector norm that makes one number of the results.
struct MatrixOrder {
  MatrixNorm norm;
  double order;
};

[[noreturn, gnu::cold]] void fail_order(const std::string& ord) {
  core::fail(Fault::kValue, "matrix_norm(): ord is ", ord,
             "; it must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf");
}

MatrixOrder to_matrix_order(const State& state, PyObject* ord) {
  if (!is_given(ord)) return {MatrixNorm::kFrobenius, 2};
  if (PyUnicode_Check(ord)) {
    const std::string text = utf8(ord);
    if (text == "fro") return {MatrixNorm::kFrobenius, 2};
    if (text == "nuc") return {MatrixNorm::kSingularValues, 1};
    fail_order(short_repr(ord));
  }
  const double order = to_real(state, ord, kMatrixNorm.name, "ord");
  const double extreme = order > 0 ? kInfinity : -kInfinity;
  if (std::fabs(order) == 1) return {MatrixNorm::kSumOfColumn, extreme};
  if (std::fabs(order) == 2) return {MatrixNorm::kSingularValues, extreme};
  if (std::isinf(order)) return {MatrixNorm::kSumOfRow, extreme};
  fail_order(number_text(order));
}

/// The norms of the matrices without their last two axes.
core::Array matrix_norms(const Matrices& x, const MatrixOrder& order) {
  const int last = x.view().ndim - 1;
  const std::uint64_t columns = std::uint64_t{1} << last, rows = columns >> 1;
  const auto over_axes = [&](const core::ArrayView& of, std::uint64_t axes, double each) {
    return norms(of, axes, each, /*keepdims=*/false);
  };
  if (order.norm == MatrixNorm::kFrobenius) return over_axes(x.view(), rows | columns, order.order);
  if (order.norm == MatrixNorm::kSingularValues) {
    const core::Array s = x.new_result(kFloat64, {std::min(x.rows(), x.columns())});
    run_decomposition(
        x, [&](const InterruptCheck& interrupt) { return core::svdvals(s, x.view(), interrupt); });
    return over_axes(s, rows, order.order);
  }
  const bool sums_columns = order.norm == MatrixNorm::kSumOfColumn;
  const core::Array sums = over_axes(x.view(), sums_columns ? rows : columns, 1);
  return over_axes(sums, rows, order.order);
}

Ref matrix_norm(const State& state, const Given<kMatrixNorm>& given) {
  const auto [argument, keepdims, ord] = given;
  const MatrixOrder order = to_matrix_order(state, ord);
  const bool keeps = to_flag(keepdims, kMatrixNorm.name, "keepdims");
  const Matrices x(state, argument, kMatrixNorm.name, /*square=*/false);
  core::Array out = matrix_norms(x, order);
  finished(out, real_dtype(x.dtype()));
  for (int i = 0; keeps && i < 2; ++i) out.layout.push(1, 0);
  return make_array(state, std::move(out));
}

}  // namespace

PyMethodDef kNormFunctions[] = {
    computing_entry<kMatrixNorm, &matrix_norm>(),
    computing_entry<kVectorNorm, &vector_norm>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
