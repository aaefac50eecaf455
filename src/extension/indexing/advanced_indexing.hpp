// Indexing by boolean masks and integer arrays.
#pragma once

#include <Python.h>

#include <cstddef>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// Whether an index that is no integer may be an array: an Array, a bool, a list, or an array of
/// another library. Runs no user code. Throws kType for an array of another namespace.
bool is_array_index(const State& state, PyObject* index);

/// A new array with the elements that an index with masks or integer arrays selects.
Ref get_by_arrays(State& state, const core::ArrayView& array, PyObject* index);
/// Assigns to the elements that such an index selects. The array is writable.
void assign_by_arrays(State& state, const core::ArrayView& array, PyObject* index, PyObject* value);

// In indexing.cpp; the last three are what both kinds of index share.

/// What x[index] is.
Ref subscript(State& state, const core::ArrayView& array, PyObject* index);

[[noreturn, gnu::cold]] void fail_not_index(PyObject* index);

/// The normalized integer index, in [0, extent).
std::int64_t position_of(PyObject* index, int axis, std::int64_t extent);

/// The value of an assignment as an array: of `to`, or of a dtype that promotes to it. It is in
/// `element` or belongs to `owner`.
core::ArrayView assigned_value(State& state, PyObject* value, const core::DType& to,
                               std::byte (&element)[16], Ref& owner);

}  // namespace refarray::extension
