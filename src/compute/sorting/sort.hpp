// Sorting along an axis, searching in sorted arrays, distinct elements, and membership.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

// Each function returns false when interrupted.

// --- Order: dtypes are real-valued ones that computable_scalar() accepts, or bool. The order is
// that of the values, and stable: equal elements keep their order, also when descending. Zeros of
// both signs are equal; NaNs are greater than all numbers, and equal.

/// Writes the elements of `array`, sorted along `axis`, to `out`: a new row-major array of the same
/// shape and dtype.
bool sort(const ArrayView& out, const ArrayView& array, int axis, bool descending,
          const InterruptCheck& interrupt);

/// Writes the indices along `axis` that sort `array` to `out`: a new row-major int64 array of the
/// same shape.
bool sort_order(const ArrayView& out, const ArrayView& array, int axis, bool descending,
                const InterruptCheck& interrupt);

/// For each of `values` its position in the flat array `sorted`: before equal elements, or after
/// them. Both have the same dtype; `out` is a new row-major int64 array of the shape of `values`.
bool search_sorted(const ArrayView& out, const ArrayView& sorted, const ArrayView& values,
                   bool after_equals, const InterruptCheck& interrupt);

// --- Sets: dtypes are those that computable_scalar() accepts.

/// Flat arrays; what is not asked for stays empty.
struct Distinct {
  Array
      values;  // ascending; NaNs, each distinct, last. Complex numbers by real, then imaginary part
  Array indices;  // int64: of the first occurrence of each value in row-major order
  Array inverse;  // int64, of the shape of the array: the index in `values` of each element
  Array counts;   // int64
};

/// `values`.
bool distinct_values(Distinct& out, const ArrayView& array, const InterruptCheck& interrupt);
/// `values` and `counts`.
bool distinct_counts(Distinct& out, const ArrayView& array, const InterruptCheck& interrupt);
/// All four. Of zeros with both signs the first is taken.
bool distinct_all(Distinct& out, const ArrayView& array, const InterruptCheck& interrupt);

/// Whether each of `values` is among `elements`, or is not if `inverts`. Both have the same dtype;
/// `out` is a new row-major bool array of the shape of `values`.
bool is_in(const ArrayView& out, const ArrayView& values, const ArrayView& elements, bool inverts,
           const InterruptCheck& interrupt);

}  // namespace refarray::core
