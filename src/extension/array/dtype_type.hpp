// Owns what others may ask of the DType type: making an object of it, and the dtype in one.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// A new DType object; the interned ones of the module's state are made by this too. To get an
/// object, call make_dtype.
Ref new_dtype_object(PyTypeObject* type, const core::DType& dtype);
/// The value of a DType object, which the caller has checked to be one.
core::DType dtype_value(PyObject* object) noexcept;

}  // namespace refarray::extension
