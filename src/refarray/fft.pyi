# Written by tools/rows from the rows of the functions; do not edit.

from collections.abc import Sequence
from typing import Literal, SupportsIndex, overload

from refarray._native import Array, DType, _Axes, _DeviceLike, _DTypeLike, _Name

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

def fft(
    x: Array,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
@overload
def fftfreq(
    n: SupportsIndex, /, *, d: float = 1.0, dtype: DType[_Name], device: _DeviceLike | None = None
) -> Array[_Name]: ...
@overload
def fftfreq(
    n: SupportsIndex,
    /,
    *,
    d: float = 1.0,
    dtype: _DTypeLike | None = None,
    device: _DeviceLike | None = None,
) -> Array: ...
def fftn(
    x: Array,
    /,
    *,
    s: Sequence[SupportsIndex] | None = None,
    axes: Sequence[SupportsIndex] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
def fftshift(x: Array[_Name], /, *, axes: _Axes | None = None) -> Array[_Name]: ...
def hfft(
    x: Array,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
def ifft(
    x: Array,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[SupportsIndex] | None = None,
    axes: Sequence[SupportsIndex] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
def ifftshift(x: Array[_Name], /, *, axes: _Axes | None = None) -> Array[_Name]: ...
def ihfft(
    x: Array,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
def irfft(
    x: Array,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[SupportsIndex] | None = None,
    axes: Sequence[SupportsIndex] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
def rfft(
    x: Array,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
@overload
def rfftfreq(
    n: SupportsIndex, /, *, d: float = 1.0, dtype: DType[_Name], device: _DeviceLike | None = None
) -> Array[_Name]: ...
@overload
def rfftfreq(
    n: SupportsIndex,
    /,
    *,
    d: float = 1.0,
    dtype: _DTypeLike | None = None,
    device: _DeviceLike | None = None,
) -> Array: ...
def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[SupportsIndex] | None = None,
    axes: Sequence[SupportsIndex] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array: ...
