// asarray() for C++ callers.
#pragma once

#include <Python.h>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// The module function; creation.cpp lists it.
Ref asarray(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

/// asarray(object) for functions that accept array-likes (assignment, full): the Array itself, a
/// view of exported memory, or a new array; converted to `dtype` unless that is nullptr. Throws as
/// asarray(), and kType for arrays of other namespaces, in sequences too.
Ref as_array(State& state, PyObject* object, const core::DType* dtype);

}  // namespace refarray::extension
