// Reductions of host arrays along any of their axes, and running sums and products along one.
#pragma once

#include <cstdint>

#include "compute/ops/reduction_rows.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// A reduction other than a scan, with the bits of the axes that it reduces.
struct ReductionCall {
  Reduction operation;
  std::uint64_t axes;
  double correction = 0;  // of var and std
};

/// Reduces `x` into `out`, which has the rank of `x` and extent 1 where an axis is reduced.
///
/// Elements are converted to the dtype of `out` first for sum and prod, if it is floating-point.
/// float16 and bfloat16 are computed in float32, integers in 64 bits, var and std in float64; the
/// result is rounded once. Elements are combined in the order that
/// compute/kernels/reducing/reductions.hpp gives for the row-major index along the reduced axes:
/// the result depends on shape and values only.
///
/// The row of the operation accepts the dtype of `x`, and the reduced axes have elements if it has
/// no identity. `out` does not overlap `x`. Throws kMemory. Returns false when `interrupt` stopped
/// the work; `out` then is unspecified.
bool reduce(const ArrayView& out, const ArrayView& x, const ReductionCall& call,
            const InterruptCheck& interrupt = {});

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
