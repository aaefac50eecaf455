// Selection and assignment by an index that has been read.
#pragma once

#include <Python.h>

#include <cstddef>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/capi/state.hpp"
#include "extension/indexing/index.hpp"

namespace refarray::extension {

// Not inlined, because the caller has read an index: the user code that ran meanwhile, and may have
// called refarray again, needs no frame with layouts below it.

/// What x[index] is.
[[gnu::noinline]] Ref subscript(State& state, const core::ArrayView& array, Index& index);

/// Throws TypeError for `del x[index]`, whose value is nullptr, and ValueError for a read-only
/// array.
void require_assignable(PyObject* self, PyObject* value);
/// x[index] = value, for an assignable array.
[[gnu::noinline]] void assign(PyObject* self, Index& index, PyObject* value);

/// The value of an assignment as an array: of `to`, or of a dtype that promotes to it. It is in
/// `element` or belongs to `owner`.
core::ArrayView assigned_value(State& state, PyObject* value, const core::DType& to,
                               std::byte (&element)[16], Ref& owner);

}  // namespace refarray::extension
