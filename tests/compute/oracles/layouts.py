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


def stepped(x: Array, step: int) -> Array:
    """A copy whose last axis has gaps, or runs backwards."""
    axis = x.ndim - 1
    around = refarray.zeros((*x.shape[:axis], x.shape[axis] * abs(step)), dtype=x.dtype)
    inside: Array = around[..., ::step]
    inside[...] = x
    return inside


def axes_reversed(x: Array) -> Array:
    return refarray.permute_dims(x, tuple(range(x.ndim))[::-1])


def views(x: Array) -> Iterator[tuple[str, Array]]:
    """The name of the layout and an array of at least one dimension with the elements of `x`."""
    last = x.ndim - 1
    yield "gaps", stepped(x, 3)
    yield "backwards", stepped(x, -1)
    yield "backwards with gaps", stepped(x, -2)
    yield "reversed", refarray.flip(refarray.flip(x).copy())
    yield "first axis reversed", refarray.flip(refarray.flip(x, axis=0).copy(), axis=0)
    yield "column-major", axes_reversed(axes_reversed(x).copy())
    yield "last axis first", refarray.moveaxis(refarray.moveaxis(x, last, 0).copy(), 0, last)
    if x.ndim > 1:
        yield "transposed", x.mT.copy().mT
        yield "transposed with gaps", stepped(x.mT, 2).mT
        yield "transposed backwards", stepped(x.mT, -1).mT
    yield "misaligned", misaligned(x)
    yield "read-only", x.as_readonly()
    whole = refarray.zeros(tuple(n + 3 for n in x.shape), dtype=x.dtype)
    part: Array = whole[(slice(1, -2),) * x.ndim]
    part[...] = x
    yield "part", part


def text(x: Array) -> str:
    """The elements, with the signs of zeros, without the signs of NaNs."""
    return repr(x.tolist())
