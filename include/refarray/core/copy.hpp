// Owns the one door through which elements move: strided copy and conversion between two host arrays of equal shape.
#pragma once

#include "refarray/core/array.hpp"

namespace refarray::core {

/// Whether elements of `from` can become elements of `to`: every numeric kind into every other, except complex into
/// real (the imaginary part would be lost). Vector types (lanes > 1) only into the very same type, packed or padded.
bool can_convert(const DType& from, const DType& to) noexcept;

/// Copies element by element, converting where the dtypes differ, with ml_dtypes' results: round to nearest even;
/// overflow gives infinity, or NaN where the format has no infinity, or the largest value where it has neither.
/// Float to integer truncates towards zero, saturates at the range's ends, and NaN gives 0. Anything non-zero is True.
/// `dst` and `src` have equal shapes; strides may be zero or negative (zero in `src` broadcasts); either may be
/// misaligned. If their memory overlaps the result is as if `src` had been copied first.
/// Throws kType when can_convert is false; kValue when the shapes differ; kMemory for the temporary of an overlap.
void copy(const ArrayView& dst, const ArrayView& src);

}  // namespace refarray::core
