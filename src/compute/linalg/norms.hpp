// Norms of vectors.
#pragma once

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// out[i] = (sum over k of |x[i, k]|^order)^(1 / order). For infinity it is the greatest magnitude,
/// for -infinity the least one, and for 0 the number of elements that are not zero. Over no
/// elements it is 0; a negative order needs elements.
///
/// x is row-major, of ndim 2 and dtype float64 or complex128; out is row-major, of ndim 1 and dtype
/// float64. Only the result itself overflows or underflows. NaN gives NaN. Magnitudes are added
/// pairwise in an order that depends on the extent only. Returns false if interrupted.
bool vector_norms(const ArrayView& out, const ArrayView& x, double order,
                  const InterruptCheck& interrupt) noexcept;

}  // namespace refarray::core
