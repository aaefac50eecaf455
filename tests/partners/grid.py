"""The grid of dtypes and layouts for all partners, and shared checks."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from helpers.dtype_names import FLOAT8, INTEGERS, SUB_BYTE

import refarray as ra
from refarray import _native

COUNT = 24
# The array API's names for NumPy older than 2.0, which some partners need.
NUMPY = SimpleNamespace(reshape=np.reshape, permute_dims=np.transpose, broadcast_to=np.broadcast_to)
MAX_VERSION = (1, 3)

# The dtypes that NumPy has; NumPy builds the expected values for all partners.
DTYPES = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128")
# Dtypes that only some partners have.
NARROW = ("bfloat16", "complex32", *FLOAT8, *SUB_BYTE)


@dataclass(frozen=True)
class Layout:
    """A view of COUNT flat elements, made with the array namespace `xp`."""

    build: Callable[[Any, Any], Any]
    compact: bool = False
    negative: bool = False
    broadcast: bool = False


LAYOUTS: dict[str, Layout] = {
    "flat": Layout(lambda _, x: x, compact=True),
    "scalar": Layout(lambda xp, x: xp.reshape(x[:1], ()), compact=True),
    "one": Layout(lambda _, x: x[:1], compact=True),
    "empty": Layout(lambda xp, x: xp.reshape(x[:0], (0, 3)), compact=True),
    "empty-inner": Layout(lambda xp, x: xp.reshape(x[:0], (2, 0, 3)), compact=True),
    "cube": Layout(lambda xp, x: xp.reshape(x, (2, 3, 4)), compact=True),
    "size-1": Layout(lambda xp, x: xp.reshape(x, (1, COUNT, 1)), compact=True),
    "eight": Layout(lambda xp, x: xp.reshape(x, (2, 1, 3, 1, 2, 1, 2, 1)), compact=True),
    "transposed": Layout(
        lambda xp, x: xp.permute_dims(xp.reshape(x, (4, 6)), (1, 0)), compact=True
    ),
    "permuted": Layout(
        lambda xp, x: xp.permute_dims(xp.reshape(x, (2, 3, 4)), (2, 0, 1)), compact=True
    ),
    "offset": Layout(lambda _, x: x[5:11]),
    "stepped": Layout(lambda _, x: x[1::3]),
    "column": Layout(lambda xp, x: xp.reshape(x, (4, 6))[:, 2]),
    "window": Layout(lambda xp, x: xp.reshape(x, (4, 6))[1:3, 2:5]),
    "reversed": Layout(lambda _, x: x[::-1], negative=True),
    "reversed-rows": Layout(lambda xp, x: xp.reshape(x, (4, 6))[::-1, 1::2], negative=True),
    "broadcast": Layout(lambda xp, x: xp.broadcast_to(x[:4], (3, 4)), broadcast=True),
}


def values(dtype: str, count: int = COUNT) -> list[Any]:
    """Values that are exact in the dtype, and distinct if it has enough of them."""
    if dtype == "bool":
        return [index % 3 == 0 for index in range(count)]
    if dtype.startswith("complex"):
        return [complex(index, -index) for index in range(count)]
    if dtype == "float8_e8m0fnu":
        return [2.0 ** (index % 8) for index in range(count)]
    if dtype in (*FLOAT8, *SUB_BYTE):
        return [float(index % 4) for index in range(count)]
    if dtype.startswith(("float", "bfloat")):
        return [float(index) for index in range(count)]
    return list(range(count))


def marks(dtype: str) -> tuple[Any, Any]:
    """Two values that differ from each other and from the first of `values`."""
    if dtype == "bool":
        return False, True
    if dtype.startswith("complex"):
        return complex(7, 1), complex(5, 2)
    if dtype == "float8_e8m0fnu":
        return 4.0, 8.0  # it has powers of two only
    return (6.0, 4.0) if "float" in dtype else (7, 5)


def ours(dtype: str, layout: str = "flat") -> Any:
    """refarray's array for a dtype and layout."""
    return LAYOUTS[layout].build(ra, ra.asarray(values(dtype), dtype=dtype))


def expected(dtype: str, layout: str = "flat") -> Any:
    """The expected values as nested lists, computed with NumPy; exact as float64."""
    wide = dtype if dtype in DTYPES else "float64"
    if dtype == "complex32":
        wide = "complex128"
    return LAYOUTS[layout].build(NUMPY, np.array(values(dtype), dtype=wide)).tolist()


def info(x: Any) -> dict[str, Any]:
    """The fields that refarray exports."""
    return _native._inspect_capsule(x.__dlpack__(max_version=MAX_VERSION))


def address(x: Any) -> int:
    """The address of the first element of a refarray array."""
    found = info(x)
    return found["data"] + found["byte_offset"]


def raw_bytes(x: Any) -> bytes:
    """The bytes of a C-contiguous refarray array."""
    assert x.is_contiguous()
    return ctypes.string_at(address(x), x.nbytes) if x.nbytes else b""


def first(x: Any) -> Any:
    return x[(0,) * x.ndim].item()


def put(x: Any, value: Any) -> None:
    x[(0,) * x.ndim] = value


def assert_writes_seen(writer: Any, reader: Any, dtype: str) -> None:
    """Checks that a write to the first element on either side is visible on the other."""
    one, two = marks(dtype)
    put(writer, one)
    assert first(reader) == one
    put(reader, two)
    assert first(writer) == two
    put(writer, one)
    assert first(reader) == one


def assert_independent(source: Any, copy: Any, dtype: str) -> None:
    """Checks that a write on either side is not visible on the other."""
    one, two = marks(dtype)
    before = first(source)
    put(copy, one if before != one else two)
    assert first(source) == before
    held = first(copy)
    put(source, one if held != one else two)
    assert first(copy) == held


def check_import(
    result: Any, dtype: str, layout: str = "flat", at: int | None = None, strides: Any = None
) -> None:
    """Checks refarray's import of an array with the values of the grid: what it is and, unless it
    is empty, where."""
    assert str(result.dtype) == dtype
    assert result.shape == ours("int8", layout).shape
    assert result.tolist() == expected(dtype, layout)
    if result.size:
        assert at is None or address(result) == at
        assert strides is None or result.strides == tuple(strides)


def check_passes_through(dtype: str, through: Callable[[Any], Any]) -> None:
    """Checks that a partner passes refarray's array on, whatever its dtype is."""
    source = ours(dtype)
    back = through(source)
    assert back.dtype == source.dtype
    assert back.tolist() == source.tolist()
    assert address(back) == address(source)


def refill() -> Any:
    return [ra.full((24,), 9, dtype=dtype) for dtype in ("int64", "float32")]


def check_outlives(
    read: Callable[[], Any], start: int = 0, make: Callable[[], Any] = refill
) -> None:
    """Checks that the values of the grid are still there although their owner is gone. What `make`
    allocates would reuse and overwrite memory that was freed too early."""
    gc.collect()
    kept = [make() for _ in range(64)]
    assert list(read()) == values("int64")[start:]
    assert len(kept) == 64


def element_strides(array: Any) -> tuple[int, ...]:
    """The strides of an array that has them in bytes."""
    return tuple(stride // array.itemsize for stride in array.strides)


class Protocol:
    """Forwards the Python methods of an array; its type has no C exchange API."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()
