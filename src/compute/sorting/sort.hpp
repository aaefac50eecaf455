// Sorting along an axis, and searching in sorted arrays.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

// Dtypes are real-valued ones that computable_scalar() accepts, or bool. The order is that of the
// values, and stable: equal elements keep their order, also when descending. Zeros of both signs
// are equal; NaNs are greater than all numbers, and equal. Each function returns false when
// interrupted.

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

}  // namespace refarray::core
