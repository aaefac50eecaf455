// The rows of the functions of the extension linalg that multiply vectors and take diagonals.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kCross{
    "cross",
    "x1, x2, /, *, axis=-1",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the cross products of vectors of three elements.

x1, x2: arrays of numeric dtypes with extent 3 along the axis; the other axes broadcast.
axis: counted from the end, so that it means the same axis of both arrays:
    -min(x1.ndim, x2.ndim) to -1.

Returns a new array of the promoted dtype. Integers wrap around.

Raises ValueError for other extents, shapes that do not broadcast and ndim 0,
IndexError for an axis out of range, TypeError for other dtypes and where the
promotion is undefined, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kOuter{
    "outer",
    "x1, x2, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the products of every two elements of two vectors.

x1, x2: arrays of numeric dtypes with shapes (M,) and (N,).

Returns a new array of the promoted dtype with shape (M, N). Integers wrap around.

Raises ValueError for other shapes, TypeError for other dtypes and where the promotion
is undefined, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kDiagonal{
    "diagonal",
    "x, /, *, offset=0",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return a view of the diagonals of matrices.

x: an array of any dtype with shape (..., M, N).
offset: of the diagonal: 0 for the main one, positive above, negative below.

Returns a view with shape (..., K), of no elements for an offset beyond the matrix.

Raises ValueError for ndim less than 2, TypeError for an argument that is not an
array.)doc",
};

inline constexpr FunctionRow kTrace{
    "trace",
    "x, /, *, offset=0, dtype=None",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the sums of the diagonals of matrices.

x: an array of a numeric dtype with shape (..., M, N).
offset: of the diagonal: 0 for the main one, positive above, negative below.
dtype: of the result, and in which elements are added; by default as for sum().

Returns a new array with shape (...). Integers wrap around.

Raises ValueError for ndim less than 2, TypeError for other dtypes,
NotImplementedError on a device.)doc",
};

}  // namespace refarray::extension
