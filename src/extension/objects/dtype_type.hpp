// DType objects: creation from a core dtype, and access to the core dtype of one.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// Always creates an object. Use make_dtype() instead, which returns the module's interned objects
/// for scalar dtypes.
Ref new_dtype_object(PyTypeObject* type, const core::DType& dtype);
/// The dtypes of strict namespaces, which have == and hash() only: a tuple like core::kScalars.
Ref make_strict_dtypes(PyObject* module);
/// `object` must be a DType, of either type.
core::DType dtype_value(PyObject* object) noexcept;

}  // namespace refarray::extension
