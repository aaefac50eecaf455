// Lookup of attributes on types as the interpreter looks up special methods: along the MRO,
// unbound.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"

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

}  // namespace refarray::extension
