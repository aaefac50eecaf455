// Owns the functions that give an array's elements other memory, another dtype or other rights, and
// what is known of their order in memory.
#include <utility>

#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/manipulation.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/devices/devices.hpp"
#include "extension/dlpack/keywords.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// True or False and nothing else, so that copy=None or copy="no" does not pass for either.
bool to_bool(PyObject* object, const char* what) {
  if (object == Py_True || object == Py_False) return object == Py_True;
  core::fail(Fault::kType, what, " must be True or False, not ",
             object == Py_None ? "None" : type_name(object));
}

Ref astype(const State& state, PyObject* x, PyObject* dtype_argument, PyObject* copy,
           PyObject* device) {
  const core::ArrayView array = view_of(x);
  const core::DType dtype = to_dtype(state, dtype_argument);
  const bool must_copy = copy == nullptr || to_bool(copy, "copy");
  const core::Device target = to_device_or(state, device, array.device());
  if (!core::can_convert(array.dtype, dtype)) {
    core::fail(Fault::kType, "astype() cannot convert ", core::name(array.dtype), " to ",
               core::name(dtype),
               array.dtype.is_complex() ? ": the imaginary part would be lost"
                                        : ": vector elements convert to their own type only");
  }
  if (!must_copy && dtype == array.dtype && target == array.device()) return Ref::borrow(x);
  return make_array(state, copy_to_new(array, dtype, is_given(device) ? target : beside(target)));
}

/// A copy that a stream of the caller's carries out; it waits for nobody but the array's own work.
core::Array move_on(const core::ArrayView& array, const core::Device& target,
                    const core::Device& mover, const runtime::GivenStream& given) {
  const runtime::StreamChoice choice = runtime::choose_stream(mover, given);
  if (choice.kind != runtime::StreamChoice::Kind::kStream)
    core::fail(Fault::kValue, "to_device(): stream must name a stream of ", core::name(mover));
  open_device(mover);
  return copy_to_new_on(array, target, runtime::stream_of(mover, choice));
}

Ref to_device(const State& state, PyObject* x, PyObject* device, PyObject* stream) {
  const core::ArrayView array = view_of(x);
  const core::Device target = to_device_value(state, device);
  const runtime::GivenStream given = to_stream(stream);
  const core::Device mover = target == core::Device{} ? array.device() : target;
  if (mover == core::Device{}) {
    runtime::order_cpu(given);
  } else if (given.kind != runtime::GivenStream::Kind::kNone) {
    return make_array(state, move_on(array, target, mover, given));
  }
  if (target == array.device()) return alias_array(state, x);
  return make_array(state, copy_to_new(array, array.dtype, target));
}

constexpr Signature<4> kAstypeFunction{
    "astype", {Key::kX, Key::kDtype, Key::kCopy, Key::kDevice}, 2, 2, 2};
constexpr Signature<3> kAstypeMethod{"astype", {Key::kDtype, Key::kCopy, Key::kDevice}, 1, 1, 1};
constexpr Signature<1> kCopyFunction{"copy", {Key::kX}, 1, 1, 1};
constexpr Signature<3> kToDeviceFunction{
    "to_device", {Key::kX, Key::kDevice, Key::kStream}, 2, 2, 2};
constexpr Signature<2> kToDeviceMethod{"to_device", {Key::kDevice, Key::kStream}, 1, 1, 1};

}  // namespace

Ref astype_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, dtype, copy, device] = bind(kAstypeFunction, state, args, nargs, kwnames);
  to_view(state, x, kAstypeFunction.function);
  return astype(state, x, dtype, copy, device);
}

Ref astype_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [dtype, copy, device] = bind(kAstypeMethod, state, args, nargs, kwnames);
  return astype(state, self, dtype, copy, device);
}

Ref copy_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x] = bind(kCopyFunction, state, args, nargs, kwnames);
  const core::ArrayView array = to_view(state, x, kCopyFunction.function);
  return make_array(state, copy_to_new(array, array.dtype, beside(array.device())));
}

Ref copy_method(PyObject* self, PyObject*) {
  const core::ArrayView array = view_of(self);
  return make_array(State::of_object(self),
                    copy_to_new(array, array.dtype, beside(array.device())));
}

Ref to_device_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, device, stream] = bind(kToDeviceFunction, state, args, nargs, kwnames);
  to_view(state, x, kToDeviceFunction.function);
  return to_device(state, x, device, stream);
}

Ref to_device_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [device, stream] = bind(kToDeviceMethod, state, args, nargs, kwnames);
  return to_device(state, self, device, stream);
}

Ref as_readonly(PyObject* self, PyObject*) {
  core::ArrayView array = view_of(self);
  array.readonly = true;
  return make_array(State::of_object(self), array, core::StoragePtr::share(array.storage));
}

Ref is_contiguous(PyObject* self, PyObject*) {
  const core::ArrayView array = view_of(self);
  return check(PyBool_FromLong(core::is_c_contiguous(array.extents(), array.stride_span())));
}

}  // namespace refarray::extension
