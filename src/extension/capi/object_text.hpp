// Owns words about Python objects for messages: the name of an object's type, and a short repr.
#pragma once

#include <Python.h>

#include <string>

namespace refarray::extension {

/// The text of a str. Throws ErrorSet when it has no UTF-8 form (lone surrogates).
std::string utf8(PyObject* text);

/// The qualified name of the object's type: "float", "list", "Array".
std::string type_name(PyObject* object);

/// The repr of an int or a str, cut where it gets long; of anything else, the name of its type.
/// Runs no code of the object's own, so it may stand in any message.
std::string short_repr(PyObject* object);

}  // namespace refarray::extension
