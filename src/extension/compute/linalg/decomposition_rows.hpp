// The rows of the decompositions of the extension linalg.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kCholesky{
    "cholesky",
    "x, /, *, upper=False",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the Cholesky factors of positive definite matrices.

x: an array of a floating-point dtype with shape (..., M, M). Only its lower triangle
    is read, with upper=True only its upper one, and the real part of its diagonal.
upper: whether the factor U with x = U^H U is wanted, instead of L with x = L L^H.

Returns a new array of the dtype and shape of x: a triangular factor with a real,
positive diagonal. Its other triangle is zero.

Raises ValueError if a matrix is not positive definite and for other shapes, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kQr{
    "qr",
    "x, /, *, mode='reduced'",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the factors Q with orthonormal columns and R, upper triangular.

x: an array of a floating-point dtype with shape (..., M, N).
mode: "reduced" or "complete".

Returns a named tuple QRResult(Q, R) of new arrays of the dtype of x, with x = Q @ R.
With K = min(M, N), or M if complete, Q has shape (..., M, K) and R (..., K, N). The
diagonal of R is real, with the signs that Householder reflections give. A matrix with
an element that is not finite has NaN in both.

Raises ValueError for another mode and ndim less than 2, TypeError for other dtypes,
NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kEig{
    "eig",
    "x, /",
    Category::kLinearAlgebra,
    2025,
    R"doc(Return the eigenvalues and eigenvectors of matrices.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a named tuple EigResult(eigenvalues, eigenvectors) of new arrays of dtype
complex128 for float64 and complex128, otherwise complex64, with shapes (..., M) and
(..., M, M). The eigenvalues are in no particular order; those of a real matrix are
real or conjugate pairs. The eigenvectors are columns of norm 1, whose component of the
greatest magnitude is real and positive. A matrix with an element that is not finite
has NaN in both.

Raises ValueError for other shapes and if the iterations do not converge, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kEigvals{
    "eigvals",
    "x, /",
    Category::kLinearAlgebra,
    2025,
    R"doc(Return the eigenvalues of matrices.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a new array with shape (..., M), as the eigenvalues of eig(); they may differ
from those in the last bits.

Raises ValueError for other shapes and if the iterations do not converge, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kEigh{
    "eigh",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the eigenvalues and eigenvectors of Hermitian or symmetric matrices.

x: an array of a floating-point dtype with shape (..., M, M). Only its lower triangle
    is read, and the real part of its diagonal.

Returns a named tuple EighResult(eigenvalues, eigenvectors) of new arrays with shapes
(..., M) and (..., M, M): real values in ascending order, and orthonormal columns of
the dtype of x. A matrix with an element that is not finite has NaN in both.

Raises ValueError for other shapes and if the iterations do not converge, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kEigvalsh{
    "eigvalsh",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the eigenvalues of Hermitian or symmetric matrices.

x: an array of a floating-point dtype with shape (..., M, M). Only its lower triangle
    is read, and the real part of its diagonal.

Returns a new array with shape (..., M), as the eigenvalues of eigh(); they may differ
from those in the last bits.

Raises ValueError for other shapes and if the iterations do not converge, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kSvd{
    "svd",
    "x, /, *, full_matrices=True",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the singular value decompositions of matrices.

x: an array of a floating-point dtype with shape (..., M, N).
full_matrices: whether U and Vh are square. Otherwise they have K = min(M, N) columns
    and rows.

Returns a named tuple SVDResult(U, S, Vh) of new arrays with x = U * S @ Vh for the
first K columns of U and rows of Vh. U and Vh have the dtype of x, S (..., K) is real
and in descending order. The signs, or phases, of each pair of a column and a row are
as the algorithm leaves them. A matrix with an element that is not finite has NaN in
all three.

Raises ValueError for ndim less than 2 and if the iterations do not converge,
TypeError for other dtypes and a flag that is no bool, NotImplementedError on a
device.)doc",
};

inline constexpr FunctionRow kSvdvals{
    "svdvals",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the singular values of matrices.

x: an array of a floating-point dtype with shape (..., M, N).

Returns a new array with shape (..., min(M, N)), as the singular values of svd(); they
may differ from those in the last bits.

Raises ValueError for ndim less than 2 and if the iterations do not converge,
TypeError for other dtypes, NotImplementedError on a device.)doc",
};

}  // namespace refarray::extension
