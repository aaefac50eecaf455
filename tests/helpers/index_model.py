"""Numbered arrays, and a model of indexing by arrays in plain Python."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import refarray as xp
from refarray import Array

Nested = Any
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
    "float64", "complex64", "complex128", "float16", "bfloat16", "complex32", "float8_e4m3fn",
]  # fmt: skip


def numbered(shape: tuple[int, ...], dtype: str = "int64") -> Array:
    """0, 1, 2, ... in row-major order, small enough for the dtype."""
    limit = {"bool": 2, "float8_e4m3fn": 16}.get(dtype, 100)
    return xp.reshape(
        xp.astype(xp.asarray([i % limit for i in range(prod(shape))], dtype="int64"), dtype), shape
    )


# --- The model: an index as the positions that it selects, each a tuple of integers.


def at(values: Nested, position: tuple[int, ...]) -> Any:
    for i in position:
        values = values[i]
    return values


def positions_of(
    shape: tuple[int, ...], index: tuple[Any, ...]
) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of x[index] and the position in x of each element, by NumPy's rules."""
    arrays: list[tuple[int | None, tuple[int, ...], Nested]] = []  # axis, shape, values
    plain: list[tuple[int | None, list[int]]] = []  # axis, positions along it
    places, axis, before = [], 0, -1
    for place, entry in enumerate(index):
        if entry is None:
            plain.append((None, [0]))
        elif isinstance(entry, slice):
            plain.append((axis, list(range(shape[axis]))[entry]))
            axis += 1
        else:
            before = len(plain) if before < 0 else before
            places.append(place)
            if isinstance(entry, int):
                arrays.append((axis, (), entry))
                axis += 1
            elif entry.dtype == xp.bool:
                found = [
                    p for p in itertools.product(*map(range, entry.shape)) if at(entry.tolist(), p)
                ]
                for i in range(entry.ndim):
                    arrays.append((axis, (len(found),), [p[i] for p in found]))
                    axis += 1
                if entry.ndim == 0:
                    arrays.append((None, (len(found),), [0] * len(found)))
            else:
                arrays.append((axis, entry.shape, entry.tolist()))
                axis += 1
    plain += [(a, list(range(shape[a]))) for a in range(axis, len(shape))]
    if places and places[-1] - places[0] >= len(places):
        before = 0
    block = xp.broadcast_shapes(*(s for _, s, _ in arrays))
    out_shape = (
        *(len(p) for _, p in plain[:before]),
        *block,
        *(len(p) for _, p in plain[before:]),
    )
    out = []
    for where in itertools.product(*map(range, out_shape)):
        in_block = where[before : before + len(block)]
        others = where[:before] + where[before + len(block) :]
        position = [0] * len(shape)
        for (a, along), i in zip(plain, others, strict=True):
            if a is not None:
                position[a] = along[i]
        for a, s, values in arrays:
            if a is not None:
                inner = in_block[len(block) - len(s) :]
                value = at(values, tuple(i if e != 1 else 0 for i, e in zip(inner, s, strict=True)))
                position[a] = value + (shape[a] if value < 0 else 0)
        out.append(tuple(position))
    return out_shape, out
