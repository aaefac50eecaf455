// Arguments that are real numbers.
#pragma once

#include <Python.h>

#include <string>

namespace refarray::extension {

/// A Python float, or an object with __index__ that is no bool. `what` names the argument in
/// messages. Throws kType for others, kValue for NaN, OverflowError for an int beyond float64.
double to_number(PyObject* object, const char* function, const char* what);
/// The shortest decimals that identify the number, for messages.
std::string number_text(double value);

}  // namespace refarray::extension
