// The Python type Device.
#include "extension/objects/device_type.hpp"

#include <string>
#include <string_view>

#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/value_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/type_docs.hpp"

namespace refarray::extension {
namespace {

using core::Device;

Ref device_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const State& state = *static_cast<State*>(PyType_GetModuleState(type));  // final, so ours
  const Device device = to_device_value(state, only_argument(args, kwargs, "O:Device"));
  return type == state.device_type() ? make_device(state, device) : new_device_object(type, device);
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
  return check(
      calling<Py_BuildValue>("(ii)", static_cast<int>(device.kind), static_cast<int>(device.id)));
}

PyGetSetDef device_getters[] = {
    {"kind", slot<&get_kind>, nullptr, kDeviceKindDoc, nullptr},
    {"id", slot<&get_id>, nullptr, kDeviceIdDoc, nullptr},
    {"dlpack", slot<&get_dlpack>, nullptr, kDeviceDlpackDoc, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

Ref new_device_object(PyTypeObject* type, const core::Device& device) {
  return new_value_object(type, device);
}

core::Device device_value(PyObject* object) noexcept { return value_in<Device>(object); }

Ref make_strict_cpu(PyObject* module) {
  constexpr bool kHasName = false;
  const Ref type = make_value_type<Device, &device_new, &device_repr, &device_of, kHasName>(
      module, "refarray_strict.Device", kDeviceDoc, device_getters);
  return compat::make_immortal(
      new_device_object(reinterpret_cast<PyTypeObject*>(type.get()), Device{}));
}

Ref make_device_type(PyObject* module) {
  return make_value_type<Device, &device_new, &device_repr, &device_like>(
      module, "refarray.Device", kDeviceDoc, device_getters);
}

}  // namespace refarray::extension
