// Poisoned views: namespaces in which a write to memory with another live owner raises.
#pragma once

#include "core/array.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// A write to elements of an array.
struct Write {
  PyObject* array;
  core::ArrayView elements;     // that are written
  PyObject* operand = nullptr;  // read by the same call; no owner if nobody else holds it
  int held = 0;                 // references to the storage that the caller holds itself
};

/// In a namespace with poisoned views: throws kValue if the elements have an owner besides the
/// array.
void refuse_other_owners(const State& state, const Write& write, const char* what);

/// The array that an operator in place writes to: x1, or a copy if x1 is a view that only the
/// operator holds, as in `x[1:] += x2`, where the assignment that follows decides.
Ref target_in_place(const State& state, PyObject* x1, PyObject* x2);

}  // namespace refarray::extension
