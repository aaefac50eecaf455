"""A small array library: arrays of numbers in NumPy's memory, with DLPack in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np

__version__ = "1.0"


class Array:
    """An array. Its data is NumPy's; only what it is exported as is its own."""

    def __init__(self, data: Any) -> None:
        self._data = np.asarray(data)

    def __dlpack__(self, **keywords: Any) -> Any:
        """Export it."""
        return self._data.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the type and the number of its device."""
        return self._data.__dlpack_device__()

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of elements along each axis."""
        return self._data.shape

    @property
    def dtype(self) -> str:
        """Return the name of the type of its elements."""
        return self._data.dtype.name

    def tolist(self) -> Any:
        """Return its elements as nested lists."""
        return self._data.tolist()


def arange(stop: int, dtype: str = "float32") -> Array:
    """Return the numbers from 0 to `stop`."""
    return Array(np.arange(stop, dtype=dtype))


def ones(shape: int, dtype: str = "float32") -> Array:
    """Return ones."""
    return Array(np.ones(shape, dtype=dtype))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Import an array of another library."""
    return Array(np.from_dlpack(x, device=device, copy=copy))
