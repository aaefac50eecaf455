// Reductions of host arrays along any of their axes.
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

}  // namespace refarray::core
