// Docstrings of linspace(), eye(), tril() and triu().
//
// The first line of a docstring is the text signature, which inspect.signature() reads.
#pragma once

namespace refarray::extension {

inline constexpr char kLinspaceDoc[] =
    R"doc(linspace($module, start, stop, /, num, *, dtype=None, device=None, endpoint=True)
--

Return num evenly spaced numbers from start to stop.

start, stop: numbers; the first and, if endpoint is True, the last element are
    exactly these.
dtype: a floating-point dtype; None selects float64, or complex128 if start or
    stop is complex. Numbers are computed in float64 and rounded once.
endpoint: False leaves stop out, as if of num + 1 numbers the last were dropped.

Raises ValueError for a negative num, OverflowError for an int that float64 cannot
represent, and TypeError for other dtypes and types.
Array API 2025.12: linspace.)doc";

inline constexpr char kEyeDoc[] =
    R"doc(eye($module, n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
--

Return a matrix with ones on diagonal k and zeros elsewhere.

n_cols: None means as many as n_rows.
k: positive for a diagonal above the main one, negative for one below it.
dtype: None means float64.

Raises ValueError for negative numbers, and for float8_e8m0fnu, which has no zero.
Array API 2025.12: eye.)doc";

inline constexpr char kTrilDoc[] = R"doc(tril($module, x, /, *, k=0)
--

Return a copy of matrices with zeros above diagonal k.

x: an array of ndim 2 or more; its last two axes are those of the matrices.

Raises ValueError for fewer axes, TypeError for elements smaller than a byte, and
NotImplementedError on a device.
Array API 2025.12: tril.)doc";

inline constexpr char kTriuDoc[] = R"doc(triu($module, x, /, *, k=0)
--

Return a copy of matrices with zeros below diagonal k.

x: an array of ndim 2 or more; its last two axes are those of the matrices.

Raises ValueError for fewer axes, TypeError for elements smaller than a byte, and
NotImplementedError on a device.
Array API 2025.12: triu.)doc";

}  // namespace refarray::extension
