// Whether an array has an element of a value.
#pragma once

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// found = whether an element of `x` equals `value`, an array of ndim 0, after both are converted
/// to the dtype of the row `dtype` of kScalars. An axis that repeats elements takes no time. Stops
/// at the first block that has one. Returns false when `interrupt` stopped the search.
bool contains(bool& found, const ArrayView& x, const ArrayView& value, ScalarType dtype,
              const InterruptCheck& interrupt);

}  // namespace refarray::core
