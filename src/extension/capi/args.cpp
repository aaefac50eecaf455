// Slow paths of argument binding: keyword names that are not interned, and errors.
#include "extension/capi/args.hpp"

namespace refarray::extension::detail {

void raise_too_many(const char* function, Py_ssize_t limit, Py_ssize_t given) {
  raise(PyExc_TypeError, "%s() takes at most %zd positional argument%s (%zd given)", function,
        limit, limit == 1 ? "" : "s", given);
}
void raise_unexpected(const char* function, PyObject* name) {
  raise(PyExc_TypeError, "%s() got an unexpected keyword argument %R", function, name);
}
void raise_twice(const char* function, PyObject* name) {
  raise(PyExc_TypeError, "%s() got multiple values for argument %R", function, name);
}
void raise_missing(const char* function, PyObject* name) {
  raise(PyExc_TypeError, "%s() missing required argument %R", function, name);
}

Py_ssize_t find_equal_key(const Key* keys, Py_ssize_t count, PyObject* name) noexcept {
  for (Py_ssize_t i = 0; i < count; ++i) {
    // Cannot fail: keyword names are always str.
    if (PyUnicode_CompareWithASCIIString(name, kKeywordTexts[static_cast<std::size_t>(keys[i])]) ==
        0)
      return i;
  }
  return -1;
}

}  // namespace refarray::extension::detail
