// Matrix products of strided arrays, and sums of products of vectors.
#pragma once

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// out[..., i, j] = sum over k of x1[..., i, k] * x2[..., k, j]. All arrays have ndim >= 2 and the
/// same dtype: an integer, float32, float64 or complex one. `out` is row-major and does not overlap
/// the others, whose leading axes broadcast to its own.
///
/// Products of slices of 256 elements along k are added one after the other with fused
/// multiply-adds, and the slices likewise; integers wrap around. A complex product adds the real
/// part of its first factor times the second before the imaginary one. The bits do not depend on
/// strides, threads or the instruction set. Throws kMemory. Returns false if interrupted.
bool matmul(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
            const InterruptCheck& interrupt);

/// As matmul(), but adds the sums to what is in `out`, whose rows may have gaps between them.
bool add_matmul(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
                const InterruptCheck& interrupt);

/// out[..., 0] = sum over k of conj(x1[..., k]) * x2[..., k]. x1 and x2 have the same shape and
/// dtype, one that computations accept; `out` has extent 1 along the last axis and overlaps
/// neither. Sums are those of reduce(). Throws kMemory. Returns false if interrupted.
bool vecdot(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
            const InterruptCheck& interrupt);

}  // namespace refarray::core
