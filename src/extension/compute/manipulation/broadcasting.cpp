// broadcast_arrays(), broadcast_shapes() and meshgrid().
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compute/ops/elementwise.hpp"
#include "core/error.hpp"
#include "extension/compute/tables.hpp"
#include "extension/compute/tuples.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kBroadcastArrays{
    "broadcast_arrays",
    "*arrays",
    Category::kManipulation,
    2021,
    R"doc(Broadcast arrays against each other: a tuple of views of one shape.

A view that repeats elements is read-only. Raises ValueError if the shapes do not
broadcast, TypeError for arguments of other types.)doc",
};

constexpr FunctionRow kBroadcastShapes{
    "broadcast_shapes",
    "*shapes",
    Category::kManipulation,
    2025,
    R"doc(Return the shape to which shapes broadcast; () for none.

Raises ValueError if they do not broadcast, TypeError for arguments of other types.)doc",
};

constexpr FunctionRow kMeshgrid{
    "meshgrid",
    "*arrays, indexing='xy'",
    Category::kCreation,
    2021,
    R"doc(Return the coordinates of a grid from the coordinates along its axes.

arrays: one array of ndim 1 (or 0, for a single coordinate) for each axis.
indexing: 'ij' makes axis i that of arrays[i]; 'xy' swaps the first two axes.

Returns a tuple of new arrays, each of the grid's shape and of the dtype and on
the device of its argument. Raises ValueError for other shapes and another
indexing, TypeError for arguments of other types.)doc",
};

Ref broadcast_shapes(const State& state, PyObject* const* args, Py_ssize_t nargs) {
  core::Layout out({}, {});
  for_each_index(nargs, [&](std::int64_t i) {
    constexpr Key kShape[] = {Key::kShape};
    if (state.modes.strict)
      require_standard_arguments(state, "broadcast_shapes", kShape, {args + i, 1});
    out = core::broadcast_shapes(out.extents(), to_shape(args[i]).span());
  });
  return make_int_tuple(out.extents());
}

Ref broadcast_arrays(const State& state, PyObject* const* args, Py_ssize_t nargs) {
  core::Layout shape({}, {});
  for_each_index(nargs, [&](std::int64_t i) {
    shape = core::broadcast_shapes(shape.extents(),
                                   to_view(state, args[i], "broadcast_arrays").extents());
  });
  std::vector<Ref> out;
  for_each_index(nargs, [&](std::int64_t i) {
    const core::ArrayView array = view_of(args[i]);
    core::checked_nbytes(core::checked_size(shape.extents()), array.dtype);
    core::Array view = core::with_layout(
        array, core::broadcast_layout(array.extents(), array.stride_span(), shape.extents()), 0);
    // Where nothing is repeated each element has its own memory, and may be written.
    if (view.view().size() != array.size()) view.readonly = true;
    out.push_back(make_array(state, std::move(view)));
  });
  return make_tuple(std::move(out));
}

/// Whether the keyword indexing of meshgrid() is "ij".
bool is_matrix_order(const State& state, PyObject* const* args, Py_ssize_t nargs,
                     PyObject* kwnames) {
  const auto [indexing] = bind<kMeshgrid>(state, args + nargs, 0, kwnames);
  if (indexing == nullptr) return false;
  if (!PyUnicode_Check(indexing))
    core::fail(Fault::kType, "indexing must be 'xy' or 'ij', not ", type_name(indexing));
  const std::string text = utf8(indexing);
  if (text != "xy" && text != "ij")
    core::fail(Fault::kValue, "indexing is ", short_repr(indexing), "; it must be 'xy' or 'ij'");
  return text == "ij";
}

Ref meshgrid(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const bool swaps = !is_matrix_order(state, args, nargs, kwnames) && nargs >= 2;
  if (nargs > core::kMaxRank)
    core::fail(Fault::kValue, "meshgrid() got ", nargs, " arrays; the limit is ", core::kMaxRank);
  const auto axis_of = [swaps](Py_ssize_t i) { return swaps && i < 2 ? 1 - i : i; };
  core::Layout shape;
  shape.ndim = static_cast<int>(nargs);
  for (Py_ssize_t i = 0; i < nargs; ++i) {
    const core::ArrayView array = to_view(state, args[i], "meshgrid");
    if (array.ndim > 1) {
      core::fail(Fault::kValue, "meshgrid(): argument ", i, " has ndim ", array.ndim,
                 "; it must be 1");
    }
    if (state.modes.strict && array.dtype != view_of(args[0]).dtype) {
      core::fail(Fault::kType, "meshgrid(): argument ", i, " is ", core::name(array.dtype),
                 ", argument 0 ", core::name(view_of(args[0]).dtype),
                 "; in a strict namespace the dtypes must be equal");
    }
    shape.shape[axis_of(i)] = array.size();
  }
  std::vector<Ref> out;
  for (Py_ssize_t i = 0; i < nargs; ++i) {
    const core::ArrayView array = view_of(args[i]);
    core::Layout layout;
    for (int axis = 0; axis < shape.ndim; ++axis) {
      const bool own = axis == axis_of(i) && array.ndim == 1;
      layout.push(shape.shape[axis], own ? array.strides[0] : 0);
    }
    core::checked_nbytes(core::checked_size(layout.extents()), array.dtype);
    out.push_back(make_array(state, copy_to_new(core::with_layout(array, layout, 0), array.dtype,
                                                default_copy_device(array.device()))));
  }
  return make_tuple(std::move(out));
}

}  // namespace

PyMethodDef kBroadcastingFunctions[] = {
    entry<kBroadcastArrays, &broadcast_arrays>(),
    entry<kBroadcastShapes, &broadcast_shapes>(),
    entry<kMeshgrid, &meshgrid>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
