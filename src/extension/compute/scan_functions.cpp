// Implements cumulative_sum, cumulative_prod and diff.
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "compute/ops/elementwise.hpp"
#include "compute/ops/reductions/scan.hpp"
#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/signals.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/reducing_rows.hpp"
#include "extension/compute/reduction_functions.hpp"
#include "extension/compute/selection_rows.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::Reduction;

/// The axis of a scan. Throws kValue for an array of ndim 0 and for a missing axis.
int to_scan_axis(PyObject* object, const core::ArrayView& x, const char* function) {
  if (x.ndim == 0) core::fail(Fault::kValue, function, "() needs an axis; the array has ndim 0");
  if (is_given(object)) return core::normalize_axis(to_int64(object, "axis"), x.ndim);
  if (x.ndim == 1) return 0;
  core::fail(Fault::kValue, function, "() needs an axis: the array has ndim ", x.ndim,
             "; only for ndim 1 it may be left out");
}

template <Reduction Operation>
Ref scan(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const core::ReductionRow& row = core::row_of(Operation);
  const State& state = State::of_module(module);
  const auto [object, axis_argument, dtype_argument, initial] =
      bind<kReduction<Operation>>(state, args, nargs, kwnames);
  const bool takes_bool = is_given(dtype_argument) && !state.modes.strict;  // converted first
  core::ArrayView x =
      computable_view(state, object, row.name, takes_bool ? core::dtype_sets::kAll : row.accepts);
  const int axis = to_scan_axis(axis_argument, x, row.name);
  const core::DType dtype = to_result_dtype(state, dtype_argument, Operation, x.dtype);
  const bool includes_initial = to_flag(initial, row.name, "include_initial");
  core::Array owner;
  x = converted_for(x, dtype, owner);
  core::Layout shape(x.extents(), x.extents());
  if (includes_initial) ++shape.shape[axis];
  core::Array out = core::new_array(dtype, shape.extents(), /*zeroed=*/false);
  const core::ArrayView target = out;
  run_interruptibly(target.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::scan(target, x, axis, Operation, interrupt);
  });
  return make_array(state, std::move(out));
}

/// The indices [begin, begin + length) of an axis.
core::Array narrowed(const core::ArrayView& array, int axis, std::int64_t begin,
                     std::int64_t length) {
  core::Layout layout(array.extents(), array.stride_span());
  layout.shape[axis] = length;
  return core::with_layout(array, layout, length == 0 ? 0 : begin * array.strides[axis]);
}

/// An argument prepend or append. Throws kType for another dtype, kValue for a shape that does not
/// fit.
core::ArrayView to_joined(const State& state, PyObject* object, const core::ArrayView& x, int axis,
                          const char* what) {
  const core::ArrayView out = computable_view(state, object, kDiff.name);
  if (out.dtype != x.dtype) {
    core::fail(Fault::kType, "diff(): ", what, " is ", core::name(out.dtype), ", x is ",
               core::name(x.dtype), "; the dtypes must be equal");
  }
  bool fits = out.ndim == x.ndim;
  for (int i = 0; fits && i < x.ndim; ++i) fits = i == axis || out.shape[i] == x.shape[i];
  if (!fits) {
    core::fail(Fault::kValue, "diff(): ", what, " has shape ", core::shape_text(out.extents()),
               ", x has ", core::shape_text(x.extents()), "; only axis ", axis, " may differ");
  }
  return out;
}

/// A new array of the parts, one after the other along the axis.
core::Array join(const core::ArrayView* const* parts, int count, int axis) {
  core::Layout shape(parts[0]->extents(), parts[0]->extents());
  shape.shape[axis] = 0;
  for (int i = 0; i < count; ++i) {
    if (__builtin_add_overflow(shape.shape[axis], parts[i]->shape[axis], &shape.shape[axis]))
      core::fail(Fault::kOverflow, "diff(): the joined axis ", axis, " exceeds 2**63 - 1");
  }
  core::Array out = core::new_array(parts[0]->dtype, shape.extents(), /*zeroed=*/false);
  std::int64_t at = 0;
  for (int i = 0; i < count; at += parts[i++]->shape[axis])
    move_elements(narrowed(out, axis, at, parts[i]->shape[axis]), *parts[i]);
  return out;
}

/// x[i + 1] - x[i] along the axis, which has an element.
core::Array difference(const core::ArrayView& x, int axis) {
  const std::int64_t length = x.shape[axis] - 1;
  const core::Array next = narrowed(x, axis, 1, length);
  const core::Array previous = narrowed(x, axis, 0, length);
  const core::ElementwiseKernel kernel =
      core::find_kernel(core::Elementwise::kSubtract, core::computable_scalar(x.dtype));
  core::Array out = core::new_array(x.dtype, next.layout.extents(), /*zeroed=*/false);
  const std::array inputs{next.view(), previous.view()};
  run_interruptibly(out.view().nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::run_elementwise(kernel, out, inputs, interrupt);
  });
  return out;
}

Ref diff(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto given = bind<kDiff>(state, args, nargs, kwnames);
  const core::ArrayView x =
      computable_view(state, given[0], kDiff.name, core::dtype_sets::kNumeric);
  if (x.ndim == 0) core::fail(Fault::kValue, "diff() needs an axis; the array has ndim 0");
  const int axis =
      core::normalize_axis(given[1] == nullptr ? -1 : to_int64(given[1], "axis"), x.ndim);
  std::int64_t n = given[2] == nullptr ? 1 : to_int64(given[2], "n");
  if (n < 0) core::fail(Fault::kValue, "diff(): n is ", n, "; it must be 0 or more");
  std::optional<core::ArrayView> before, after;
  if (is_given(given[3])) before = to_joined(state, given[3], x, axis, "prepend");
  if (is_given(given[4])) after = to_joined(state, given[4], x, axis, "append");
  const core::ArrayView* parts[3];
  int count = 0;
  if (before) parts[count++] = &*before;
  parts[count++] = &x;
  if (after) parts[count++] = &*after;
  core::Array made;
  core::ArrayView rest = x;
  if (count > 1 || n == 0) {
    made = join(parts, count, axis);
    rest = made;
  }
  n = n < rest.shape[axis] ? n : rest.shape[axis];  // none are left then
  if (n > 0 && (n == rest.shape[axis] || rest.size() == 0)) {
    core::Layout shape(rest.extents(), rest.extents());
    shape.shape[axis] -= n;
    return make_array(state, core::new_array(x.dtype, shape.extents(), /*zeroed=*/false));
  }
  for (; n > 0; --n) {
    check(calling<PyErr_CheckSignals>());
    made = difference(rest, axis);
    rest = made;
  }
  return made.storage ? make_array(state, std::move(made))
                      : make_array(state, working_copy(x, x.dtype));
}

}  // namespace

PyMethodDef kScanFunctions[] = {
    entry<kReduction<Reduction::kCumulativeSum>, &scan<Reduction::kCumulativeSum>>(),
    entry<kReduction<Reduction::kCumulativeProd>, &scan<Reduction::kCumulativeProd>>(),
    entry<kDiff, &diff>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
