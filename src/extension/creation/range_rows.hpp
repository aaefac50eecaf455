// The rows of linspace(), eye(), tril() and triu().
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kLinspace{
    "linspace",
    "start, stop, /, num, *, dtype=None, device=None, endpoint=True",
    Category::kCreation,
    2021,
    R"doc(Return num evenly spaced numbers from start to stop.

start, stop: numbers; the first and, if endpoint is True, the last element are
    exactly these.
dtype: a floating-point dtype; None selects float64, or complex128 if start or
    stop is complex. Numbers are computed in float64, ints subtracted before they
    are rounded, and then rounded once.
endpoint: False leaves stop out, as if of num + 1 numbers the last were dropped.

Raises ValueError for a negative num, OverflowError for an int that float64 cannot
represent, and TypeError for other dtypes and types.)doc",
};

inline constexpr FunctionRow kEye{
    "eye",
    "n_rows, n_cols=None, /, *, k=0, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a matrix with ones on diagonal k and zeros elsewhere.

n_cols: None means as many as n_rows.
k: positive for a diagonal above the main one, negative for one below it.
dtype: None means float64.

Raises ValueError for negative numbers, and for float8_e8m0fnu, which has no zero.)doc",
};

inline constexpr FunctionRow kTril{
    "tril",
    "x, /, *, k=0",
    Category::kCreation,
    2021,
    R"doc(Return a copy of matrices with zeros above diagonal k.

x: an array of ndim 2 or more; its last two axes are those of the matrices.

Raises ValueError for fewer axes, TypeError for elements smaller than a byte, and
NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kTriu{
    "triu",
    "x, /, *, k=0",
    Category::kCreation,
    2021,
    R"doc(Return a copy of matrices with zeros below diagonal k.

x: an array of ndim 2 or more; its last two axes are those of the matrices.

Raises ValueError for fewer axes, TypeError for elements smaller than a byte, and
NotImplementedError on a device.)doc",
};

}  // namespace refarray::extension
