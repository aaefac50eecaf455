// take() for C++ callers.
#pragma once

#include "core/array.hpp"

namespace refarray::extension {

/// The elements of `array` at the flat `indices` along `axis`: a new array. Throws kIndex, and
/// kType naming `function` for dtypes that it cannot move.
core::Array take_along(const core::ArrayView& array, const core::ArrayView& indices, int axis,
                       const char* function);

}  // namespace refarray::extension
