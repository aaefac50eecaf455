// Poisoned views: namespaces in which a write to memory with another live owner raises.
#pragma once

#include <Python.h>

#include "core/array.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// To be called for the state of a new namespace, before it makes an array.
void watch_arrays(State& state);
/// When the state ends, and with it the type of its arrays.
void free_watched_arrays(State& state) noexcept;

/// Lists an array that has no storage yet. Throws std::bad_alloc.
void watch(const State& state, PyObject* array);
/// Before the array is freed.
void unwatch(PyObject* array) noexcept;
/// Sets the storage of a listed array.
void set_watched_storage(PyObject* array, core::Storage* storage) noexcept;

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
