// matmul() and the operators @ and @=, matrix_transpose(), tensordot() and vecdot().
#include "extension/compute/linalg/product_functions.hpp"

#include <algorithm>
#include <utility>

#include "compute/linalg/matmul.hpp"
#include "compute/ops/elementwise.hpp"
#include "core/error.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/linalg/matrix_arguments.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/modes/poisoned_views.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kMatmul{
    "matmul",
    "x1, x2, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the product of two matrices, of stacks of them, or of vectors.

x1: an array of a numeric dtype with shape (..., M, K) or (K,).
x2: an array of a numeric dtype with shape (..., K, N) or (K,).

Returns a new array of the promoted dtype with shape (..., M, N): the leading axes
broadcast; M is missing if x1 has ndim 1, and N if x2 has. Integers wrap around.
Floats are added in the order of K, in slices of 256 elements, with fused
multiply-adds; float16 and bfloat16 are added in float32. K == 0 gives zeros.

Raises ValueError for ndim 0 and for shapes that do not fit, TypeError for other
dtypes and where the promotion is undefined, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kMatrixTranspose{
    "matrix_transpose",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return a view of x with the last two axes swapped.

The same as x.mT. Raises ValueError if ndim is less than 2, TypeError for an
argument that is not an array.)doc",
};

constexpr FunctionRow kTensordot{
    "tensordot",
    "x1, x2, /, *, axes=2",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the sums of products of two arrays over several axes.

axes: the number N of axes, the last ones of x1 and the first ones of x2, in their
    order; or a pair of sequences with the axes of x1 and those of x2. 0 gives the
    outer product.

Returns a new array of the promoted dtype: its shape is that of x1 without its
axes, then that of x2 without its own. Products are added as in matmul().

Raises ValueError if the extents differ, an axis is repeated or there are too many,
IndexError for an axis out of range, TypeError for other dtypes and where the
promotion is undefined, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kVecdot{
    "vecdot",
    "x1, x2, /, *, axis=-1",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the sums of conj(x1) * x2 along an axis.

axis: counted from the end, so that it means the same axis of both arrays:
    -min(x1.ndim, x2.ndim) to -1. The extents along it must be equal, the other
    axes broadcast.

Returns a new array of the promoted dtype without the axis. Integers wrap around;
floats are added as in sum().

Raises ValueError for shapes that do not fit and ndim 0, IndexError for an axis out
of range, TypeError for other dtypes and where the promotion is undefined,
NotImplementedError on a device.)doc",
};

// --- matmul

/// An operand as matrices: a vector as one row, or as one column.
core::Layout matrices(const core::ArrayView& x, bool is_first) {
  core::Layout out(x.extents(), x.stride_span());
  if (x.ndim > 1) return out;
  out.push(1, 0);
  if (is_first) {
    std::swap(out.shape[0], out.shape[1]);
    std::swap(out.strides[0], out.strides[1]);
  }
  return out;
}

/// The shape of the result as matrices.
core::Layout product_shape(const Factors& factors) {
  const core::Layout left = matrices(factors.x1(), true), right = matrices(factors.x2(), false);
  const std::int64_t columns = left.shape[left.ndim - 1];
  const std::int64_t rows = right.shape[right.ndim - 2];
  if (columns != rows) {
    factors.fail_shapes(
        core::text("rows of ", columns, " and columns of ", rows, " elements have no product"));
  }
  core::Layout out = factors.broadcast(leading(left), leading(right));
  out.push(left.shape[left.ndim - 2], 0);
  out.push(right.shape[right.ndim - 1], 0);
  return out;
}

/// An operand as matrices.
[[gnu::noinline]] core::Array as_matrices(const core::ArrayView& x, bool is_left) {
  return core::with_layout(x, matrices(x, is_left), 0);
}

[[gnu::noinline]] void multiply(const core::ArrayView& out, const Factors& factors) {
  const core::Array left = as_matrices(factors.x1(), true);
  const core::Array right = as_matrices(factors.x2(), false);
  const std::int64_t depth = left.layout.shape[left.layout.ndim - 1];
  run_interruptibly(bytes_like(out.size(), depth), [&](const core::InterruptCheck& interrupt) {
    return core::matmul(out, left, right, interrupt);
  });
}

/// Memory for the product, as matrices.
[[gnu::noinline]] core::Array new_product(const Factors& factors) {
  return core::new_array(factors.computed(), product_shape(factors).extents(), /*zeroed=*/false);
}

/// Without the axes that a vector has not.
[[gnu::noinline]] void drop_axes(core::Layout& layout, const Factors& factors) {
  core::Layout kept;
  for (int axis = 0; axis < layout.ndim; ++axis) {
    const bool is_missing = (axis == layout.ndim - 2 && factors.x1().ndim == 1) ||
                            (axis == layout.ndim - 1 && factors.x2().ndim == 1);
    if (!is_missing) kept.push(layout.shape[axis], layout.strides[axis]);
  }
  layout = kept;
}

core::Array product(const State& state, PyObject* first, PyObject* second) {
  Factors factors(state, first, second, kMatmul.name);
  for (const int i : {0, 1}) {
    if ((i == 0 ? factors.x1() : factors.x2()).ndim == 0)
      core::fail(Fault::kValue, "matmul(): x", i + 1, " has ndim 0; it must be 1 or more");
  }
  core::Array out = new_product(factors);
  factors.convert();
  multiply(out, factors);
  drop_axes(out.layout, factors);
  factors.finished(out);
  return out;
}

}  // namespace

Ref compute_matmul(const State& state, PyObject* x1, PyObject* x2) {
  return make_array(state, product(state, x1, x2));
}

Ref compute_matmul_in_place(const State& state, PyObject* x1, PyObject* x2) {
  const core::ArrayView out = view_of(x1);
  if (!out.writable()) core::fail(Fault::kValue, "matmul() in place: the array is read-only");
  const core::Array result = product(state, x1, x2);
  if (result.dtype != out.dtype) {
    core::fail(Fault::kType, "matmul() in place: the result would be ", core::name(result.dtype),
               ", which an array of ", core::name(out.dtype), " cannot hold");
  }
  if (!std::ranges::equal(result.layout.extents(), out.extents())) {
    core::fail(Fault::kValue, "matmul() in place: the result has shape ",
               core::shape_text(result.layout.extents()), ", the array ",
               core::shape_text(out.extents()));
  }
  refuse_other_owners(state, {x1, out, x2}, "@ in place");
  move_elements(out, result);
  return Ref::borrow(x1);
}

// --- The functions.

namespace {

Ref matmul(const State& state, const Given<kMatmul>& given) {
  const auto [x1, x2] = given;
  return compute_matmul(state, x1, x2);
}

Ref matrix_transpose(const State& state, const Given<kMatrixTranspose>& given) {
  const auto [x] = given;
  const core::ArrayView array = to_view(state, x, kMatrixTranspose.name);
  if (array.ndim < 2)
    core::fail(Fault::kValue, "matrix_transpose(): ndim is ", array.ndim, "; it must be 2 or more");
  return make_array(state, core::with_layout(array, core::last_axes_swapped(array), 0));
}

// --- vecdot

/// The operand with the axis, counted from the end, as the last one.
core::Layout with_axis_last(const core::ArrayView& x, int axis) {
  core::Layout out;
  for (int i = 0; i < x.ndim; ++i)
    if (i != x.ndim + axis) out.push(x.shape[i], x.strides[i]);
  out.push(x.shape[x.ndim + axis], x.strides[x.ndim + axis]);
  return out;
}

/// The shape of the result: that to which the other axes broadcast.
[[gnu::noinline]] core::Layout vecdot_shape(const Factors& factors, int axis) {
  const core::Layout a = with_axis_last(factors.x1(), axis), b = with_axis_last(factors.x2(), axis);
  const std::int64_t extents[] = {a.shape[a.ndim - 1], b.shape[b.ndim - 1]};
  if (extents[0] != extents[1]) {
    factors.fail_shapes(core::text("along axis ", axis, " the extents are ", extents[0], " and ",
                                   extents[1], "; they must be equal"));
  }
  const auto others = [](const core::Layout& layout) {
    return layout.extents().first(static_cast<std::size_t>(layout.ndim - 1));
  };
  return factors.broadcast(others(a), others(b));
}

/// The operand broadcast to `shape`, in which the vectors are the last axis.
[[gnu::noinline]] core::Array vectors(const core::ArrayView& x, int axis,
                                      const core::Layout& shape) {
  const core::Layout moved = with_axis_last(x, axis);
  return core::with_layout(
      x, core::broadcast_layout(moved.extents(), moved.stride_span(), shape.extents()), 0);
}

/// The result with one more axis, of the extent 1.
[[gnu::noinline]] core::Array with_unit_axis(const core::ArrayView& out) {
  core::Layout layout(out.extents(), out.stride_span());
  layout.push(1, 0);
  return core::with_layout(out, layout, 0);
}

/// `shape`: with the axis of the vectors as the last one.
[[gnu::noinline]] void compute_vecdot(const core::ArrayView& out, const Factors& factors, int axis,
                                      const core::Layout& shape) {
  const core::Array a = vectors(factors.x1(), axis, shape), b = vectors(factors.x2(), axis, shape);
  const core::Array to = with_unit_axis(out);
  run_interruptibly(a.view().size(), [&](const core::InterruptCheck& interrupt) {
    return core::vecdot(to, a, b, interrupt);
  });
}

Ref vecdot(const State& state, const Given<kVecdot>& given) {
  const auto [x1, x2, axis_argument] = given;
  Factors factors(state, x1, x2, kVecdot.name);
  const int axis = factors.common_axis(axis_argument);
  core::Layout shape = vecdot_shape(factors, axis);
  core::Array out = core::new_array(factors.computed(), shape.extents(), /*zeroed=*/false);
  shape.push(factors.x1().shape[factors.x1().ndim + axis], 0);
  core::checked_nbytes(core::checked_size(shape.extents()), factors.computed());
  factors.convert();
  compute_vecdot(out, factors, axis, shape);
  return make_array(state, factors.finished(out));
}

// --- tensordot

/// The axes of both operands over which a tensordot sums.
struct Axes {
  Integers of[2];
};

void check_axes(Integers& axes, const core::ArrayView& x, int which) {
  std::uint64_t seen = 0;
  for (int i = 0; i < axes.count; ++i) {
    const int axis = core::normalize_axis(axes.values[i], x.ndim);
    axes.values[i] = axis;
    if ((seen >> axis & 1) != 0) {
      core::fail(Fault::kValue, "tensordot(): axes has axis ", axis, " of x", which,
                 " more than once");
    }
    seen |= std::uint64_t{1} << axis;
  }
}

/// The last `count` axes of x1 and the first ones of x2.
Axes adjacent_axes(std::int64_t count, const core::ArrayView& x1, const core::ArrayView& x2) {
  if (count < 0 || count > std::min(x1.ndim, x2.ndim)) {
    core::fail(Fault::kValue, "tensordot(): axes is ", count, "; for ndim ", x1.ndim, " and ",
               x2.ndim, " it must be 0 to ", std::min(x1.ndim, x2.ndim));
  }
  Axes out;
  out.of[0].count = out.of[1].count = static_cast<int>(count);
  for (int i = 0; i < count; ++i) {
    out.of[0].values[i] = x1.ndim - count + i;
    out.of[1].values[i] = i;
  }
  return out;
}

[[gnu::noinline]] Axes to_axes(PyObject* argument, const core::ArrayView& x1,
                               const core::ArrayView& x2) {
  if (argument == nullptr) return adjacent_axes(2, x1, x2);
  if (PyIndex_Check(argument)) return adjacent_axes(to_int64(argument, "axes"), x1, x2);
  if (!PyTuple_Check(argument) && !PyList_Check(argument)) {
    core::fail(Fault::kType, "tensordot(): axes must be an integer or a pair of sequences, not ",
               type_name(argument));
  }
  const Ref pair = check(calling<PySequence_Tuple>(argument));  // nobody can shorten the tuple
  if (PyTuple_Size(pair.get()) != 2) {
    core::fail(Fault::kValue, "tensordot(): axes has ", PyTuple_Size(pair.get()),
               " elements; it must be a pair of sequences");
  }
  Axes out{{to_integers(PyTuple_GetItem(pair.get(), 0), "axes[0]"),
            to_integers(PyTuple_GetItem(pair.get(), 1), "axes[1]")}};
  if (out.of[0].count != out.of[1].count) {
    core::fail(Fault::kValue, "tensordot(): axes names ", out.of[0].count, " axes of x1 and ",
               out.of[1].count, " of x2; the numbers must be equal");
  }
  check_axes(out.of[0], x1, 1);
  check_axes(out.of[1], x2, 2);
  return out;
}

void check_extents(const Axes& axes, const Factors& factors) {
  for (int i = 0; i < axes.of[0].count; ++i) {
    const std::int64_t a = axes.of[0].values[i], b = axes.of[1].values[i];
    const std::int64_t extents[] = {factors.x1().shape[a], factors.x2().shape[b]};
    if (extents[0] == extents[1]) continue;
    factors.fail_shapes(core::text("axis ", a, " of x1 has ", extents[0], " elements and axis ", b,
                                   " of x2 has ", extents[1], "; they must be equal"));
  }
}

/// The axes of `x` that are not summed, first or last, and the others.
core::Layout grouped(const core::ArrayView& x, const Integers& summed, bool sums_last) {
  core::Layout out;
  const auto push_summed = [&] {
    for (const std::int64_t axis : summed.span()) out.push(x.shape[axis], x.strides[axis]);
  };
  if (!sums_last) push_summed();
  for (int axis = 0; axis < x.ndim; ++axis) {
    const auto span = summed.span();
    if (std::find(span.begin(), span.end(), axis) == span.end())
      out.push(x.shape[axis], x.strides[axis]);
  }
  if (sums_last) push_summed();
  return out;
}

/// The array as a matrix with `rows` axes as its rows: a view, or a copy if there is none.
[[gnu::noinline]] core::Array as_matrix(const core::ArrayView& x, const core::Layout& layout,
                                        int rows) {
  const core::Extents shape = layout.extents();
  const std::int64_t matrix[] = {core::size_of(shape.first(static_cast<std::size_t>(rows))),
                                 core::size_of(shape.subspan(static_cast<std::size_t>(rows)))};
  if (const auto view = core::reshape_layout(shape, layout.stride_span(), matrix))
    return core::with_layout(x, *view, 0);
  const core::Array copy = working_copy(core::with_layout(x, layout, 0), x.dtype);
  return core::with_layout(copy, core::c_layout(matrix), 0);
}

/// The axes of the result, those of `left` before those of `right` that are not summed.
[[gnu::noinline]] core::Array new_tensordot(const core::DType& dtype, const core::Layout& left,
                                            const core::Layout& right, int summed) {
  const int rows = left.ndim - summed, columns = right.ndim - summed;
  if (rows + columns > core::kMaxRank) {
    core::fail(Fault::kValue, "tensordot(): the result would have ndim ", rows + columns,
               "; the limit is ", core::kMaxRank);
  }
  core::Layout shape;
  for (int i = 0; i < rows; ++i) shape.push(left.shape[i], 0);
  for (int i = 0; i < columns; ++i) shape.push(right.shape[summed + i], 0);
  return core::new_array(dtype, shape.extents(), /*zeroed=*/false);
}

/// The product of two matrices, into the memory of `out`.
[[gnu::noinline]] void multiply(const core::ArrayView& out, const core::Array& x,
                                const core::Array& y) {
  const std::int64_t matrix[] = {x.layout.shape[0], y.layout.shape[1]};
  const core::Array to = core::with_layout(out, core::c_layout(matrix), 0);
  const std::int64_t work = bytes_like(out.size(), x.layout.shape[1]);
  run_interruptibly(work, [&](const core::InterruptCheck& interrupt) {
    return core::matmul(to, x, y, interrupt);
  });
}

/// The result, and the operands as matrices.
struct Contraction {
  core::Array out, x, y;
};

[[gnu::noinline]] void prepare(Contraction& to, const Factors& factors, const Axes& axes) {
  const core::ArrayView &a = factors.x1(), &b = factors.x2();
  const int summed = axes.of[0].count;
  const core::Layout left = grouped(a, axes.of[0], true), right = grouped(b, axes.of[1], false);
  to.out = new_tensordot(factors.computed(), left, right, summed);
  to.x = as_matrix(a, left, a.ndim - summed);
  to.y = as_matrix(b, right, summed);
}

Ref tensordot(const State& state, const Given<kTensordot>& given) {
  const auto [x1, x2, axes_argument] = given;
  Factors factors(state, x1, x2, kTensordot.name);
  const Axes axes = to_axes(axes_argument, factors.x1(), factors.x2());
  check_extents(axes, factors);
  factors.convert();
  Contraction contraction;
  prepare(contraction, factors, axes);
  multiply(contraction.out, contraction.x, contraction.y);
  return make_array(state, factors.finished(contraction.out));
}

}  // namespace

PyMethodDef kLinearAlgebraFunctions[] = {
    computing_entry<kMatmul, &matmul>(),
    entry<kMatrixTranspose, &matrix_transpose>(),
    computing_entry<kTensordot, &tensordot>(),
    computing_entry<kVecdot, &vecdot>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
