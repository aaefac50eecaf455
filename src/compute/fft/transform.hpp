// Fourier transforms of strided arrays along one axis.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

enum class Direction : std::uint8_t { kForward, kBackward };

/// Transforms the sequences along `axis`: out[j] = scale * sum over k of x[k] * exp(-2 pi i j k /
/// n) forward, and with the other sign backward. The dtypes are float32 and complex64, or float64
/// and complex128; at least one of the two arrays is complex. Real numbers have Hermitian
/// transforms, of which only the first n / 2 + 1 elements are stored: of `out` if `x` is real, of
/// `x` if `out` is. A sequence of `x` is cut, or extended by zeros, to the length that follows from
/// n >= 1.
///
/// The extents of `out` and `x` agree along the other axes. `out` may be `x`, and otherwise does
/// not overlap it. The bits depend on neither strides, threads nor the instruction set. Throws
/// kMemory. Returns false if interrupted; the making of factors, once for a length, is not.
bool transform(const ArrayView& out, const ArrayView& x, int axis, std::int64_t n,
               Direction direction, double scale, const InterruptCheck& interrupt);

}  // namespace refarray::core
