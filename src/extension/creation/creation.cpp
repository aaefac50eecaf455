// The array API's creation functions: empty, zeros, ones, full, their _like forms, and the table.
#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/arange.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/creation/docstrings.hpp"
#include "extension/creation/nested_sequences.hpp"

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
  if (!is_array(state, x))
    core::fail(Fault::kType, "x must be a refarray.Array, not ", type_name(x));
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
                    copy_to_new(core::with_layout(value, layout, 0), value.dtype, spec.device));
}

Ref ones(State& state, const ArraySpec& spec) {  // True converts to 1 in every dtype
  return filled(state, spec, array_from_nested(state, Py_True, &spec.dtype));
}

// --- The functions: each combines a signature, a MakeSpec and a Create.

constexpr Signature<3> shape_signature(const char* function) {
  return {function, {Key::kShape, Key::kDtype, Key::kDevice}, 1, 1, 0};
}
constexpr Signature<3> like_signature(const char* function) {
  return {function, {Key::kX, Key::kDtype, Key::kDevice}, 1, 1, 1};
}
constexpr Signature<3> kEmpty = shape_signature("empty");
constexpr Signature<3> kZeros = shape_signature("zeros");
constexpr Signature<3> kOnes = shape_signature("ones");
constexpr Signature<3> kEmptyLike = like_signature("empty_like");
constexpr Signature<3> kZerosLike = like_signature("zeros_like");
constexpr Signature<3> kOnesLike = like_signature("ones_like");
constexpr Signature<4> kFull{
    "full", {Key::kShape, Key::kFillValue, Key::kDtype, Key::kDevice}, 2, 2, 0};
constexpr Signature<4> kFullLike{
    "full_like", {Key::kX, Key::kFillValue, Key::kDtype, Key::kDevice}, 2, 2, 1};

template <const Signature<3>& kSignature, MakeSpec kMakeSpec, Create kCreate>
Ref create(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& state = State::of_module(module);
  const auto [first, dtype, device] = bind(kSignature, state, args, nargs, kwnames);
  return kCreate(state, kMakeSpec(state, first, dtype, device));
}

/// `kInfers`: without dtype=, the dtype is that of the fill value.
template <const Signature<4>& kSignature, MakeSpec kMakeSpec, bool kInfers>
Ref create_full(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& state = State::of_module(module);
  const auto [first, fill_value, dtype, device] = bind(kSignature, state, args, nargs, kwnames);
  const ArraySpec spec = kMakeSpec(state, first, dtype, device);
  const bool infers = kInfers && !is_given(dtype);
  const Ref value = as_array(state, fill_value, infers ? nullptr : &spec.dtype);
  const core::ArrayView view = view_of(value.get());
  if (view.ndim == 0) return filled(state, spec, view);
  core::fail(Fault::kType, "fill_value must be one number, not an array of shape ",
             core::shape_text(view.extents()));
}

constexpr int kFlags = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

PyMethodDef kCreationFunctions[] = {
    {"asarray", method<asarray>(), kFlags, kAsarrayDoc},
    {"arange", method<arange>(), kFlags, kArangeDoc},
    {"empty", method<&create<kEmpty, from_shape, uninitialized>>(), kFlags, kEmptyDoc},
    {"zeros", method<&create<kZeros, from_shape, zeros>>(), kFlags, kZerosDoc},
    {"ones", method<&create<kOnes, from_shape, ones>>(), kFlags, kOnesDoc},
    {"full", method<&create_full<kFull, from_shape, true>>(), kFlags, kFullDoc},
    {"empty_like", method<&create<kEmptyLike, from_array, uninitialized>>(), kFlags, kEmptyLikeDoc},
    {"zeros_like", method<&create<kZerosLike, from_array, zeros>>(), kFlags, kZerosLikeDoc},
    {"ones_like", method<&create<kOnesLike, from_array, ones>>(), kFlags, kOnesLikeDoc},
    {"full_like", method<&create_full<kFullLike, from_array, false>>(), kFlags, kFullLikeDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
