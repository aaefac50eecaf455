// What the part that computes gives to the others: extension/compute has it, and in a build without
// that part (REFARRAY_COMPUTE) without_compute.cpp.
#pragma once

#include <vector>

#include "core/array.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

class Index;

/// Adds the functions that compute to a module.
void add_computing_functions(PyObject* module);

/// The slots of all arithmetic, bitwise and comparison operators, without those that compute in
/// place for immutable arrays.
void add_operators(std::vector<PyType_Slot>& slots, const Modes& modes);

// Not inlined: see indexing/indexing.hpp.

/// A new array with the elements that an index with masks or integer arrays selects.
[[gnu::noinline]] Ref get_by_arrays(State& state, const core::ArrayView& array, Index& index);
/// Assigns to the elements that an index with masks or integer arrays selects.
[[gnu::noinline]] void assign_by_arrays(State& state, const core::ArrayView& array, Index& index,
                                        PyObject* value);

}  // namespace refarray::extension
