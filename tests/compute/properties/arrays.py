"""Random arrays for Hypothesis: every dtype of the standard, float16 and bfloat16, up to four axes,
and every layout that a view can have."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from oracles.formats import COMPLEX, INTEGERS, limits, rounded
from oracles.nested import Nested, Shape, made, size_of
from oracles.samples import samples

import refarray
from refarray import Array

xp: Any = refarray
Draw = Callable[[st.SearchStrategy[Any]], Any]
Element = Callable[[random.Random], Any]


def examples(share: float) -> int:
    """A share of the profile's number of examples."""
    return max(1, round(settings().max_examples * share))


class Drawn(NamedTuple):
    """An array, and what it holds."""

    array: Array
    model: Nested
    dtype: str

    @property
    def shape(self) -> Shape:
        return self.model.shape

    @property
    def values(self) -> list[Any]:
        return self.model.values


#: Equal extents show which axis is which: no result has a wrong shape.
equal_extents = st.builds(lambda n, ndim: (n,) * ndim, st.integers(2, 3), st.integers(2, 4))
shapes = st.lists(st.sampled_from((0, 1, 2, 3, 4, 5)), max_size=4).map(tuple) | equal_extents
#: Rows that are longer than a vector register, an unrolled loop and a run of an insertion sort.
long_shapes = st.tuples(st.integers(20, 700)) | st.tuples(st.integers(1, 3), st.integers(20, 200))


# --- Elements.

POOLS: dict[str, list[Any]] = {}


def any_element(dtype: str) -> Element:
    """Limits, signed zeros, NaN and other samples of the dtype, small numbers and random ones."""
    pool = POOLS.setdefault(dtype, samples(dtype))

    def element(rng: random.Random) -> Any:
        if dtype in INTEGERS and rng.random() < 0.3:
            return rng.randint(*limits(dtype))
        return rng.choice(pool)

    return element


def small_element(dtype: str) -> Element:
    """Numbers whose sums are exact in every format."""

    def element(rng: random.Random) -> Any:
        if dtype == "bool":
            return rng.random() < 0.5
        number = rng.randint(0 if dtype.startswith("u") else -6, 6)
        if dtype in INTEGERS:
            return number
        if dtype in COMPLEX:
            return complex(number / 2, rng.randint(-6, 6) / 2)
        return number / 2

    return element


def power_of_two(dtype: str) -> Element:
    """Numbers whose products are exact."""

    def element(rng: random.Random) -> Any:
        if dtype in INTEGERS:
            return rng.randint(*limits(dtype))
        return rng.choice((1.0, -1.0, 2.0, -2.0, 0.5))

    return element


# --- Layouts.


def gapless(model: Nested, dtype: str) -> Array:
    return xp.reshape(xp.asarray(model.values, dtype=dtype), model.shape)


def empty_memory(shape: Iterable[int], dtype: str, offset: int) -> Array:
    """Zeros, which begin `offset` bytes behind an aligned address."""
    shape = tuple(shape)
    if offset == 0 or not math.prod(shape):
        return xp.zeros(shape, dtype=dtype)
    kind = xp.zeros(0, dtype=dtype).dtype
    memory = bytearray(math.prod(shape) * kind.itemsize + offset)
    return xp.reshape(xp.from_buffer(memoryview(memory)[offset:], dtype=kind), shape)


def scattered(model: Nested, dtype: str, rng: random.Random) -> Array:
    """The elements in a view: permuted axes, gaps, negative steps, odd addresses, read-only."""
    ndim = len(model.shape)
    order = rng.sample(range(ndim), ndim)  # axis i of the memory is axis order[i] of the view
    steps = [rng.choice((-3, -2, -1, 1, 1, 2, 3)) for _ in order]
    margins = [rng.randint(0, 2) for _ in order]
    extents, slices = [], []
    for axis, step, margin in zip(order, steps, margins, strict=True):
        last = margin + max(model.shape[axis] - 1, 0) * abs(step)
        extents.append(last + 1 + rng.randint(0, 2))
        if model.shape[axis] == 0:
            slices.append(slice(margin, margin))
        elif step > 0:
            slices.append(slice(margin, last + 1, step))
        else:
            slices.append(slice(last, margin - 1 if margin else None, step))
    memory = empty_memory(extents, dtype, rng.choice((0, 0, 1, 3)))
    view = xp.permute_dims(memory[tuple(slices)], tuple(order.index(i) for i in range(ndim)))
    view[...] = gapless(model, dtype)
    return view.as_readonly() if rng.random() < 0.2 else view


def repeated(model: Nested, shape: Shape) -> Nested:
    """Broadcast along the axes of extent 1."""
    return made(
        shape, lambda i: model.at([a if n > 1 else 0 for a, n in zip(i, model.shape, strict=True)])
    )


def arranged(model: Nested, shape: Shape, dtype: str, is_plain: bool, rng: random.Random) -> Drawn:
    """These elements in a random layout, broadcast to the shape."""
    found = gapless(model, dtype) if is_plain else scattered(model, dtype, rng)
    if model.shape != shape:
        found, model = xp.broadcast_to(found, shape), repeated(model, shape)
    return Drawn(found, model, dtype)


def array(
    draw: Draw,
    dtype: str,
    shape: Shape | None = None,
    element: Element | None = None,
    min_ndim: int = 0,
) -> Drawn:
    """An array of a drawn shape and layout. Hypothesis shrinks shape and plainness; elements and
    steps come from a seed, which is much faster than to draw each of them."""
    if shape is None:
        shape = draw(shapes.filter(lambda each: len(each) >= min_ndim))
    is_plain = draw(st.booleans())
    rng = random.Random(draw(st.integers(0, 2**20)))
    element = element or any_element(dtype)
    inner = tuple(1 if n > 1 and not is_plain and rng.random() < 0.1 else n for n in shape)
    chosen = [element(rng) for _ in range(size_of(inner))]
    if chosen and rng.random() < 0.4:  # few distinct elements
        chosen = [rng.choice(chosen[:3]) for _ in chosen]
    return arranged(Nested(chosen, inner), shape, dtype, is_plain, rng)


def broadcastable(draw: Draw, shape: Shape) -> Shape:
    """A shape that broadcasts to `shape`."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in kept)


def converted(value: Any, dtype: str) -> Any:
    """A number as an element of a floating-point dtype."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    return math.copysign(rounded(Fraction(value), dtype), value)
