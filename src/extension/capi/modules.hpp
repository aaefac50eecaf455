// Looking up imported modules, and functions of the Python package.
#pragma once

#include <Python.h>

#include "extension/capi/errors.hpp"
#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// sys.modules[name], whatever it is; an empty Ref if nothing has been imported under this name.
/// Imports nothing. Throws ErrorSet.
inline Ref imported_module(PyObject* name) {
  Ref module = Ref::steal(calling<PyImport_GetModule>(name));
  if (!module && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return module;
}

/// A function of a module of the package, which is imported on first use. Throws ErrorSet.
inline Ref python_function(const char* module, const char* function) {
  const Ref imported = check(calling<PyImport_ImportModule>(module));
  return check(PyObject_GetAttrString(imported.get(), function));
}

}  // namespace refarray::extension
