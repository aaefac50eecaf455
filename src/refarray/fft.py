"""The fft extension of the array API standard: discrete Fourier transforms.

Transforms of any length take O(n log n) operations. Results are the same bits for all strides,
thread counts and instruction sets. Only floating-point dtypes are transformed: float32, float64,
complex64 and complex128, each in its own precision.
"""

from refarray import _native

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

globals().update(_native._extension_functions("fft"))
