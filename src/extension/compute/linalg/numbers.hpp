// Arguments that are real numbers.
#pragma once

#include <Python.h>

#include <string>

#include "extension/capi/state.hpp"

namespace refarray::extension {

/// A real number that to_exact_number() takes, or an integer array of ndim 0, but no bool. `what`
/// names the argument in messages. Throws kType for others, kValue for NaN, OverflowError for an
/// int beyond float64.
double to_real(const State& state, PyObject* object, const char* function, const char* what);
/// The shortest decimals that identify the number, for messages.
std::string number_text(double value);

}  // namespace refarray::extension
