// Arrays of virtual devices: host memory that only the functions of their namespace may use, as if
// it were a device's.
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copy_functions.hpp"
#include "extension/copy/copying.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/dlpack/dlpack_export.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr Signature<2> kToDevice{"to_device", {Key::kDevice, Key::kStream}, 1, 1, 1};
constexpr Signature<4> kDlpack{"__dlpack__",
                               {Key::kStream, Key::kMaxVersion, Key::kDlDevice, Key::kCopy}};

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

Ref dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const auto [stream, max_version, dl_device, copy] =
      bind(kDlpack, State::of_object(self), args, nargs, kwnames);
  return export_from_virtual(self, stream, max_version, dl_device, copy);
}

/// The array type of the host, so that isinstance(x, Array) is true on every device.
Ref get_class(PyObject* self, void*) {
  PyObject* const space = State::of_object(self).get(Slot::kNamespace);
  const Ref places = check(calling<PyObject_GetAttrString>(space, "_places"));
  const Ref types = check(calling<PyObject_GetAttrString>(places.get(), "types"));
  return check(calling<PySequence_GetItem>(types.get(), 0));
}

constexpr int kKeywords = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

PyMethodDef kDeviceMethods[] = {
    {"to_device", method<&to_device>(), kKeywords, kToDeviceMethodDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kOffHostGetters[] = {
    {"__class__", slot<&get_class>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef kOffHostMethods[] = {
    {"__dlpack__", method<&dlpack>(), kKeywords, kDlpackDoc},
    {"__dlpack_device__", method<&dlpack_device>(), METH_NOARGS, kDlpackDeviceDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
