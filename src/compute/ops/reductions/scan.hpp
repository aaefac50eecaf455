// Running sums and products of host arrays along an axis.
#pragma once

#include "compute/ops/reduction_rows.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// The dtype in which sums and products with a result of `dtype` are computed: float32 for float16
/// and bfloat16, int64 or uint64 for integers, otherwise the same.
DType accumulator_dtype(const DType& dtype) noexcept;

/// Element i along the axis of `out` is that of `x`, combined with element i - 1 of `out`. The
/// shapes are equal; but if the axis is longer by one in `out`, element 0 is the result of no
/// elements.
///
/// `operation` is kCumulativeSum or kCumulativeProd; `x` converts to the dtype of `out`. Elements
/// are converted to it, or to the dtype in which they are computed, first. `out` does not overlap
/// `x`. Returns false when `interrupt` stopped the work; `out` then is unspecified.
bool scan(const ArrayView& out, const ArrayView& x, int axis, Reduction operation,
          const InterruptCheck& interrupt = {});

}  // namespace refarray::core
