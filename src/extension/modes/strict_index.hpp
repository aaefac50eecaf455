// The indices that a strict namespace takes.
#pragma once

#include <Python.h>

#include "core/array.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

enum class IndexUse { kRead, kAssign };

/// Throws kIndex unless the standard promises the result of the index: one entry for each axis or
/// '...', slices within bounds, a mask alone, integer arrays beside integers. An assignment takes
/// neither None nor integer arrays. What is wrong in every namespace is left to the selection.
void require_standard_index(const State& state, const core::ArrayView& array, PyObject* index,
                            IndexUse use);

}  // namespace refarray::extension
