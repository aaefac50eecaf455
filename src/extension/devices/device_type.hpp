// Owns what others may ask of the Device type: making an object of it, and the device in one.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "refarray/core/device.hpp"

namespace refarray::extension {

/// A new Device object. To get an object, call make_device, which keeps one for the CPU.
Ref new_device_object(PyTypeObject* type, const core::Device& device);
/// The value of a Device object, which the caller has checked to be one.
core::Device device_value(PyObject* object) noexcept;

}  // namespace refarray::extension
