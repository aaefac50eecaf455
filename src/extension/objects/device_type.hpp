// Device objects: creation and access to the wrapped core::Device.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "refarray/core/device.hpp"

namespace refarray::extension {

/// Creates a Device object. Prefer make_device(), which shares the object for the CPU.
Ref new_device_object(PyTypeObject* type, const core::Device& device);
/// The CPU as an object of the type that the devices of strict namespaces have: equal to devices
/// only.
Ref make_strict_cpu(PyObject* module);
/// The device in a Device object, of strict namespaces too. Unchecked.
core::Device device_value(PyObject* object) noexcept;

}  // namespace refarray::extension
