// The array API's creation functions: empty, zeros, ones, full, their _like forms, and the table.
#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/arange.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/creation/creation_rows.hpp"
#include "extension/creation/nested_sequences.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// Shape, dtype and device of the array to create. The shape is checked before any allocation.
struct ArraySpec {
  Integers shape;
  core::DType dtype;
  core::Device device;
};

/// Reads an ArraySpec from the arguments: `first` is the shape, or the array x of the _like forms;
/// `dtype` and `device` may be nullptr.
using MakeSpec = ArraySpec (*)(const State& state, PyObject* first, PyObject* dtype,
                               PyObject* device);

ArraySpec from_shape(const State& state, PyObject* shape, PyObject* dtype, PyObject* device) {
  constexpr core::DType kDefault{core::Kind::kFloat, 64};
  const ArraySpec out{to_shape(shape), to_dtype_or(state, dtype, kDefault),
                      to_device_or(state, device, core::Device{})};
  core::checked_nbytes(core::checked_size(out.shape.span()), out.dtype);
  return out;
}

ArraySpec from_array(const State& state, PyObject* x, PyObject* dtype, PyObject* device) {
  if (!is_array(state, x)) {
    refuse_other_namespace(state, x);
    core::fail(Fault::kType, "x must be a refarray.Array, not ", type_name(x));
  }
  const core::ArrayView view = view_of(x);
  ArraySpec out{
      {}, to_dtype_or(state, dtype, view.dtype), to_device_or(state, device, view.device())};
  for (int i = 0; i < view.ndim; ++i) out.shape.values[out.shape.count++] = view.shape[i];
  return out;
}

// --- The elements.

using Create = Ref (*)(State& state, const ArraySpec& spec);

Ref uninitialized(State& state, const ArraySpec& spec) {
  return make_array(state, allocate_on(spec.device, spec.dtype, spec.shape.span(),
                                       /*zeroed=*/false));
}

Ref zeros(State& state, const ArraySpec& spec) {
  if (spec.dtype.kind == core::Kind::kFloat8_e8m0fnu) {  // its bit pattern 0 is 2**-127
    core::fail(Fault::kValue, core::name(spec.dtype),
               " has no zero; its smallest value is 2**-127");
  }
  return make_array(state, allocate_on(spec.device, spec.dtype, spec.shape.span(),
                                       /*zeroed=*/true));
}

/// `value` has ndim 0; its dtype is the result's.
Ref filled(State& state, const ArraySpec& spec, const core::ArrayView& value) {
  const core::Layout layout = core::broadcast_layout({}, {}, spec.shape.span());
  return make_array(state,
                    working_copy(core::with_layout(value, layout, 0), value.dtype, spec.device));
}

Ref ones(State& state, const ArraySpec& spec) {  // True converts to 1 in every dtype
  return filled(state, spec, array_from_nested(state, Py_True, &spec.dtype));
}

// --- The functions: each combines a row, a MakeSpec and a Create.

template <const FunctionRow& kRow, MakeSpec kMakeSpec, Create kCreate>
Ref create(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& state = State::of_module(module);
  const auto [first, dtype, device] = bind<kRow>(state, args, nargs, kwnames);
  return kCreate(state, kMakeSpec(state, first, dtype, device));
}

/// `kInfers`: without dtype=, the dtype is that of the fill value.
template <const FunctionRow& kRow, MakeSpec kMakeSpec, bool kInfers>
Ref create_full(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& state = State::of_module(module);
  const auto [first, fill_value, dtype, device] = bind<kRow>(state, args, nargs, kwnames);
  const ArraySpec spec = kMakeSpec(state, first, dtype, device);
  if (state.modes.strict && !plain_number(fill_value)) {
    core::fail(Fault::kType, "fill_value must be a Python number, not ", type_name(fill_value),
               ": this namespace is strict");
  }
  const bool infers = kInfers && !is_given(dtype);
  const Ref value = as_array(state, fill_value, infers ? nullptr : &spec.dtype);
  const core::ArrayView view = view_of(value.get());
  if (view.ndim == 0) return filled(state, spec, view);
  core::fail(Fault::kType, "fill_value must be one number, not an array of shape ",
             core::shape_text(view.extents()));
}

}  // namespace

PyMethodDef kCreationFunctions[] = {
    entry<kAsarray, &asarray>(),
    entry<kArange, &arange>(),
    entry<kEmpty, &create<kEmpty, from_shape, uninitialized>>(),
    entry<kZeros, &create<kZeros, from_shape, zeros>>(),
    entry<kOnes, &create<kOnes, from_shape, ones>>(),
    entry<kFull, &create_full<kFull, from_shape, true>>(),
    entry<kEmptyLike, &create<kEmptyLike, from_array, uninitialized>>(),
    entry<kZerosLike, &create<kZerosLike, from_array, zeros>>(),
    entry<kOnesLike, &create<kOnesLike, from_array, ones>>(),
    entry<kFullLike, &create_full<kFullLike, from_array, false>>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
