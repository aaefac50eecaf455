// Owns the Device type: what Python code sees of a device.
#include "extension/devices/device_type.hpp"

#include <string>
#include <string_view>

#include "extension/array/values.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/value_object.hpp"

namespace refarray::extension {
namespace {

using core::Device;

Ref device_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const State& state = *static_cast<State*>(PyType_GetModuleState(type));  // final: `type` is ours
  return make_device(state, to_device_value(state, only_argument(args, kwargs, "O:Device")));
}

Ref device_repr(PyObject* self) {
  return check(
      PyUnicode_FromFormat("refarray.Device('%s')", core::name(value_in<Device>(self)).c_str()));
}

Ref get_kind(PyObject* self, void*) {
  const std::string name = core::name(value_in<Device>(self));
  const std::string_view kind = std::string_view(name).substr(0, name.find(':'));
  return check(PyUnicode_FromStringAndSize(kind.data(), static_cast<Py_ssize_t>(kind.size())));
}

Ref get_id(PyObject* self, void*) { return check(PyLong_FromLong(value_in<Device>(self).id)); }

Ref get_dlpack(PyObject* self, void*) {
  const Device& device = value_in<Device>(self);
  return check(Py_BuildValue("(ii)", static_cast<int>(device.kind), static_cast<int>(device.id)));
}

constexpr const char* kTypeDoc =
    "Device(name)\n--\n\n"
    "Where an array's elements are: immutable, hashable, picklable.\n\n"
    "name is a Device or a name: 'cpu', 'cuda:1', 'rocm:0', 'cuda_managed:0', or 'cuda_host' and "
    "'rocm_host' for pinned\n"
    "host memory; 'cuda' means 'cuda:0'. Naming a device does not ask whether this machine has "
    "it.\n"
    "A Device equals its name as str() gives it, and has the hash of it.\n\n"
    "Raises TypeError for anything else, ValueError for a name of no device. Array API: device "
    "objects.";

PyGetSetDef device_getters[] = {
    {"kind", slot<&get_kind>, nullptr,
     "The kind of memory, a str: 'cpu', 'cuda', 'cuda_host', 'cuda_managed', 'rocm' or "
     "'rocm_host'.",
     nullptr},
    {"id", slot<&get_id>, nullptr, "Which unit of that kind, an int; 0 where there is one only.",
     nullptr},
    {"dlpack", slot<&get_dlpack>, nullptr,
     "The pair (device type, device id) of ints that DLPack calls it by, as __dlpack_device__() "
     "gives it.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

Ref new_device_object(PyTypeObject* type, const core::Device& device) {
  return new_value_object(type, device);
}

core::Device device_value(PyObject* object) noexcept { return value_in<Device>(object); }

Ref make_device_type(PyObject* module) {
  return make_value_type<Device, &device_new, &device_repr>(module, "refarray.Device", kTypeDoc,
                                                            device_getters);
}

}  // namespace refarray::extension
