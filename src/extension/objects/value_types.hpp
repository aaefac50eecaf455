// DType and Device objects: creation from core values, and access to the values in them.
#pragma once

#include "extension/capi/ref.hpp"
#include "refarray/core/device.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// Always creates an object. Use make_dtype() instead, which returns the module's interned objects
/// for scalar dtypes.
Ref new_dtype_object(PyTypeObject* type, const core::DType& dtype);
/// The dtypes of strict namespaces, which have == and hash() only: a tuple like core::kScalars.
Ref make_strict_dtypes(PyObject* module);
/// `object` must be a DType, of either type.
core::DType dtype_value(PyObject* object) noexcept;

/// Creates a Device object. Prefer make_device(), which shares the object for the CPU.
Ref new_device_object(PyTypeObject* type, const core::Device& device);
/// The CPU as an object of the type that the devices of strict namespaces have: equal to devices
/// only.
Ref make_strict_cpu(PyObject* module);
/// The device in a Device object, of strict namespaces too. Unchecked.
core::Device device_value(PyObject* object) noexcept;

}  // namespace refarray::extension
