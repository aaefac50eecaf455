"""The linalg extension of the array API standard: linear algebra.

All functions take stacks of matrices, or of vectors, with any strides. float16, bfloat16 and
float32 are computed in float64, complex64 in complex128, and rounded once. Results are the same
bits for all strides, thread counts and instruction sets, but for the last bit of logarithms and
norms, which the C library computes.
"""

from refarray._native import _extension_functions, matmul, matrix_transpose, tensordot, vecdot

_functions = _extension_functions("linalg")
_functions |= {each.__name__: each for each in (matmul, matrix_transpose, tensordot, vecdot)}
globals().update(_functions)
__all__ = sorted(_functions)
