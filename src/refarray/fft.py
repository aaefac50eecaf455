"""The fft extension of the array API standard: discrete Fourier transforms.

Transforms of any length take O(n log n) operations. Results are the same bits for all strides,
thread counts and instruction sets. float32, float64, complex64 and complex128 are transformed, each
in its own precision.
"""

from refarray._native import _extension_functions

_functions = _extension_functions("fft")
globals().update(_functions)
__all__ = sorted(_functions)
