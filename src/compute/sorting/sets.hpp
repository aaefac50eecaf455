// Distinct elements, and membership.
#pragma once

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// Flat arrays; what is not asked for stays empty.
struct Distinct {
  Array
      values;  // ascending; NaNs, each distinct, last. Complex numbers by real, then imaginary part
  Array indices;  // int64: of the first occurrence of each value in row-major order
  Array inverse;  // int64, of the shape of the array: the index in `values` of each element
  Array counts;   // int64
};

// Dtypes are those that computable_scalar() accepts. The functions return false when interrupted.

/// `values` and `counts`.
bool distinct_counts(Distinct& out, const ArrayView& array, const InterruptCheck& interrupt);
/// All four. Of zeros with both signs the first is taken.
bool distinct_all(Distinct& out, const ArrayView& array, const InterruptCheck& interrupt);

/// Whether each of `values` is among `elements`, or is not if `inverts`. Both have the same dtype;
/// `out` is a new row-major bool array of the shape of `values`.
bool is_in(const ArrayView& out, const ArrayView& values, const ArrayView& elements, bool inverts,
           const InterruptCheck& interrupt);

}  // namespace refarray::core
