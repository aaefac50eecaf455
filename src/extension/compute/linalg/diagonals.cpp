// diagonal() and trace().
#include <algorithm>

#include "core/error.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/reduction_functions.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kDiagonal{
    "diagonal",
    "x, /, *, offset=0",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return a view of the diagonals of matrices.

x: an array of any dtype with shape (..., M, N).
offset: of the diagonal: 0 for the main one, positive above, negative below.

Returns a view with shape (..., K), of no elements for an offset beyond the matrix.

Raises ValueError for ndim less than 2, TypeError for an argument that is not an
array.)doc",
};

constexpr FunctionRow kTrace{
    "trace",
    "x, /, *, offset=0, dtype=None",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the sums of the diagonals of matrices.

x: an array of a numeric dtype with shape (..., M, N).
offset: of the diagonal: 0 for the main one, positive above, negative below.
dtype: of the result, and in which elements are added; by default as for sum().

Returns a new array with shape (...). Integers wrap around.

Raises ValueError for ndim less than 2, TypeError for other dtypes,
NotImplementedError on a device.)doc",
};

/// A view of the diagonals, as the last axis.
core::Array diagonals(const core::ArrayView& x, PyObject* offset_argument, const char* function) {
  if (x.ndim < 2) {
    core::fail(Fault::kValue, function, "(): x has shape ", core::shape_text(x.extents()),
               "; matrices need 2 axes or more");
  }
  const std::int64_t offset = offset_argument == nullptr ? 0 : to_int64(offset_argument, "offset");
  const int row = x.ndim - 2, column = x.ndim - 1;
  // Of the element that comes first; an offset beyond the matrix stops at its end.
  const std::int64_t i = offset < 0 ? -std::max(offset, -x.shape[row]) : 0;
  const std::int64_t j = offset > 0 ? std::min(offset, x.shape[column]) : 0;
  const std::int64_t count = std::min(x.shape[row] - i, x.shape[column] - j);
  core::Layout out(x.extents(), x.stride_span());
  out.ndim = row;
  // Of an empty array the strides may be any numbers.
  out.push(count, core::wrapped_sum(x.strides[row], x.strides[column]));
  const std::int64_t first = core::wrapped_sum(core::wrapped_product(i, x.strides[row]),
                                               core::wrapped_product(j, x.strides[column]));
  return core::with_layout(x, out, first);
}

Ref diagonal(const State& state, const Given<kDiagonal>& given) {
  const auto [x, offset] = given;
  return make_array(state, diagonals(to_view(state, x, kDiagonal.name), offset, kDiagonal.name));
}

Ref trace(const State& state, const Given<kTrace>& given) {
  const auto [x, offset, dtype] = given;
  const core::ArrayView array = computable_view(state, x, kTrace.name, core::dtype_sets::kNumeric);
  return compute_sum_of_last_axis(state, diagonals(array, offset, kTrace.name), dtype);
}

}  // namespace

PyMethodDef kDiagonalFunctions[] = {
    entry<kDiagonal, &diagonal>(),
    computing_entry<kTrace, &trace>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
