// The rows of the functions that multiply matrices.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kMatmul{
    "matmul",
    "x1, x2, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the product of two matrices, of stacks of them, or of vectors.

x1: an array of a numeric dtype with shape (..., M, K) or (K,).
x2: an array of a numeric dtype with shape (..., K, N) or (K,).

Returns a new array of the promoted dtype with shape (..., M, N): the leading axes
broadcast; M is missing if x1 has ndim 1, and N if x2 has. Integers wrap around.
Floats are added in the order of K, in slices of 256 elements, with fused
multiply-adds; float16 and bfloat16 are added in float32. K == 0 gives zeros.

Raises ValueError for ndim 0 and for shapes that do not fit, TypeError for other
dtypes and where the promotion is undefined, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kMatrixTranspose{
    "matrix_transpose",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return a view of x with the last two axes swapped.

The same as x.mT. Raises ValueError if ndim is less than 2, TypeError for an
argument that is not an array.)doc",
};

inline constexpr FunctionRow kTensordot{
    "tensordot",
    "x1, x2, /, *, axes=2",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the sums of products of two arrays over several axes.

axes: the number N of axes, the last ones of x1 and the first ones of x2, in their
    order; or a pair of sequences with the axes of x1 and those of x2. 0 gives the
    outer product.

Returns a new array of the promoted dtype: its shape is that of x1 without its
axes, then that of x2 without its own. Products are added as in matmul().

Raises ValueError if the extents differ, an axis is repeated or there are too many,
IndexError for an axis out of range, TypeError for other dtypes and where the
promotion is undefined, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kVecdot{
    "vecdot",
    "x1, x2, /, *, axis=-1",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the sums of conj(x1) * x2 along an axis.

axis: counted from the end, so that it means the same axis of both arrays:
    -min(x1.ndim, x2.ndim) to -1. The extents along it must be equal, the other
    axes broadcast.

Returns a new array of the promoted dtype without the axis. Integers wrap around;
floats are added as in sum().

Raises ValueError for shapes that do not fit and ndim 0, IndexError for an axis out
of range, TypeError for other dtypes and where the promotion is undefined,
NotImplementedError on a device.)doc",
};

}  // namespace refarray::extension
