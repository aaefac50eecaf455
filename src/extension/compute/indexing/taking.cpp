// take(), take_along_axis() and nonzero().
#include "extension/compute/indexing/taking.hpp"

#include <utility>
#include <vector>

#include "compute/indexing/index_arrays.hpp"
#include "compute/indexing/mask.hpp"
#include "compute/ops/elementwise.hpp"
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/compute/tuples.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kTake{
    "take",
    "x, indices, /, *, axis=None",
    Category::kIndexing,
    2022,
    R"doc(Return the elements of x at indices along an axis, as a new array.

indices: an array of ndim 1 and of any integer dtype. Negative indices count from
    the end.
axis: may be None if x has ndim 1.

The result has the shape of x, but as many elements along axis as there are
indices. Raises IndexError for an index or axis out of range, ValueError for
other shapes, TypeError for other dtypes, and NotImplementedError on a device.)doc",
};

constexpr FunctionRow kTakeAlongAxis{
    "take_along_axis",
    "x, indices, /, *, axis=-1",
    Category::kIndexing,
    2024,
    R"doc(Return the elements of x at indices that differ from row to row along an axis.

indices: an array of any integer dtype with as many axes as x. But for axis, the
    shapes of both broadcast. Negative indices count from the end.

The element at (i, j, ..., k) is x[i, j, ..., indices[i, j, ..., k]] for the last
axis. Raises IndexError for an index or axis out of range, ValueError if the
shapes do not fit, TypeError for other dtypes, and NotImplementedError on a
device.)doc",
};

constexpr FunctionRow kNonzero{
    "nonzero",
    "x, /",
    Category::kSearching,
    2021,
    R"doc(Return the indices of the elements that are not zero, in row-major order.

The result is a tuple with one int64 array of ndim 1 for each axis. NaN is not
zero; a complex number is zero if both of its parts are. Raises ValueError for
ndim 0, TypeError for arguments of other types, and NotImplementedError on a
device.)doc",
};

/// An argument of any dtype in memory that the CPU can read.
core::ArrayView readable_view(const State& state, PyObject* x, const char* function) {
  const core::ArrayView out = to_view(state, x, function);
  require_computable_memory(out, function);
  return out;
}

core::ArrayView to_indices(const State& state, PyObject* indices, const char* function) {
  const core::ArrayView out = readable_view(state, indices, function);
  core::check_index_dtype(out.dtype, "indices");
  return out;
}

Ref take(const State& state, const Given<kTake>& given) {
  const auto [x, indices_argument, axis_argument] = given;
  const core::ArrayView array = readable_view(state, x, kTake.name);
  const core::ArrayView indices = to_indices(state, indices_argument, kTake.name);
  if (indices.ndim != 1)
    core::fail(Fault::kValue, "take(): indices has ndim ", indices.ndim, "; it must be 1");
  if (!is_given(axis_argument) && array.ndim != 1) {
    core::fail(Fault::kValue, "take(): x has ndim ", array.ndim,
               "; axis may be left out for ndim 1 only");
  }
  const std::int64_t axis = is_given(axis_argument) ? to_int64(axis_argument, "axis") : 0;
  core::note_attempt(core::Entry::kCopy, -1);
  core::Array out = take_along(array, indices, core::normalize_axis(axis, array.ndim), kTake.name);
  core::note(core::Entry::kCopy, out.view().nbytes());
  return make_array(state, std::move(out));
}

/// The shape to which both arrays broadcast, but for one axis.
core::Layout shape_beside(core::Extents a, core::Extents b, int axis) {
  core::Layout shapes[2];
  for (int i = 0; i < 2; ++i) {
    for (const std::int64_t extent : i == 0 ? a : b) shapes[i].push(extent, 0);
    shapes[i].shape[axis] = 1;
  }
  return core::broadcast_shapes(shapes[0].extents(), shapes[1].extents());
}

Ref take_along_axis(const State& state, const Given<kTakeAlongAxis>& given) {
  const auto [x, indices_argument, axis_argument] = given;
  const core::ArrayView array = readable_view(state, x, kTakeAlongAxis.name);
  const core::ArrayView indices = to_indices(state, indices_argument, kTakeAlongAxis.name);
  core::check_byte_sized(array.dtype, "take_along_axis()");
  if (indices.ndim != array.ndim) {
    core::fail(Fault::kValue, "take_along_axis(): x has ndim ", array.ndim, ", indices has ndim ",
               indices.ndim, "; they must be equal");
  }
  const int axis = core::normalize_axis(
      axis_argument == nullptr ? -1 : to_int64(axis_argument, "axis"), array.ndim);
  core::Layout shape = shape_beside(array.extents(), indices.extents(), axis);
  shape.shape[axis] = array.shape[axis];
  const core::Array from = core::with_layout(
      array, core::broadcast_layout(array.extents(), array.stride_span(), shape.extents()), 0);
  shape.shape[axis] = indices.shape[axis];
  core::note(core::Entry::kCopy, core::nbytes_of(core::size_of(shape.extents()), array.dtype));
  const core::Array places = core::with_layout(
      indices, core::broadcast_layout(indices.extents(), indices.stride_span(), shape.extents()),
      0);
  core::Array out = core::new_array(array.dtype, shape.extents(), /*zeroed=*/false);
  run_interruptibly(out.view().nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::gather_along_axis(out, from, places, axis, interrupt);
  });
  return make_array(state, std::move(out));
}

Ref nonzero(const State& state, PyObject* x) {
  refuse_counting(state, "nonzero");
  const core::ArrayView array = readable_view(state, x, "nonzero");
  if (array.ndim == 0)
    core::fail(Fault::kValue, "nonzero(): x has ndim 0; it must have at least one axis");
  std::vector<core::Array> found;
  run_interruptibly(array.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::nonzero(found, array, interrupt);
  });
  std::vector<Ref> out;
  for (core::Array& indices : found) out.push_back(make_array(state, std::move(indices)));
  return make_tuple(std::move(out));
}

}  // namespace

core::Array take_along(const core::ArrayView& array, const core::ArrayView& indices, int axis,
                       const char* function) {
  core::check_byte_sized(array.dtype, function);
  core::Layout base, shape;
  for (int i = 0; i < array.ndim; ++i) {
    shape.push(i == axis ? indices.shape[0] : array.shape[i], 0);
    if (i != axis) base.push(array.shape[i], array.strides[i]);
  }
  core::Array out = core::new_array(array.dtype, shape.extents(), /*zeroed=*/false);
  const core::AxisIndex index{indices, axis, array.shape[axis], array.strides[axis]};
  const core::Array parts = core::with_layout(array, base, 0);
  run_interruptibly(out.view().nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::gather_along(out, parts, index, axis, interrupt);
  });
  return out;
}

PyMethodDef kTakingFunctions[] = {
    computing_entry<kTake, &take>(),
    computing_entry<kTakeAlongAxis, &take_along_axis>(),
    computing_entry<kNonzero, &nonzero>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
