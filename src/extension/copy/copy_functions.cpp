// Implements astype(), copy() and to_device().
#include "extension/copy/copy_functions.hpp"

#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/modules.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copy_docs.hpp"
#include "extension/copy/copying.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// Takes True and False only: truth testing would accept copy=None and copy="no".
bool to_bool(PyObject* object, const char* what) {
  if (object == Py_True || object == Py_False) return object == Py_True;
  core::fail(Fault::kType, what, " must be True or False, not ",
             object == Py_None ? "None" : type_name(object));
}

/// An independent copy with the same dtype, on the array's own device or on the CPU.
Ref copied(const State& state, const core::ArrayView& array) {
  return make_array(state, copy_to_new(array, array.dtype, default_copy_device(array.device())));
}

Ref astype(const State& state, PyObject* x, PyObject* dtype_argument, PyObject* copy,
           PyObject* device) {
  const core::ArrayView array = view_of(x);
  const core::DType dtype = to_dtype(state, dtype_argument);
  const bool must_copy = copy == nullptr || to_bool(copy, "copy");
  const core::Device target = to_device_or(state, device, array.device());
  require_convertible(array.dtype, dtype);
  if (!must_copy && dtype == array.dtype && target == array.device()) return Ref::borrow(x);
  return make_array(
      state, copy_to_new(array, dtype, is_given(device) ? target : default_copy_device(target)));
}

/// A copy on the caller's stream, which belongs to `stream_device`. The copy waits for unfinished
/// work on the array, not for other work on the device.
core::Array copy_on_stream(const core::ArrayView& array, const core::Device& target,
                           const core::Device& stream_device, const runtime::GivenStream& given) {
  const runtime::StreamChoice choice = runtime::choose_stream(stream_device, given);
  if (choice.kind != runtime::StreamChoice::Kind::kStream)
    core::fail(Fault::kValue, "to_device(): stream must name a stream of ",
               core::name(stream_device));
  open_device(stream_device);
  return copy_to_new_on(array, target, stream_without_gil(stream_device, choice));
}

Ref to_device(const State& state, PyObject* x, PyObject* device, PyObject* stream) {
  const core::ArrayView array = view_of(x);
  const core::Device target = to_device_value(state, device);
  const runtime::GivenStream given = to_stream(stream);
  // The stream belongs to the target, or to the source of a copy to the CPU.
  const core::Device stream_device = target == core::Device{} ? array.device() : target;
  if (stream_device == core::Device{}) {
    runtime::order_cpu(given);
  } else if (given.kind != runtime::GivenStream::Kind::kNone) {
    return make_array(state, copy_on_stream(array, target, stream_device, given));
  }
  if (target == array.device()) return alias_array(state, x);
  return make_array(state, copy_to_new(array, array.dtype, target));
}

constexpr Signature<3> kAstypeMethod{"astype", {Key::kDtype, Key::kCopy, Key::kDevice}, 1, 1, 1};
constexpr Signature<1> kCopyFunction{"copy", {Key::kX}, 1, 1, 1};
constexpr Signature<3> kToDeviceFunction{
    "to_device", {Key::kX, Key::kDevice, Key::kStream}, 2, 2, 2};
constexpr Signature<2> kToDeviceMethod{"to_device", {Key::kDevice, Key::kStream}, 1, 1, 1};

Ref astype_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, dtype, copy, device] = bind<kAstype>(state, args, nargs, kwnames);
  to_view(state, x, kAstype.name);
  return astype(state, x, dtype, copy, device);
}

Ref astype_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [dtype, copy, device] = bind(kAstypeMethod, state, args, nargs, kwnames);
  if (state.modes.with_devices && is_given(device)) {  // it is known to Python
    const Ref function = python_function("refarray._namespaces.devices", "astype");
    return check(calling<PyObject_CallFunctionObjArgs>(
        function.get(), self, dtype, copy == nullptr ? Py_True : copy, device, nullptr));
  }
  return astype(state, self, dtype, copy, device);
}

Ref copy_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x] = bind(kCopyFunction, state, args, nargs, kwnames);
  return copied(state, to_view(state, x, kCopyFunction.function));
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

constexpr int kKeywords = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

void require_convertible(const core::DType& from, const core::DType& to) {
  if (core::can_convert(from, to)) return;
  core::fail(Fault::kType, "astype() cannot convert ", core::name(from), " to ", core::name(to),
             from.is_complex() ? ": the imaginary part would be lost"
                               : ": vector elements convert to their own dtype only");
}

Ref copy_method(PyObject* self, PyObject*) { return copied(State::of_object(self), view_of(self)); }

PyMethodDef kCopyFunctions[] = {
    entry<kAstype, &astype_function>(),
    {"copy", method<&copy_function>(), kKeywords, kCopyFunctionDoc},
    {"to_device", method<&to_device_function>(), kKeywords, kToDeviceFunctionDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kCopyMethods[] = {
    {"astype", method<&astype_method>(), kKeywords, kAstypeMethodDoc},
    {"copy", method<&copy_method>(), METH_NOARGS, kCopyMethodDoc},
    {"to_device", method<&to_device_method>(), kKeywords, kToDeviceMethodDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
