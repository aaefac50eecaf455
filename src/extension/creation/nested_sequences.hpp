// Arrays from nested sequences of numbers and arrays.
#pragma once

#include <Python.h>

#include "core/array.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// What asarray() takes and assignments refuse: arrays of other namespaces, and numbers of a kind
/// above that of the dtype if the dtype has one of equal value.
enum class Leniency : bool { kNone, kOfAsarray };

/// A new array on the CPU from a number, or from nested sequences of numbers and arrays. The
/// innermost level of a vector dtype (lanes > 1) holds the lanes; a single number fills all lanes.
/// `dtype` nullptr: inferred from the numbers. Throws ValueError for ragged sequences, TypeError
/// for other objects, and what reading the sequences raises.
core::Array array_from_nested(State& state, PyObject* object, const core::DType* dtype,
                              Leniency leniency = Leniency::kNone);

}  // namespace refarray::extension
