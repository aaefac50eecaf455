// Results that are named tuples of arrays.
#pragma once

#include <Python.h>

#include <initializer_list>

#include "extension/capi/errors.hpp"
#include "extension/capi/modules.hpp"
#include "extension/objects/array_object.hpp"

namespace refarray::extension {

/// A named tuple of refarray._results, whose fields take over the arrays.
inline Ref named_tuple(const State& state, const char* type,
                       std::initializer_list<core::Array*> fields) {
  const Ref make = python_function("refarray._results", type);
  const Ref items = check(PyTuple_New(static_cast<Py_ssize_t>(fields.size())));
  Py_ssize_t at = 0;
  for (core::Array* field : fields)
    check(PyTuple_SetItem(items.get(), at++, make_array(state, std::move(*field)).release()));
  return check(calling<PyObject_CallObject>(make.get(), items.get()));
}

}  // namespace refarray::extension
