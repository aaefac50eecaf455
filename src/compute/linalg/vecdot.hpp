// Sums of products of vectors.
#pragma once

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// out[..., 0] = sum over k of conj(x1[..., k]) * x2[..., k]. x1 and x2 have the same shape and
/// dtype, one that computations accept; `out` has extent 1 along the last axis and overlaps
/// neither. Sums are those of reduce(). Throws kMemory. Returns false if interrupted.
bool vecdot(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
            const InterruptCheck& interrupt);

}  // namespace refarray::core
