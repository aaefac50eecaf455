// Docstrings of tobytes(), view() and __sizeof__().
#pragma once

namespace refarray::extension {

inline constexpr char kTobytesDoc[] = R"doc(tobytes($self, /, order='C')
--

Return a copy of the elements as bytes, without gaps.

order: 'C' or None for row-major order, 'F' for column-major order, 'A' for column-major
    order if the array is Fortran-contiguous and not C-contiguous, else row-major order.

Packed elements of less than a byte stay packed; the bits after the last one are 0.
Device memory is copied to the CPU first. Raises ValueError for another order, TypeError
for an order that is no str.)doc";

inline constexpr char kViewDoc[] = R"doc(view($self, /, dtype)
--

Return a view of the same bytes as elements of another dtype. Never copies.

If the elements have the same size, the layout stays. Otherwise the last axis, which must
have stride 1, gets the number of new elements in its bytes, and every other stride must
be a whole number of new elements. The view shares and keeps alive the memory, and is
read-only if the array is. bool elements should be 0 or 1 bytes.

Raises ValueError with the numbers if the layout does not permit the view, and for size
changes of arrays of ndim 0.)doc";

inline constexpr char kSizeofDoc[] = R"doc(__sizeof__($self, /)
--

Return the bytes of the object with the memory that it owns, for sys.getsizeof().

Host memory that refarray allocated counts for the array that was made with it, and once
that array is gone, for its last view. So it never counts twice. Memory of other
libraries, pinned memory and device memory do not count.)doc";

}  // namespace refarray::extension
