// astype(), copy() and to_device(): the elements in new memory, as module functions and methods.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// Module functions: astype, copy, to_device.
extern PyMethodDef kCopyFunctions[];
/// Methods of Array: astype, copy, to_device.
extern PyMethodDef kCopyMethods[];

/// Array.copy(); pickle.cpp also uses it for __copy__ and __deepcopy__. Ignores its second
/// argument.
Ref copy_method(PyObject* self, PyObject*);

}  // namespace refarray::extension
