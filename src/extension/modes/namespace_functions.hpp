// Functions of the modules of namespaces besides the default one.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// Functions that take the place of those of the default namespace: strict_functions.cpp.
extern PyMethodDef kStrictFunctions[];

/// _by_device(name, docstring, (types, functions)): a function that calls the one of the array type
/// that the arguments have. The tuple is its __self__: device_functions.cpp.
Ref by_device(PyObject* module, PyObject* const* args, Py_ssize_t nargs);

/// _moved(array, dtype): a copy of an array of another device of the namespace, as one of the
/// module's; with dtype None of the array's dtype: virtual_device.cpp.
Ref moved(PyObject* module, PyObject* const* args, Py_ssize_t nargs);

}  // namespace refarray::extension
