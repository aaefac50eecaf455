// Functions of the Python package that the extension calls.
#pragma once

#include <Python.h>

#include "extension/capi/errors.hpp"
#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// A function of a module of the package, which is imported on first use. Throws ErrorSet.
inline Ref python_function(const char* module, const char* function) {
  const Ref imported = check(calling<PyImport_ImportModule>(module));
  return check(PyObject_GetAttrString(imported.get(), function));
}

}  // namespace refarray::extension
