// The indices that a strict namespace takes.
#pragma once

#include <Python.h>

#include <cstdint>

#include "core/array.hpp"
#include "extension/capi/state.hpp"
#include "extension/indexing/index.hpp"

namespace refarray::extension {

enum class IndexUse { kRead, kAssign };

/// An entry that is no slice, '...', None or array of the namespace: throws kIndex unless it is an
/// integer.
void require_standard_entry(PyObject* object);

/// Throws kIndex unless the standard promises the result of the index: one entry for each axis or
/// '...', a mask alone, integer arrays beside integers. An assignment takes neither None nor
/// integer arrays. What is wrong in every namespace is left to the selection, which calls
/// require_standard_slice().
void require_standard_index(const State& state, const core::ArrayView& array, const Index& index,
                            IndexUse use);

/// Throws kIndex for a bound beyond the axis of the extent, unless it is None, which stands for the
/// largest or smallest number.
void require_standard_slice(const IndexEntry& slice, std::int64_t extent);

}  // namespace refarray::extension
