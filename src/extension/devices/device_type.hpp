// Device objects: creation and access to the wrapped core::Device.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "refarray/core/device.hpp"

namespace refarray::extension {

/// Creates a Device object. Prefer make_device(), which shares the object for the CPU.
Ref new_device_object(PyTypeObject* type, const core::Device& device);
/// The device in a Device object. Unchecked: `object` must be a Device.
core::Device device_value(PyObject* object) noexcept;

}  // namespace refarray::extension
