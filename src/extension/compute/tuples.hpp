// Results that are tuples of arrays.
#pragma once

#include <initializer_list>
#include <vector>

#include "extension/capi/lookup.hpp"
#include "extension/objects/array_object.hpp"

namespace refarray::extension {

/// A tuple of the objects.
inline Ref make_tuple(std::vector<Ref> items) {
  Ref out = check(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i)
    check(PyTuple_SetItem(out.get(), static_cast<Py_ssize_t>(i), items[i].release()));
  return out;
}

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
