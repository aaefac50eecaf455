// Arrays of virtual devices: host memory that only the functions of their namespace may use, as if
// it were a device's.
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/modules.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/docstrings.hpp"
#include "extension/dlpack/docstrings.hpp"
#include "extension/dlpack/keywords.hpp"
#include "extension/modes/namespace_module.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr Signature<2> kToDevice{"to_device", {Key::kDevice, Key::kStream}, 1, 1, 1};
constexpr Signature<4> kDlpack{"__dlpack__",
                               {Key::kStream, Key::kMaxVersion, Key::kDlDevice, Key::kCopy}};

[[noreturn]] void fail_off_host(PyObject* self, Fault fault, const char* what) {
  core::fail(fault, what, " needs host memory, and the array is on ",
             device_text(State::of_object(self)), "; to_device() copies it to the host");
}

/// Notes a transfer of bytes, for which the host waits if one of the sides is its memory.
void note_transfer(std::int64_t nbytes, bool with_host) {
  if (with_host) core::note_attempt(core::Entry::kSynchronization, 0);
  core::note(core::Entry::kTransfer, nbytes);
  if (with_host) core::note(core::Entry::kSynchronization, 0);
}

/// The modules of the devices are known to Python.
Ref to_device(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const auto [device, stream] = bind(kToDevice, State::of_object(self), args, nargs, kwnames);
  const Ref move = python_function("refarray._namespaces.devices", "to_device");
  return check(calling<PyObject_CallFunctionObjArgs>(
      move.get(), self, device, stream == nullptr ? Py_None : stream, nullptr));
}

Ref dlpack_device(PyObject* self, PyObject*) {
  return check(
      calling<PyObject_GetAttrString>(State::of_object(self).get(Slot::kCpuDevice), "dlpack"));
}

/// To the host only, and as a copy. The copy is an array of the default namespace, whose own method
/// checks the other arguments.
Ref dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [stream, max_version, dl_device, copy] = bind(kDlpack, state, args, nargs, kwnames);
  const auto target = to_dl_device(state, dl_device);
  if (!target || target->device_type != kDLCPU)
    fail_off_host(self, Fault::kBuffer, "an export other than with dl_device=(1, 0)");
  if (copy == Py_False) fail_off_host(self, Fault::kNoCopy, "an export with copy=False");
  const core::ArrayView array = view_of(self);
  note_transfer(array.nbytes(), /*with_host=*/true);
  const Ref host =
      make_array(default_state(state), working_copy(array, array.dtype, core::Device{}));
  const Ref method = check(calling<PyObject_GetAttrString>(host.get(), "__dlpack__"));
  return check(
      calling<PyObject_Vectorcall>(method.get(), args, static_cast<std::size_t>(nargs), kwnames));
}

/// NumPy looks for this method when the buffer is refused.
Ref array_method(PyObject* self, PyObject* const*, Py_ssize_t, PyObject*) {
  fail_off_host(self, Fault::kType, "__array__()");
}

int fail_buffer(PyObject* self, Py_buffer*, int) {
  fail_off_host(self, Fault::kBuffer, "a buffer");
}

constexpr int kKeywords = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

void note_read_by_host(PyObject* array) {
  if (State::of_object(array).modes.off_host)
    note_transfer(view_of(array).nbytes(), /*with_host=*/true);
}

Ref moved(PyObject* module, PyObject* array) {
  if (!is_any_array(array))
    core::fail(Fault::kType, "_moved() takes an array, not ", type_name(array));
  const State& state = State::of_module(module);
  const core::ArrayView view = view_of(array);
  const bool with_host = !state.modes.off_host || !State::of_object(array).modes.off_host;
  note_transfer(view.nbytes(), with_host);
  return make_array(state, working_copy(view, view.dtype));
}

int refuse_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  if (view != nullptr) view->obj = nullptr;
  return slot<&fail_buffer>(self, view, flags);
}

PyMethodDef kDeviceMethods[] = {
    {"to_device", method<&to_device>(), kKeywords, kToDeviceMethodDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kOffHostMethods[] = {
    {"__dlpack__", method<&dlpack>(), kKeywords, doc::kDlpack},
    {"__dlpack_device__", method<&dlpack_device>(), METH_NOARGS, doc::kDlpackDevice},
    {"__array__", method<&array_method>(), kKeywords, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
