// Text about Python objects for error messages.
#include "extension/capi/object_text.hpp"

#include "extension/capi/errors.hpp"
#include "extension/capi/ref.hpp"

namespace refarray::extension {

std::string utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes == nullptr) throw ErrorSet{};
  return {bytes, static_cast<std::size_t>(size)};
}

std::string type_name(PyObject* object) {
  return utf8(check(PyType_GetQualName(Py_TYPE(object))).get());
}

namespace {

bool is_plain(PyObject* object) noexcept {
  return PyLong_CheckExact(object) || PyUnicode_CheckExact(object);
}
bool is_plain_tuple(PyObject* object) noexcept {
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < compat::tuple_size(object); ++i)
    if (!is_plain(compat::tuple_item(object, i))) return false;
  return true;
}

}  // namespace

std::string short_repr(PyObject* object) {
  constexpr Py_ssize_t kLongest = 60;  // characters
  if (!is_plain(object) && !is_plain_tuple(object)) return type_name(object);
  Ref text = Ref::steal(calling<PyObject_Repr>(object));
  if (!text) {
    if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) throw ErrorSet{};
    compat::clear_raised();  // more digits than sys.set_int_max_str_digits() allows
    return "an int with too many digits to print";
  }
  if (check(PyUnicode_GetLength(text.get())) <= kLongest) return utf8(text.get());
  return utf8(check(PyUnicode_Substring(text.get(), 0, kLongest)).get()) + "...";
}

}  // namespace refarray::extension
