// Implements the reductions: sum, prod, min, max, mean, var, std, any, all, count_nonzero, argmin,
// argmax.
#include "extension/compute/reduction_functions.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "compute/ops/reductions/reduce.hpp"
#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/capi/signals.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/reducing_rows.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::Reduction;

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
Ref reduction(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const core::ReductionRow& row = core::row_of(Operation);
  State& state = State::of_module(module);
  const auto given = bind<kReduction<Operation>>(state, args, nargs, kwnames);
  constexpr bool kTakesDtype = detail::takes_dtype(Operation);
  const bool converts = kTakesDtype && is_given(given[2]);
  const bool takes_bool = converts && !state.modes.strict;  // converted first
  core::ArrayView x =
      computable_view(state, given[0], row.name, takes_bool ? core::dtype_sets::kAll : row.accepts);
  core::ReductionCall call{
      Operation, to_axis_bits(state, given[1], x.ndim, detail::takes_one_axis(Operation))};
  const bool keepdims = to_flag(given.back(), row.name, "keepdims");
  core::DType dtype = core::reduced_dtype(Operation, x.dtype);
  core::Array owner;
  if (converts) {
    dtype = to_result_dtype(state, given[2], Operation, x.dtype);
    x = converted_for(x, dtype, owner);
  }
  if constexpr (detail::takes_correction(Operation))
    call.correction = to_correction(state, given[2]);
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

template <Reduction Operation>
PyMethodDef reduction_entry() noexcept {
  return entry<kReduction<Operation>, &reduction<Operation>>();
}

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
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
