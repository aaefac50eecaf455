"""The linalg extension of the array API standard: linear algebra.

All functions take stacks of matrices, or of vectors, with any strides. float16, bfloat16 and
float32 are computed in float64, complex64 in complex128, and rounded once. Results are the same
bits for all strides, thread counts and instruction sets, but for the last bit of logarithms and
norms, which the C library computes.
"""

from refarray._native import _extension_functions, matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

_functions = _extension_functions("linalg")
cholesky = _functions["cholesky"]
cross = _functions["cross"]
det = _functions["det"]
diagonal = _functions["diagonal"]
eig = _functions["eig"]
eigh = _functions["eigh"]
eigvals = _functions["eigvals"]
eigvalsh = _functions["eigvalsh"]
inv = _functions["inv"]
matrix_norm = _functions["matrix_norm"]
matrix_power = _functions["matrix_power"]
matrix_rank = _functions["matrix_rank"]
outer = _functions["outer"]
pinv = _functions["pinv"]
qr = _functions["qr"]
slogdet = _functions["slogdet"]
solve = _functions["solve"]
svd = _functions["svd"]
svdvals = _functions["svdvals"]
trace = _functions["trace"]
vector_norm = _functions["vector_norm"]
