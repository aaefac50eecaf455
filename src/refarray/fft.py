"""The fft extension of the array API standard: discrete Fourier transforms.

Transforms of any length take O(n log n) operations. Results are the same bits for all strides,
thread counts and instruction sets. float32, float64, complex64 and complex128 are transformed, each
in its own precision.
"""

from refarray._native import _extension_functions

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

_functions = _extension_functions("fft")
fft = _functions["fft"]
fftfreq = _functions["fftfreq"]
fftn = _functions["fftn"]
fftshift = _functions["fftshift"]
hfft = _functions["hfft"]
ifft = _functions["ifft"]
ifftn = _functions["ifftn"]
ifftshift = _functions["ifftshift"]
ihfft = _functions["ihfft"]
irfft = _functions["irfft"]
irfftn = _functions["irfftn"]
rfft = _functions["rfft"]
rfftfreq = _functions["rfftfreq"]
rfftn = _functions["rfftn"]
