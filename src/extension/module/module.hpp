// What the modules of all namespaces have in common.
#pragma once

#include "extension/capi/module_definition.hpp"

namespace refarray::extension {

/// Lets new arrays of the state use the object pool, where the interpreter has one.
void open_object_pool(State& state) noexcept;

/// Adds the functions of the default namespace, bound to the module.
void add_functions(PyObject* module);

// Parts of the definition of a module whose state is a State.
int traverse_module(PyObject* module, visitproc visit, void* argument) noexcept;
int clear_module(PyObject* module) noexcept;
void free_module(void* module) noexcept;

}  // namespace refarray::extension
