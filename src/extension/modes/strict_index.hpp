// The indices that a strict namespace takes.
#pragma once

#include <Python.h>

#include <cstdint>

#include "core/array.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

enum class IndexUse { kRead, kAssign };

/// Throws kIndex unless the standard promises the result of the index: one entry for each axis or
/// '...', a mask alone, integer arrays beside integers. An assignment takes
/// neither None nor integer arrays. What is wrong in every namespace is left to the selection.
/// The selection checks slices by require_open_slice().
void require_standard_index(const State& state, const core::ArrayView& array, PyObject* index,
                            IndexUse use);

/// For a slice with a bound beyond an axis of the extent: throws kIndex unless that is None, which
/// stands for the largest or smallest number. `start`, `stop`: which bounds are beyond.
void require_open_slice(PyObject* slice, std::int64_t extent, bool start, bool stop);

}  // namespace refarray::extension
