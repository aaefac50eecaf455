// Strided copy and conversion between two host arrays of equal shape.
#pragma once

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// Whether `from` converts to `to`. Every scalar type converts to every other, except complex to
/// real (complex to bool is allowed: whether either part is non-zero). Vector types (lanes > 1)
/// convert only between the packed and the padded form of the same type.
bool can_convert(const DType& from, const DType& to) noexcept;

/// Throws kType when can_convert is false, kValue when the shapes differ.
void check_copy(const ArrayView& dst, const ArrayView& src);

/// Copies element by element and converts where the dtypes differ, as NumPy and ml_dtypes do:
///
/// - To a float: rounds to nearest even. Overflow gives infinity; without infinity NaN; without
///   either the largest finite value. The types of ml_dtypes convert through float32, so float64
///   and wide integers may round twice, as in ml_dtypes. float64 to float16 rounds once, as in
///   NumPy.
/// - Float to integer: truncates toward zero and saturates; NaN gives 0. (C++ leaves out-of-range
///   values undefined.)
/// - Integer to integer: modulo 2^n.
/// - To bool: non-zero values, NaN included, are True.
/// - Real to complex: the imaginary part is 0.
/// - NaN keeps its sign, and -0 its sign, where the destination format can represent it.
///
/// `dst` and `src` have equal shapes. Strides may be zero or negative: a zero stride of `src`
/// broadcasts; where elements of `dst` share memory, any of them may win. Both may be misaligned.
/// If they overlap, the result is as if `src` had been copied first. Bits that belong to no element
/// of `dst` are preserved.
///
/// Throws kType when can_convert() is false, kValue when the shapes differ, and kMemory when the
/// temporary copy of an overlap cannot be allocated.
///
/// Returns false when `interrupt` stopped the copy: an unspecified subset of the elements of `dst`
/// has been written, each completely. If the two overlap, `src` may have changed too.
bool copy(const ArrayView& dst, const ArrayView& src, const InterruptCheck& interrupt = {});

}  // namespace refarray::core
