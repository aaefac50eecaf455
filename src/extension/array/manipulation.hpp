// Owns the list of C++ functions behind the manipulation names; their docs and tables are in
// manipulation.cpp.
#pragma once

#include <Python.h>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

// shapes.cpp: views with other axes. Module functions.
Ref reshape_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref permute_dims(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref flip(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref broadcast_to(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref squeeze(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref expand_dims(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref moveaxis(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
// The method.
Ref reshape_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

// movement.cpp: the same elements in other memory, as another dtype, or with other rights. Module
// functions.
Ref astype_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref copy_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref to_device_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames);
// Methods.
Ref astype_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref copy_method(PyObject* self, PyObject*);
Ref to_device_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
Ref as_readonly(PyObject* self, PyObject*);
Ref is_contiguous(PyObject* self, PyObject*);

/// A look at the argument `x` of `function`, which must be an array: TypeError otherwise.
core::ArrayView to_view(const State& state, PyObject* x, const char* function);

}  // namespace refarray::extension
