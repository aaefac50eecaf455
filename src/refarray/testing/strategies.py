"""Hypothesis strategies of hard arrays and producers. Needs the package hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

try:
    from hypothesis import assume, note
    from hypothesis import strategies as st
except ImportError as _error:
    raise ImportError(
        "refarray.testing.strategies needs Hypothesis: pip install hypothesis, or refarray[testing]"
    ) from _error

import refarray as ra
from refarray.testing.arrays import DTYPES, is_packed, lane
from refarray.testing.producers import PRODUCERS, HardProducer

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from refarray import Array

SIDE = 5
"""The largest extent of an array by default."""
DIFFERENT = 8
"""At most so many elements are drawn; longer arrays repeat them."""


def dtypes(names: Sequence[str] = ("float32", *DTYPES)) -> SearchStrategy[str]:
    """The name of one of these dtypes."""
    for name in names:
        ra.DType(name)
    return st.sampled_from(list(names))


def shapes(
    *, min_ndim: int = 0, max_ndim: int = 3, max_side: int = SIDE
) -> SearchStrategy[tuple[int, ...]]:
    """A shape; extents are 0 to `max_side`."""
    return st.lists(st.integers(0, max_side), min_size=min_ndim, max_size=max_ndim).map(tuple)


def elements(dtype: str) -> SearchStrategy[Any]:
    """A Python number that the dtype represents, of vectors a tuple of them; of floats also
    infinities and NaN where it has them."""
    kind = ra.DType(dtype)
    if kind.lanes > 1:
        return st.tuples(*[elements(lane(kind))] * kind.lanes)
    if ra.isdtype(kind, "bool"):
        return st.booleans()
    if ra.isdtype(kind, "integral"):
        limits = ra.iinfo(kind)
        return st.integers(limits.min, limits.max)
    if kind.kind == "complex":
        part = "float64" if kind.bits == 128 else "float32" if kind.bits == 64 else "float16"
        return st.builds(complex, elements(part), elements(part))
    if kind.bits >= 16 and kind != "bfloat16":
        width: Any = kind.bits
        return st.floats(width=width)
    return st.floats(width=16).map(lambda number: round_number(number, kind))


def round_number(number: float, kind: ra.DType) -> float:
    """The nearest number that a dtype represents."""
    value: float = ra.astype(ra.astype(ra.asarray(number), kind), "float64").item()
    return value


def layout(draw: DrawFn, shape: tuple[int, ...]) -> tuple[tuple[int, ...], list[slice], list[int]]:
    """(shape of the memory, slice of each of its axes, order of axes) of a view of this shape."""
    order = draw(st.permutations(range(len(shape))))
    memory, slices = [0] * len(shape), [slice(None)] * len(shape)
    for position, axis in enumerate(order):
        step = draw(st.sampled_from([1, 2, -1, -2]))
        before, after = draw(st.integers(0, 1)), draw(st.integers(0, 1))
        extent = shape[axis]
        span = max(0, (extent - 1) * abs(step) + 1) if extent else 0
        memory[position] = before + span + after
        if extent == 0:
            slices[position] = slice(0, 0)
        elif step > 0:
            slices[position] = slice(before, before + span, step)
        else:
            stop = before - 1
            slices[position] = slice(before + span - 1, stop if stop >= 0 else None, step)
    inverse = [list(order).index(axis) for axis in range(len(shape))]
    return tuple(memory), slices, inverse


def draw_filled(draw: DrawFn, shape: tuple[int, ...], dtype: str) -> Array:
    """A contiguous array of drawn elements."""
    count = prod(shape)
    drawn = draw(st.lists(elements(dtype), min_size=min(count, 1), max_size=min(count, DIFFERENT)))
    values = [drawn[index % len(drawn)] for index in range(count)]
    return ra.reshape(ra.asarray(values, dtype=dtype), shape)


@st.composite
def arrays(
    draw: DrawFn,
    dtype: str | SearchStrategy[str] | None = None,
    shape: Sequence[int] | SearchStrategy[tuple[int, ...]] | None = None,
    *,
    device: str = "cpu",
    readonly: bool | None = None,
) -> Array:
    """A hard array: any order of axes, steps of both signs, gaps, offsets, broadcast axes.

    dtype: a dtype's name or a strategy of names; dtypes() by default.
    shape: a shape or a strategy of shapes; shapes() by default.
    device: where the array is; "cuda_host" for pinned memory.
    readonly: True, False, or None for both. Broadcast arrays are read-only.

    A failing test's report has a note with its strides.
    """
    name = dtypes() if dtype is None else dtype
    chosen = name if isinstance(name, str) else draw(name)
    form = shapes() if shape is None else shape
    extents = tuple(form) if isinstance(form, Sequence) else draw(form)
    if is_packed(chosen):
        out = draw_filled(draw, extents, chosen)
        out = out if device == "cpu" else ra.to_device(out, device)
    else:
        broadcast = {
            axis
            for axis in range(len(extents))
            if readonly is not False and draw(st.integers(0, 7)) == 7
        }
        stored = tuple(1 if axis in broadcast else n for axis, n in enumerate(extents))
        memory, slices, order = layout(draw, stored)
        out = draw_filled(draw, memory, chosen)
        out = out if device == "cpu" else ra.to_device(out, device)
        out = ra.permute_dims(out[tuple(slices)], tuple(order)) if extents else out
        out = ra.broadcast_to(out, extents) if broadcast else out
    if readonly or (readonly is None and draw(st.booleans())):
        out = out.as_readonly()
    note(f"strides {out.strides} in elements, {'read-only' if out.readonly else 'writable'}")
    return out


@st.composite
def producers(
    draw: DrawFn,
    array: SearchStrategy[Array] | None = None,
    *,
    kinds: Sequence[str] | None = None,
    importable: bool | None = None,
) -> HardProducer:
    """A hard producer of a hard array.

    array: a strategy of its array; arrays() by default.
    kinds: some of refarray.testing.PRODUCERS; all by default.
    importable: True for those that can be imported, False for others, None for all.
    """
    wanted = [
        name
        for name in (PRODUCERS if kinds is None else kinds)
        if importable is None or PRODUCERS[name].importable is importable
    ]
    kind = draw(st.sampled_from(wanted))
    producer = HardProducer(kind, draw(arrays() if array is None else array))
    if importable and not producer.importable:  # the legacy struct of a read-only array
        producer.array = producer.array.copy()
        assume(producer.importable)  # padded elements stay so
    return producer
