// astype(), copy() and to_device(): the elements in new memory, as module functions and methods.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// Module functions: astype, copy, to_device.
extern PyMethodDef kCopyFunctions[];
/// Methods of Array: astype, copy, to_device.
extern PyMethodDef kCopyMethods[];

/// Throws kType unless astype() converts elements of a dtype into those of another.
void require_convertible(const core::DType& from, const core::DType& to);

/// Array.copy(); pickle.cpp also uses it for __copy__ and __deepcopy__. Ignores its second
/// argument.
Ref copy_method(PyObject* self, PyObject*);

}  // namespace refarray::extension
