// Looking up imported modules, functions of the Python package, and attributes of types as the
// interpreter looks up special methods: along the MRO, unbound.
#pragma once

#include "extension/capi/errors.hpp"

namespace refarray::extension {

class State;

/// The value that `name` has in the __dict__ of the first class of the MRO that has it, unbound.
/// Empty if there is none. Neither the instance nor the metaclass has a say: only tp_mro and the
/// classes' own dicts are read. The interpreter's type cache answers where it can be reached, so a
/// change of any class of the MRO is seen at once, and nothing is remembered here.
Ref find_on_type(const State& state, PyTypeObject* type, PyObject* name);

/// find_on_type() without the type cache: what it falls back to, and what tests compare it with.
Ref walk_mro(const State& state, PyTypeObject* type, PyObject* name);

/// type.__dict__[name]: the getters of `__mro__` and `__dict__` that walk_mro() uses. Throws.
Ref getter_of_type(const char* name);

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
