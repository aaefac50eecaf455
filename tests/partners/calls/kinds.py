"""The kinds of arrays that every call is tried with: dtypes, layouts, and the values in them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

DTYPES = ("uint8", "int64", "float32", "complex64", "bool", "bfloat16")
LAYOUTS = ("transposed", "reversed", "sliced", "0-d", "empty", "read-only")
MAIN = "contiguous"
"""The kind with the shape and dtype that the library is usually given."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def kinds(library: dict[str, Any]) -> dict[str, str]:
    """The kinds of a library and the dtype of each."""
    layouts = [MAIN, *LAYOUTS]
    if len(library["shape"]) < 2:
        layouts.remove("transposed")
    dtypes = [name for name in DTYPES if name != library["dtype"]]
    return {**dict.fromkeys(layouts, library["dtype"]), **{name: name for name in dtypes}}


def shape_of(kind: str, shape: list[int]) -> list[int]:
    """The shape of the memory from which `view` makes the array of a kind."""
    if kind == "0-d":
        return []
    if kind == "empty":
        return [0, *shape[1:]]
    if kind == "transposed":
        return shape[::-1]
    if kind == "sliced":
        return [*shape[:-1], 2 * shape[-1]]
    return shape


def view(kind: str, memory: Any) -> Any:
    """The array of a kind in `memory`, an array of NumPy or refarray."""
    if kind == "transposed":
        backwards = tuple(range(memory.ndim))[::-1]
        return memory.T if memory.ndim == 2 else permuted(memory, backwards)
    if kind == "reversed":
        return memory[::-1]
    return memory[..., ::2] if kind == "sliced" else memory


def permuted(memory: Any, axes: tuple[int, ...]) -> Any:
    if isinstance(memory, np.ndarray):
        return memory.transpose(axes)
    import refarray

    return refarray.permute_dims(memory, axes)


def values(dtype: str, shape: list[int], second: bool = False) -> np.ndarray[Any, Any]:
    """Numbers that every dtype represents; `second` are others at every place."""
    count = int(np.prod(shape, dtype=int))
    numbers = np.arange(count) % 89 + (120 if second else 1)
    if dtype == "bool":
        numbers = (np.arange(count) + second) % 2
    found = numbers.astype(numpy_dtype(dtype))
    if found.dtype.kind == "c":
        found += numbers.astype(found.dtype) * 2j
    return found.reshape(shape)
