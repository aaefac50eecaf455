"""The same elements in every layout: gaps, reversed and permuted axes, odd addresses, read-only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import refarray
from refarray import Array

#: Every layout has rows of this many elements.
WIDTH = 4


def gapless(values: list[Any], dtype: str) -> Array:
    return refarray.asarray(values, dtype=dtype).reshape((-1, WIDTH))


def misaligned(x: Array) -> Array:
    """A copy whose elements start at an odd address."""
    memory = bytearray(b"\0" + x.tobytes())
    return refarray.from_buffer(memoryview(memory)[1:], dtype=x.dtype).reshape(x.shape)


def placed(x: Array, shape: tuple[int, int], key: Any) -> Array:
    """A copy inside a larger array."""
    around = refarray.zeros(shape, dtype=x.dtype)
    inside: Array = around[key]
    inside[...] = x
    return inside


def layouts(values: list[Any], dtype: str) -> Iterator[tuple[str, Array]]:
    """The name of the layout and a two-dimensional array with these elements."""
    x = gapless(values, dtype)
    rows, columns = x.shape
    yield "columns with gaps", placed(x, (rows, 2 * columns), (slice(None), slice(None, None, 2)))
    yield "rows with gaps", placed(x, (2 * rows, columns), slice(None, None, 2))
    yield "wide steps", placed(x, (rows, 3 * columns), (slice(None), slice(1, None, 3)))
    yield "reversed", refarray.flip(refarray.flip(x).copy())
    yield "reversed rows", refarray.flip(refarray.flip(x, axis=1).copy(), axis=1)
    yield "permuted", x.T.copy().T
    yield "misaligned", misaligned(x)
    yield "read-only", x.as_readonly()
    yield "behind the start", placed(x, (rows + 1, columns), slice(1, None))


def text(x: Array) -> str:
    """The elements, with the signs of zeros, without the signs of NaNs."""
    return repr(x.tolist())
