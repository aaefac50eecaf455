// Owns what the creation functions share: their table's entries from other files, and arrays of
// numbers and over what others export.
#pragma once

#include <Python.h>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// asarray, for the table in creation.cpp.
Ref asarray(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
extern const char* const kAsarrayDoc;
/// arange, likewise.
Ref arange(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
extern const char* const kArangeDoc;

/// Numbers, or sequences of sequences of ... numbers and arrays, as a fresh array. A vector dtype
/// (lanes > 1) takes its lanes from the innermost level, or from the one number that there is.
/// `dtype` nullptr: inferred.
core::Array array_of_nested(State& state, PyObject* object, const core::DType* dtype);

}  // namespace refarray::extension
