// The rows of the functions of the extension linalg that solve systems, measure and take apart.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kDet{
    "det",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the determinants of matrices.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a new array of the dtype of x with shape (...): 0 for a singular matrix, 1 for
an empty one.

Raises ValueError for other shapes, TypeError for other dtypes, NotImplementedError on
a device.)doc",
};

inline constexpr FunctionRow kSlogdet{
    "slogdet",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the signs and the logarithms of the magnitudes of determinants.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a named tuple SlogdetResult(sign, logabsdet) of new arrays with shape (...).
sign has the dtype of x, and magnitude 1; logabsdet is real. A singular matrix has
sign 0 and -infinity.

Raises ValueError for other shapes, TypeError for other dtypes, NotImplementedError on
a device.)doc",
};

inline constexpr FunctionRow kInv{
    "inv",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the inverses of matrices.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a new array of the dtype and shape of x.

Raises ValueError if a pivot of the LU decomposition of a matrix is exactly zero and
for other shapes, TypeError for other dtypes, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kSolve{
    "solve",
    "x1, x2, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the solutions y of the linear systems x1 @ y = x2.

x1: an array of a floating-point dtype with shape (..., M, M).
x2: an array of a floating-point dtype with shape (M,), a vector, or (..., M, K). The
    leading axes broadcast.

Returns a new array of the promoted dtype with shape (..., M) for a vector, otherwise
(..., M, K).

Raises ValueError if a pivot of the LU decomposition of a matrix is exactly zero and
for shapes that do not fit, TypeError for other dtypes and where the promotion is
undefined, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kMatrixPower{
    "matrix_power",
    "x, n, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the products of matrices with themselves.

x: an array of a floating-point dtype with shape (..., M, M).
n: an integer of any size. 0 gives identity matrices; if negative, the inverses are multiplied.

Returns a new array of the dtype and shape of x, computed by repeated squaring.

Raises ValueError for other shapes and, if n is negative, as inv(), TypeError for
other dtypes and an n that is no integer, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kMatrixRank{
    "matrix_rank",
    "x, /, *, rtol=None",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the numbers of singular values of matrices that are not zero.

x: an array of a floating-point dtype with shape (..., M, N).
rtol: a number that is not negative, or an array of real floats that broadcasts to the
    shape (...). Singular values up to rtol times the greatest one count as zero.
    None: max(M, N) times the epsilon of the dtype.

Returns a new array of dtype int64 with shape (...). A matrix with an element that is
not finite has rank 0.

Raises ValueError for a negative rtol, NaN and shapes that do not fit, TypeError for
other dtypes, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kPinv{
    "pinv",
    "x, /, *, rtol=None",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the Moore-Penrose inverses of matrices.

x: an array of a floating-point dtype with shape (..., M, N).
rtol: as of matrix_rank().

Returns a new array of the dtype of x with shape (..., N, M). A matrix with an element
that is not finite has NaN only.

Raises ValueError for a negative rtol, NaN and shapes that do not fit, TypeError for
other dtypes, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kMatrixNorm{
    "matrix_norm",
    "x, /, *, keepdims=False, ord='fro'",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the norms of matrices.

x: an array of a floating-point dtype with shape (..., M, N).
keepdims: whether the last two axes stay, with extent 1.
ord: "fro" or None: the root of the sum of squares. "nuc": the sum of the singular
    values; 2, -2: the greatest and the least one. 1, -1: the greatest and the least
    sum of magnitudes in a column; inf, -inf: in a row.

Returns a new array of the real dtype of the precision of x with shape (...). Only the
result itself overflows. Of an empty matrix it is 0.

Raises ValueError for another ord and ndim less than 2, TypeError for other dtypes,
NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kVectorNorm{
    "vector_norm",
    "x, /, *, axis=None, keepdims=False, ord=2",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the norms of vectors: (sum of |x| ** ord) ** (1 / ord).

x: an array of a floating-point dtype.
axis: an axis, or several whose elements are one vector. None: all axes.
keepdims: whether the reduced axes stay, with extent 1.
ord: a number. inf: the greatest magnitude; -inf: the least one; 0: the number of
    elements that are not zero.

Returns a new array of the real dtype of the precision of x. Only the result itself
overflows. Without elements it is 0.

Raises ValueError for NaN and repeated axes, IndexError for an axis out of range,
TypeError for other dtypes, NotImplementedError on a device.)doc",
};

}  // namespace refarray::extension
