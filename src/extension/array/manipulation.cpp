// The array API's manipulation functions: views with other axes; reshape() copies if no view
// exists.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kReshape{
    "reshape",
    "x, /, shape, *, copy=None",
    Category::kManipulation,
    2021,
    R"doc(Return the elements of x, in row-major order, as an array of another shape.

shape: an integer or a sequence of integers with the same number of elements as
    x. One extent may be -1; it is inferred from the others.
copy: None returns a view if strides can express the new shape, and otherwise a
    new, writable, row-major array. True always copies, False never does. A copy
    is on the device of x, of pinned host memory on the CPU.

Raises ValueError if the numbers of elements differ, NoCopyError if copy=False
and no view exists, and TypeError for arguments of other types.)doc",
};

constexpr FunctionRow kPermuteDims{
    "permute_dims",
    "x, /, axes",
    Category::kManipulation,
    2021,
    R"doc(Return a view whose axis i is axis axes[i] of x.

axes: a sequence that names each axis of x once. Negative axes count from the
    end.

The view shares the memory of x and keeps it alive. Raises ValueError if the
length of axes is not x.ndim or an axis is repeated, IndexError for an axis out
of range, and TypeError for arguments of other types.)doc",
};

constexpr FunctionRow kFlip{
    "flip",
    "x, /, *, axis=None",
    Category::kManipulation,
    2021,
    R"doc(Return a view with the elements in reverse order along the given axes.

axis: an axis, a tuple of axes, or None for all axes.

The view has negative strides along those axes. It shares the memory of x and
keeps it alive. Raises IndexError for an axis out of range, ValueError for a
repeated axis, and TypeError for arguments of other types.)doc",
};

constexpr FunctionRow kBroadcastTo{
    "broadcast_to",
    "x, /, shape",
    Category::kManipulation,
    2021,
    R"doc(Return a read-only view of x, broadcast to a shape.

Axes of extent 1 that are stretched and new leading axes have stride 0. The view
is always read-only, because several indices may refer to one element. It shares
the memory of x and keeps it alive.

Raises ValueError if x cannot be broadcast to shape, OverflowError if the number
of bytes does not fit 63 bits, and TypeError for arguments of other types.)doc",
};

constexpr FunctionRow kSqueeze{
    "squeeze",
    "x, /, axis",
    Category::kManipulation,
    2021,
    R"doc(Return a view of x without the given axes, which must have extent 1.

axis: an axis or a tuple of axes.

The view shares the memory of x and keeps it alive. Raises ValueError for an
axis of another extent or a repeated axis, IndexError for an axis out of range,
and TypeError for arguments of other types.)doc",
};

constexpr FunctionRow kExpandDims{
    "expand_dims",
    "x, /, axis",
    Category::kManipulation,
    2021,
    R"doc(Return a view of x with new axes of extent 1.

axis: the position of the new axis in the result, or a tuple of positions.
    Negative positions count from the end of the result.

The view shares the memory of x and keeps it alive. Raises IndexError for a
position out of range, ValueError for a repeated position or for more than 64
axes, and TypeError for arguments of other types.)doc",
};

constexpr FunctionRow kMoveaxis{
    "moveaxis",
    "x, source, destination, /",
    Category::kManipulation,
    2023,
    R"doc(Return a view of x in which axis source[i] becomes axis destination[i].

source, destination: an axis each, or sequences of equal length. Negative axes
    count from the end. The other axes keep their order.

The view shares the memory of x and keeps it alive. Raises IndexError for an axis
out of range, ValueError for a repeated axis or for sequences of different
lengths, and TypeError for arguments of other types.)doc",
};

constexpr char kReshapeMethodDoc[] = R"doc(reshape($self, /, shape, *, copy=None)
--

Return the elements, in row-major order, as an array of another shape.

One extent may be -1; it is inferred from the others. copy=None returns a view
if strides can express the new shape, and otherwise a new array; True always
copies, False never does.

Raises ValueError if the numbers of elements differ, and NoCopyError if
copy=False and no view exists. See refarray.reshape.)doc";

Ref view_through(const State& state, const core::ArrayView& array, const core::Layout& layout,
                 std::int64_t offset = 0) {
  return make_array(state, core::with_layout(array, layout, offset));
}

/// Distinct axes of an array, each in [0, ndim).
struct Axes {
  int count = 0;
  int at[core::kMaxRank];

  bool contains(int axis) const noexcept { return std::find(at, at + count, axis) != at + count; }
};

/// Normalizes negative axes. Throws kAxis for an axis out of range, kValue for a repeated axis.
Axes to_axes(const Integers& integers, int ndim, const char* what) {
  Axes out;
  for (const std::int64_t entry : integers.span()) {
    const int axis = core::normalize_axis(entry, ndim);
    if (out.contains(axis)) {
      core::fail(Fault::kValue, what, " is ", core::shape_text(integers.span()),
                 ", which has axis ", axis, " of ndim ", ndim, " more than once");
    }
    out.at[out.count++] = axis;
  }
  return out;
}

/// A view whose axis i is axis order[i] of the array.
Ref permuted(const State& state, const core::ArrayView& array, const int* order) {
  core::Layout layout;
  for (int i = 0; i < array.ndim; ++i) layout.push(array.shape[order[i]], array.strides[order[i]]);
  return view_through(state, array, layout);
}

/// The target shape, with an extent of -1 replaced by the inferred one.
Integers infer_shape(const State& state, PyObject* object, std::int64_t size) {
  if (state.modes.strict) require_tuple(object, "shape");
  Integers out = to_integers(state, object, "shape");
  int unknown = -1;
  for (int i = 0; i < out.count; ++i) {
    if (out.values[i] >= 0) continue;
    if (out.values[i] != -1 || unknown >= 0) {
      core::fail(Fault::kValue, "shape is ", core::shape_text(out.span()),
                 "; extents are 0 or more, and at most one may be -1");
    }
    unknown = i;
  }
  if (unknown < 0) return out;
  Integers known = out;
  known.values[unknown] = 1;
  const std::int64_t product = core::checked_size(known.span());
  if (product == 0 || size % product != 0) {
    core::fail(Fault::kValue, "cannot reshape ", size, " elements into ",
               core::shape_text(out.span()), ": no extent can replace -1");
  }
  out.values[unknown] = size / product;
  return out;
}

Ref reshape(const State& state, const core::ArrayView& array, PyObject* to_shape,
            PyObject* copy_argument) {
  const dlpack::Copy copy = to_copy(copy_argument);
  const Integers shape = infer_shape(state, to_shape, array.size());
  const std::optional<core::Layout> layout =
      core::reshape_layout(array.extents(), array.stride_span(), shape.span());
  if (copy != dlpack::Copy::kAlways && layout) return view_through(state, array, *layout);
  if (copy == dlpack::Copy::kNever) {
    core::fail(Fault::kNoCopy, "copy=False, but shape ", core::shape_text(array.extents()),
               " with strides ", core::shape_text(array.stride_span()), " cannot be viewed as ",
               core::shape_text(shape.span()));
  }
  const core::Array fresh =
      copy_to_new(array, array.dtype, default_copy_device(array.device()));  // row-major
  return view_through(state, fresh, core::c_layout(shape.span()));
}

constexpr Signature<2> kReshapeMethod{"reshape", {Key::kShape, Key::kCopy}, 1, 1, 0};

Ref reshape_function(const State& state, const Given<kReshape>& given) {
  const auto [x, shape, copy] = given;
  return reshape(state, to_view(state, x, kReshape.name), shape, copy);
}

Ref reshape_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [shape, copy] = bind(kReshapeMethod, state, args, nargs, kwnames);
  return reshape(state, view_of(self), shape, copy);
}

Ref permute_dims(const State& state, const Given<kPermuteDims>& given) {
  const auto [x, axes_argument] = given;
  const core::ArrayView array = to_view(state, x, kPermuteDims.name);
  // Also of a list in strict namespaces: released libraries pass one.
  const Integers integers = to_integers(axes_argument, "axes");
  if (integers.count != array.ndim) {
    core::fail(Fault::kValue, "axes is ", core::shape_text(integers.span()), ", which has ",
               integers.count, " entries; ndim is ", array.ndim);
  }
  return permuted(state, array, to_axes(integers, array.ndim, "axes").at);
}

Ref flip(const State& state, const Given<kFlip>& given) {
  const auto [x, axis] = given;
  const core::ArrayView array = to_view(state, x, kFlip.name);
  const bool all = !is_given(axis);
  const Axes axes = all ? Axes{} : to_axes(to_integers(state, axis, "axis"), array.ndim, "axis");
  core::Layout layout(array.extents(), array.stride_span());
  // The strides of an empty array, and of axes of extent 1, are arbitrary: arithmetic on them could
  // overflow.
  if (array.size() == 0) return view_through(state, array, layout);
  std::int64_t offset = 0;
  for (int i = 0; i < array.ndim; ++i) {
    if (layout.shape[i] == 1 || (!all && !axes.contains(i))) continue;
    offset += (layout.shape[i] - 1) * layout.strides[i];
    layout.strides[i] = -layout.strides[i];
  }
  return view_through(state, array, layout, offset);
}

Ref broadcast_to(const State& state, const Given<kBroadcastTo>& given) {
  const auto [x, shape_argument] = given;
  const core::ArrayView array = to_view(state, x, kBroadcastTo.name);
  const Integers shape = to_shape(shape_argument);
  // Consumers compute the number of bytes from the shape, so that it must fit int64 even though a
  // broadcast array occupies fewer.
  core::checked_nbytes(core::checked_size(shape.span()), array.dtype);
  core::Array out = core::with_layout(
      array, core::broadcast_layout(array.extents(), array.stride_span(), shape.span()), 0);
  out.readonly = true;  // several indices may share one element: writing one would write all
  return make_array(state, std::move(out));
}

Ref squeeze(const State& state, const Given<kSqueeze>& given) {
  const auto [x, axis] = given;
  const core::ArrayView array = to_view(state, x, kSqueeze.name);
  const Axes axes = to_axes(to_integers(state, axis, "axis"), array.ndim, "axis");
  core::Layout layout;
  for (int i = 0; i < array.ndim; ++i) {
    if (!axes.contains(i)) {
      layout.push(array.shape[i], array.strides[i]);
    } else if (array.shape[i] != 1) {
      core::fail(Fault::kValue, "axis ", i, " of shape ", core::shape_text(array.extents()),
                 " has extent ", array.shape[i], "; only axes of extent 1 can be squeezed");
    }
  }
  return view_through(state, array, layout);
}

Ref expand_dims(const State& state, const Given<kExpandDims>& given) {
  const auto [x, axis] = given;
  const core::ArrayView array = to_view(state, x, kExpandDims.name);
  const Integers integers = to_integers(state, axis, "axis");
  const int ndim = array.ndim + integers.count;
  if (ndim > core::kMaxRank) {
    core::fail(Fault::kValue, "the result would have ndim ", ndim, "; the limit is ",
               core::kMaxRank);
  }
  const Axes axes = to_axes(integers, ndim, "axis");
  core::Layout layout;
  for (int i = 0, from = 0; i < ndim; ++i) {
    if (axes.contains(i)) {
      layout.push(1, 1);
    } else {
      layout.push(array.shape[from], array.strides[from]);
      ++from;
    }
  }
  return view_through(state, array, layout);
}

Ref moveaxis(const State& state, const Given<kMoveaxis>& given) {
  const auto [x, source, destination] = given;
  const core::ArrayView array = to_view(state, x, kMoveaxis.name);
  const Axes from = to_axes(to_integers(state, source, "source"), array.ndim, "source");
  const Axes to =
      to_axes(to_integers(state, destination, "destination"), array.ndim, "destination");
  if (from.count != to.count) {
    core::fail(Fault::kValue, "source has ", from.count, " axes, destination has ", to.count,
               "; the numbers must be equal");
  }
  int order[core::kMaxRank];
  std::fill_n(order, array.ndim, -1);
  for (int i = 0; i < from.count; ++i) order[to.at[i]] = from.at[i];
  int next = 0;  // the other axes fill the free places in order
  for (int i = 0; i < array.ndim; ++i) {
    if (order[i] >= 0) continue;
    while (from.contains(next)) ++next;
    order[i] = next++;
  }
  return permuted(state, array, order);
}

}  // namespace

PyMethodDef kManipulationFunctions[] = {
    entry<kReshape, &reshape_function>(),
    entry<kPermuteDims, &permute_dims>(),
    entry<kFlip, &flip>(),
    entry<kBroadcastTo, &broadcast_to>(),
    entry<kSqueeze, &squeeze>(),
    entry<kExpandDims, &expand_dims>(),
    entry<kMoveaxis, &moveaxis>(),
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kManipulationMethods[] = {
    {"reshape", method<&reshape_method>(), METH_FASTCALL | METH_KEYWORDS, kReshapeMethodDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
