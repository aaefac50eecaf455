// Text about Python objects for error messages: type names and short reprs.
#pragma once

#include <Python.h>

#include <string>

namespace refarray::extension {

/// A str as UTF-8. Throws ErrorSet if it has lone surrogates.
std::string utf8(PyObject* text);

/// The qualified name of the object's type: "float", "list", "Array".
std::string type_name(PyObject* object);

/// The repr of an exact int or str, or of a tuple of them, truncated to one line; for any other
/// object its type name. Never runs the object's own code, so it is safe in every message.
std::string short_repr(PyObject* object);

}  // namespace refarray::extension
