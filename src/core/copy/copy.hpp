// Owns the one door through which elements move: strided copy and conversion between two host
// arrays of equal shape.
#pragma once

#include "core/array.hpp"

namespace refarray::core {

/// Whether elements of `from` can become elements of `to`: every numeric kind into every other,
/// except complex into real (the imaginary part would be lost; bool is not such a loss: it asks
/// whether either part is non-zero). Vector types (lanes > 1) only into the very same type, packed
/// or padded.
bool can_convert(const DType& from, const DType& to) noexcept;

/// Throws kType when can_convert is false, kValue when the shapes differ.
void check_copy(const ArrayView& dst, const ArrayView& src);

/// Who is asked now and then whether a long copy shall go on: on the calling thread, after every
/// few MiB, which take milliseconds. nullptr: nobody.
struct InterruptCheck {
  bool (*stops)(void* context) noexcept = nullptr;
  void* context = nullptr;
};

/// Copies element by element, converting where the dtypes differ, with the results of NumPy and
/// ml_dtypes:
/// - to floats: round to nearest even; overflow gives infinity, or NaN where the format has no
/// infinity, or the largest
///   value where it has neither. The types of ml_dtypes convert through float32 (so float64 and
///   wide integers may round twice on the way there, as in ml_dtypes); float64 to float16 rounds
///   once, as in NumPy.
/// - floats to integers: towards zero, saturating at the range's ends, NaN gives 0 (undefined
/// elsewhere, defined here).
/// - between integers: modulo 2^n. To bool: anything non-zero is True, NaN included. Real to
/// complex: imaginary part 0.
/// - NaN stays NaN and keeps its sign where the format has both; -0 stays -0 where the format has
/// it.
///
/// `dst` and `src` have equal shapes; strides may be zero or negative (zero in `src` broadcasts;
/// where elements of `dst` share memory, which of them wins is unspecified); either may be
/// misaligned. If the memory of the two overlaps, the result is as if `src` had been copied first.
/// Bits between packed elements, and beside the first and last, survive. Throws kType when
/// can_convert is false; kValue when the shapes differ; kMemory for the temporary of an overlap.
///
/// False when `watch` stopped it: some elements of `dst` are new then and some are not, in no
/// order; each is whole. (After an overlap even `src` may be, being `dst`.)
bool copy(const ArrayView& dst, const ArrayView& src, const InterruptCheck& watch = {});

/// How many threads share a copy of more than 4 MiB, the calling one among them; from 1, the
/// default, to 256. The others live as long as the copy does, so a fork finds nothing of them.
/// Thread-safe; a copy that is under way keeps its number.
void set_copy_threads(int count) noexcept;
int copy_threads() noexcept;

}  // namespace refarray::core
