// The reductions: sum, prod, min, max, mean, var, std, any, all, count_nonzero, argmin, argmax; and
// the scans: cumulative_sum, cumulative_prod and diff.
#include "extension/compute/reduction_functions.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "compute/ops/elementwise.hpp"
#include "compute/ops/reduction_rows.hpp"
#include "compute/ops/reductions/reduce.hpp"
#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::Reduction;

// --- The rows, made from those in compute/ops/reduction_rows.hpp.

constexpr bool is_scan(Reduction operation) noexcept {
  return operation == Reduction::kCumulativeSum || operation == Reduction::kCumulativeProd;
}
constexpr bool takes_dtype(Reduction operation) noexcept {
  return operation == Reduction::kSum || operation == Reduction::kProd || is_scan(operation);
}
constexpr bool takes_correction(Reduction operation) noexcept {
  return operation == Reduction::kVar || operation == Reduction::kStd;
}
constexpr bool takes_one_axis(Reduction operation) noexcept {
  return operation == Reduction::kArgmax || operation == Reduction::kArgmin;
}

constexpr const char* parameters(Reduction operation) noexcept {
  if (is_scan(operation)) return "x, /, *, axis=None, dtype=None, include_initial=False";
  if (takes_dtype(operation)) return "x, /, *, axis=None, dtype=None, keepdims=False";
  if (takes_correction(operation)) return "x, /, *, axis=None, correction=0.0, keepdims=False";
  return "x, /, *, axis=None, keepdims=False";
}

constexpr std::string_view axis_text(Reduction operation) noexcept {
  if (is_scan(operation)) {
    return "axis: the axis; required unless x.ndim is 1.\n"
           "include_initial: True puts the result of no elements, 0 or 1, before the others.\n";
  }
  if (takes_one_axis(operation)) {
    return "axis: the axis, or None for the index in row-major order of all elements.\n"
           "keepdims: True keeps the reduced axes, with extent 1.\n";
  }
  return "axis: an axis, a tuple of axes, or None for all axes.\n"
         "keepdims: True keeps the reduced axes, with extent 1.\n";
}

constexpr std::string_view result_text(Reduction operation) noexcept {
  switch (core::row_of(operation).result) {
    case core::ReducedDtype::kSameDtype:
      return "the same dtype";
    case core::ReducedDtype::kBoolDtype:
      return "bool";
    case core::ReducedDtype::kIndexDtype:
      return "int64";
    case core::ReducedDtype::kWidenedDtype:
      break;
  }
  return "dtype";
}

constexpr Category category(Reduction operation) noexcept {
  switch (operation) {
    case Reduction::kAll:
    case Reduction::kAny:
      return Category::kUtility;
    case Reduction::kArgmax:
    case Reduction::kArgmin:
    case Reduction::kCountNonzero:
      return Category::kSearching;
    default:
      return Category::kStatistical;
  }
}

/// What else there is to say about the values.
constexpr std::string_view notes(Reduction operation) noexcept {
  if (is_scan(operation))
    return "Elements are combined one after the other; float16 and bfloat16 in float32.\n\n";
  switch (operation) {
    case Reduction::kMean:
    case Reduction::kProd:
    case Reduction::kSum:
      return "Elements are combined in a fixed pairwise order, so the result depends on shape and\n"
             "values only; float16 and bfloat16 in float32.\n\n";
    case Reduction::kStd:
    case Reduction::kVar:
      return "Computed in float64 in two passes, and rounded once. NaN where N - correction is 0\n"
             "or less.\n\n";
    default:
      return "";
  }
}

/// Calls `add` for each part of the row's text.
template <class Add>
constexpr void each_part(Reduction operation, Add add) {
  const core::ReductionRow& row = core::row_of(operation);
  add(row.text);
  add("\n\nx: an array of ");
  add(core::name(row.accepts));
  add(" dtype.\n");
  add(axis_text(operation));
  if (takes_dtype(operation)) {
    add("dtype: of the result; the elements are converted to it first. None stands for int64 or\n"
        "    uint64 for integers, and otherwise for the dtype of x.\n");
  }
  if (takes_correction(operation))
    add("correction: a number that is subtracted from the number of elements.\n");
  add("\n");
  add(notes(operation));
  add("Returns a new array of ");
  add(result_text(operation));
  add(is_scan(operation) ? ", of the shape of x" : ", of ndim 0 for all axes");
  add(". Raises TypeError for other dtypes,\nIndexError for an axis out of range");
  if (is_scan(operation))
    add(", ValueError for a missing axis and for ndim 0");
  else if (!takes_one_axis(operation))
    add(", ValueError for a repeated one");
  if (!row.has_identity) add(" and\nValueError if there are no elements to reduce");
  add(".");
}

template <Reduction Operation>
constexpr FunctionRow kReduction{core::row_of(Operation).name, parameters(Operation),
                                 category(Operation), core::row_of(Operation).since,
                                 kJoined<[](auto add) { each_part(Operation, add); }>.data()};

// --- Reductions.

constexpr std::uint64_t bit(int axis) noexcept { return std::uint64_t{1} << axis; }

[[noreturn, gnu::cold]] void fail_empty(const core::ReductionRow& row, const core::ArrayView& x,
                                        std::uint64_t axes) {
  core::Layout reduced;
  for (int axis = 0; axis < x.ndim; ++axis)
    if ((axes & bit(axis)) != 0) reduced.push(axis, 0);
  core::fail(Fault::kValue, row.name, "() of no elements: the shape is ",
             core::shape_text(x.extents()), ", reduced along axes ",
             core::shape_text(reduced.extents()), "; it has no identity");
}

/// Reduces into a new array.
Ref reduce(const State& state, const core::ArrayView& x, const core::ReductionCall& call,
           const core::DType& dtype, bool keepdims) {
  core::Layout shape;
  std::int64_t count = 1;
  for (int axis = 0; axis < x.ndim; ++axis) {
    const bool is_reduced = (call.axes & bit(axis)) != 0;
    if (is_reduced) count *= x.shape[axis] == 0 ? 0 : 1;
    if (!is_reduced || keepdims) shape.push(is_reduced ? 1 : x.shape[axis], 0);
  }
  const core::ReductionRow& row = core::row_of(call.operation);
  if (count == 0 && !row.has_identity) fail_empty(row, x, call.axes);
  core::Array out = core::new_array(dtype, shape.extents(), /*zeroed=*/false);
  core::Layout whole;
  for (int axis = 0, at = 0; axis < x.ndim; ++axis) {
    const bool is_reduced = (call.axes & bit(axis)) != 0;
    whole.push(is_reduced ? 1 : x.shape[axis], is_reduced ? 0 : out.layout.strides[at]);
    if (!is_reduced || keepdims) ++at;
  }
  core::ArrayView target = out.view();
  target.ndim = whole.ndim;
  target.shape = whole.shape;
  target.strides = whole.strides;
  run_interruptibly(std::max(x.nbytes(), target.nbytes()),
                    [&](const core::InterruptCheck& interrupt) {
                      return core::reduce(target, x, call, interrupt);
                    });
  return make_array(state, std::move(out));
}

/// A complex scalar of NumPy has __float__, which drops the imaginary part.
double to_correction(State& state, PyObject* object) {
  if (object == nullptr) return 0;
  const Ref number = to_number(state, object);
  if (!number || PyComplex_Check(number.get()))
    core::fail(core::Fault::kType, "correction must be a real number, not ", short_repr(object));
  return check_number<PyFloat_AsDouble>(number.get());
}

template <Reduction Operation>
Ref reduction(State& state, const Given<kReduction<Operation>>& given) {
  const core::ReductionRow& row = core::row_of(Operation);
  constexpr bool kTakesDtype = takes_dtype(Operation);
  const bool converts = kTakesDtype && is_given(given[2]);
  const bool takes_bool = converts && !state.modes.strict;  // converted first
  core::ArrayView x =
      computable_view(state, given[0], row.name, takes_bool ? core::dtype_sets::kAll : row.accepts);
  core::ReductionCall call{Operation,
                           to_axis_bits(state, given[1], x.ndim, takes_one_axis(Operation))};
  const bool keepdims = to_flag(given.back(), row.name, "keepdims");
  core::DType dtype = core::reduced_dtype(Operation, x.dtype);
  core::Array owner;
  if (converts) {
    dtype = to_result_dtype(state, given[2], Operation, x.dtype);
    x = converted_for(x, dtype, owner);
  }
  if constexpr (takes_correction(Operation)) call.correction = to_correction(state, given[2]);
  return reduce(state, x, call, dtype, keepdims);
}

}  // namespace

std::uint64_t to_axis_bits(const State& state, PyObject* object, int ndim, bool takes_one) {
  if (!is_given(object)) return ndim == 64 ? ~std::uint64_t{0} : bit(ndim) - 1;
  if (takes_one) return bit(core::normalize_axis(to_int64(object, "axis"), ndim));
  const Integers axes = to_integers(state, object, "axis");
  std::uint64_t out = 0;
  for (const std::int64_t entry : axes.span()) {
    const int axis = core::normalize_axis(entry, ndim);
    if ((out & bit(axis)) != 0) {
      core::fail(Fault::kValue, "axis is ", core::shape_text(axes.span()), ", which has axis ",
                 axis, " of ndim ", ndim, " more than once");
    }
    out |= bit(axis);
  }
  return out;
}

Ref compute_sum_of_last_axis(const State& state, const core::ArrayView& x, PyObject* dtype) {
  const core::ReductionCall call{Reduction::kSum, bit(x.ndim - 1)};
  const core::DType result = to_result_dtype(state, dtype, Reduction::kSum, x.dtype);
  core::Array owner;
  return reduce(state, converted_for(x, result, owner), call, result, /*keepdims=*/false);
}

bool to_flag(PyObject* object, const char* function, const char* what) {
  if (object == nullptr || object == Py_False) return false;
  if (object == Py_True) return true;
  core::fail(Fault::kType, function, "(): ", what, " must be True or False, not ",
             type_name(object));
}

core::DType to_result_dtype(const State& state, PyObject* object, Reduction operation,
                            const core::DType& dtype) {
  if (!is_given(object)) return core::reduced_dtype(operation, dtype);
  const core::DType out = to_dtype(state, object);
  const core::ReductionRow& row = core::row_of(operation);
  require_computable(out, row.name, row.accepts);
  if (!core::can_convert(dtype, out)) {
    core::fail(Fault::kType, row.name, "(): no conversion from ", core::name(dtype),
               " to dtype=", core::name(out));
  }
  return out;
}

core::ArrayView converted_for(const core::ArrayView& x, const core::DType& dtype,
                              core::Array& owner) {
  const auto is_integer = [](const core::DType& type) {
    return type.kind == core::Kind::kInt || type.kind == core::Kind::kUInt ||
           type.kind == core::Kind::kBool;
  };
  const bool computes_in_it = dtype.bits >= (is_integer(dtype) ? 64 : 32);
  if (x.dtype == dtype || computes_in_it || (is_integer(x.dtype) && is_integer(dtype))) return x;
  owner = working_copy(x, dtype);
  return owner;
}

// --- Scans.

namespace {

constexpr FunctionRow kDiff{
    "diff",
    "x, /, *, axis=-1, n=1, prepend=None, append=None",
    Category::kUtility,
    2024,
    R"doc(Differences of neighbouring elements along an axis: x[i + 1] - x[i], n times.

x: an array of numeric dtype.
axis: the axis.
n: how often to take differences; 0 gives a copy.
prepend, append: arrays of the dtype of x that are joined to it along the axis first, or
    None. Their shapes equal that of x but for the axis.

Returns a new array of the same dtype, whose axis is n shorter than that of the joined
arrays, or empty. Integers wrap around. Raises TypeError for other dtypes, ValueError for
ndim 0, a negative n and shapes that do not fit, IndexError for an axis out of range.)doc",
};

/// The axis of a scan. Throws kValue for an array of ndim 0 and for a missing axis.
int to_scan_axis(PyObject* object, const core::ArrayView& x, const char* function) {
  if (x.ndim == 0) core::fail(Fault::kValue, function, "() needs an axis; the array has ndim 0");
  if (is_given(object)) return core::normalize_axis(to_int64(object, "axis"), x.ndim);
  if (x.ndim == 1) return 0;
  core::fail(Fault::kValue, function, "() needs an axis: the array has ndim ", x.ndim,
             "; only for ndim 1 it may be left out");
}

template <Reduction Operation>
Ref scan(const State& state, const Given<kReduction<Operation>>& given) {
  const core::ReductionRow& row = core::row_of(Operation);
  const auto [object, axis_argument, dtype_argument, initial] = given;
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

Ref diff(const State& state, const Given<kDiff>& given) {
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

template <Reduction Operation>
PyMethodDef reduction_entry() noexcept {
  return computing_entry<kReduction<Operation>, &reduction<Operation>>();
}

}  // namespace

PyMethodDef kReductionFunctions[] = {
    reduction_entry<Reduction::kAll>(),
    reduction_entry<Reduction::kAny>(),
    reduction_entry<Reduction::kArgmax>(),
    reduction_entry<Reduction::kArgmin>(),
    reduction_entry<Reduction::kCountNonzero>(),
    reduction_entry<Reduction::kMax>(),
    reduction_entry<Reduction::kMean>(),
    reduction_entry<Reduction::kMin>(),
    reduction_entry<Reduction::kProd>(),
    reduction_entry<Reduction::kStd>(),
    reduction_entry<Reduction::kSum>(),
    reduction_entry<Reduction::kVar>(),
    computing_entry<kReduction<Reduction::kCumulativeSum>, &scan<Reduction::kCumulativeSum>>(),
    computing_entry<kReduction<Reduction::kCumulativeProd>, &scan<Reduction::kCumulativeProd>>(),
    computing_entry<kDiff, &diff>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
