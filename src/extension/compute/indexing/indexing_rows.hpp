// The rows of take(), take_along_axis() and nonzero().
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kTake{
    "take",
    "x, indices, /, *, axis=None",
    Category::kIndexing,
    2022,
    R"doc(Return the elements of x at indices along an axis, as a new array.

indices: an array of ndim 1 and of any integer dtype. Negative indices count from
    the end.
axis: may be None if x has ndim 1.

The result has the shape of x, but as many elements along axis as there are
indices. Raises IndexError for an index or axis out of range, ValueError for
other shapes, TypeError for other dtypes, and NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kTakeAlongAxis{
    "take_along_axis",
    "x, indices, /, *, axis=-1",
    Category::kIndexing,
    2024,
    R"doc(Return the elements of x at indices that differ from row to row along an axis.

indices: an array of any integer dtype with as many axes as x. But for axis, the
    shapes of both broadcast. Negative indices count from the end.

The element at (i, j, ..., k) is x[i, j, ..., indices[i, j, ..., k]] for the last
axis. Raises IndexError for an index or axis out of range, ValueError if the
shapes do not fit, TypeError for other dtypes, and NotImplementedError on a
device.)doc",
};

inline constexpr FunctionRow kNonzero{
    "nonzero",
    "x, /",
    Category::kSearching,
    2021,
    R"doc(Return the indices of the elements that are not zero, in row-major order.

The result is a tuple with one int64 array of ndim 1 for each axis. NaN is not
zero; a complex number is zero if both of its parts are. Raises ValueError for
ndim 0, TypeError for arguments of other types, and NotImplementedError on a
device.)doc",
};

}  // namespace refarray::extension
