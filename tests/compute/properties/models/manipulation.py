"""Models of the functions that move, join and repeat elements."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from oracles.formats import ALL
from oracles.nested import Nested, Shape, broadcast, made
from oracles.promotion import PROMOTION

from properties.arrays import Draw, Drawn, array, broadcastable, repeated, shapes, xp
from properties.models.dtypes import equals
from properties.models.elementwise import promoted
from properties.models.registry import Call, Result, models

dtypes = st.sampled_from(ALL)


def drawn_axis(draw: Draw, ndim: int) -> int:
    return int(draw(st.integers(-ndim, ndim - 1)))


def with_axis(draw: Draw) -> tuple[Drawn, int, int]:
    """An array, one of its axes as an argument, and the number of that axis from the first."""
    x = array(draw, draw(dtypes), min_ndim=1)
    axis = drawn_axis(draw, len(x.shape))
    return x, axis, axis % len(x.shape)


def distinct_axes(draw: Draw, ndim: int, size: int | None = None) -> tuple[int, ...]:
    axes = st.integers(-ndim, ndim - 1) if ndim else st.nothing()
    most = ndim if size is None else size
    return tuple(
        draw(st.lists(axes, min_size=size or 0, max_size=most, unique_by=lambda a: a % ndim))
    )


@models("reshape")
def reshape(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes))
    rest, shape = len(x.values), []
    for factor in draw(st.lists(st.sampled_from((1, 2, 3, 5)), max_size=4)):
        if rest and rest % factor == 0:
            shape.append(factor)
            rest //= factor
    shape.insert(draw(st.integers(0, len(shape))), rest)
    given = list(shape)
    if rest and draw(st.booleans()):
        given[given.index(rest)] = -1
    copy = draw(st.sampled_from((None, True)))
    return Call(
        (x.array, tuple(given)), Result(Nested(x.values, tuple(shape)), x.dtype), {"copy": copy}
    )


@models("permute_dims")
def permute_dims(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes))
    axes = tuple(draw(st.permutations(range(len(x.shape)))))
    shape = tuple(x.shape[a] for a in axes)
    wanted = made(shape, lambda i: x.model.at([i[axes.index(a)] for a in range(len(axes))]))
    return Call((x.array, axes), Result(wanted, x.dtype))


@models("moveaxis")
def moveaxis(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes), min_ndim=1)
    ndim = len(x.shape)
    source, target = drawn_axis(draw, ndim), drawn_axis(draw, ndim)
    order = [axis for axis in range(ndim) if axis != source % ndim]
    order.insert(target % ndim, source % ndim)
    shape = tuple(x.shape[a] for a in order)
    wanted = made(shape, lambda i: x.model.at([i[order.index(a)] for a in range(ndim)]))
    return Call((x.array, source, target), Result(wanted, x.dtype))


@models("flip")
def flip(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes))
    axes = distinct_axes(draw, len(x.shape)) if draw(st.booleans()) else None
    turned = range(len(x.shape)) if axes is None else [a % len(x.shape) for a in axes]

    def at(index: tuple[int, ...]) -> Any:
        return x.model.at([x.shape[a] - 1 - i if a in turned else i for a, i in enumerate(index)])

    return Call((x.array,), Result(made(x.shape, at), x.dtype), {"axis": axes})


@models("expand_dims")
def expand_dims(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes))
    ndim = len(x.shape) + draw(st.integers(1, 2))
    axes = distinct_axes(draw, ndim, ndim - len(x.shape))
    places = {a % ndim for a in axes}
    rest = iter(x.shape)
    shape = tuple(1 if a in places else next(rest) for a in range(ndim))
    given: Any = axes[0] if len(axes) == 1 else axes
    return Call((x.array, given), Result(Nested(x.values, shape), x.dtype))


@models("squeeze")
def squeeze(name: str, draw: Draw) -> Call:
    shape = tuple(draw(st.lists(st.sampled_from((1, 1, 2, 3)), max_size=5)))
    x = array(draw, draw(dtypes), shape)
    axes = [a for a, n in enumerate(shape) if n == 1 and draw(st.booleans())]
    kept = tuple(n for a, n in enumerate(shape) if a not in axes)
    given = tuple(a - len(shape) if draw(st.booleans()) else a for a in axes)
    return Call((x.array, given), Result(Nested(x.values, kept), x.dtype))


@models("broadcast_to")
def broadcast_to(name: str, draw: Draw) -> Call:
    shape = draw(shapes)
    x = array(draw, draw(dtypes), broadcastable(draw, shape))
    return Call((x.array, shape), Result(stretched(x, shape), x.dtype))


def stretched(x: Drawn, shape: Shape) -> Nested:
    padded = (*[1] * (len(shape) - len(x.shape)), *x.shape)
    return repeated(Nested(x.values, padded), shape)


@models("broadcast_arrays")
def broadcast_arrays(name: str, draw: Draw) -> Call:
    shape = draw(shapes)
    given = [
        array(draw, draw(dtypes), broadcastable(draw, shape))
        for _ in range(draw(st.integers(0, 2)))
    ]
    given.append(array(draw, draw(dtypes), shape))
    wanted = tuple(Result(stretched(x, shape), x.dtype) for x in given)
    return Call(tuple(x.array for x in given), wanted)


@models("broadcast_shapes")
def broadcast_shapes(name: str, draw: Draw) -> Call:
    whole = draw(shapes)
    given = [broadcastable(draw, whole) for _ in range(draw(st.integers(0, 4)))]
    wanted = broadcast(given)
    assert wanted is not None
    return Call(tuple(given), equals(wanted))


@models("concat")
def concat(name: str, draw: Draw) -> Call:
    one, other = draw(st.sampled_from(sorted(PROMOTION)))
    dtype = PROMOTION[one, other]
    first = array(draw, one, min_ndim=1)
    axis = drawn_axis(draw, len(first.shape))
    second_shape = list(first.shape)
    second_shape[axis] = draw(st.integers(0, 4))
    parts = [first, array(draw, other, tuple(second_shape))]
    at = axis % len(first.shape)
    shape = list(first.shape)
    shape[at] += second_shape[at]

    def pick(index: tuple[int, ...]) -> Any:
        is_second = index[at] >= first.shape[at]
        inner = list(index)
        inner[at] -= first.shape[at] * is_second
        x = parts[is_second]
        return promoted(x.model.at(inner), x.dtype, dtype)

    wanted = made(tuple(shape), pick)
    if draw(st.integers(0, 3)) == 0:
        flat = [promoted(v, x.dtype, dtype) for x in parts for v in x.values]
        return Call(
            ([x.array for x in parts],), Result(Nested(flat, (len(flat),)), dtype), {"axis": None}
        )
    return Call(([x.array for x in parts],), Result(wanted, dtype), {"axis": axis})


@models("stack")
def stack(name: str, draw: Draw) -> Call:
    dtype, count = draw(dtypes), draw(st.integers(1, 3))
    shape = draw(shapes)
    parts = [array(draw, dtype, shape) for _ in range(count)]
    axis = drawn_axis(draw, len(shape) + 1)
    at = axis % (len(shape) + 1)
    wanted = made(
        (*shape[:at], count, *shape[at:]),
        lambda i: parts[i[at]].model.at((*i[:at], *i[at + 1 :])),
    )
    return Call((tuple(x.array for x in parts),), Result(wanted, dtype), {"axis": axis})


@models("unstack")
def unstack(name: str, draw: Draw) -> Call:
    x, axis, at = with_axis(draw)
    rest = (*x.shape[:at], *x.shape[at + 1 :])
    wanted = tuple(
        Result(made(rest, lambda i, n=n: x.model.at((*i[:at], n, *i[at:]))), x.dtype)  # type: ignore[misc]
        for n in range(x.shape[at])
    )
    return Call((x.array,), wanted, {"axis": axis})


@models("repeat")
def repeat(name: str, draw: Draw) -> Call:
    x, axis, at = with_axis(draw)
    counts = [draw(st.integers(0, 3)) for _ in range(x.shape[at])]
    given: Any = xp.asarray(counts, dtype="int64")
    if draw(st.booleans()):
        counts = [2] * len(counts)
        given = 2
    places = [i for i, count in enumerate(counts) for _ in range(count)]
    shape = (*x.shape[:at], len(places), *x.shape[at + 1 :])
    wanted = made(shape, lambda i: x.model.at((*i[:at], places[i[at]], *i[at + 1 :])))
    return Call((x.array, given), Result(wanted, x.dtype), {"axis": axis})


@models("roll")
def roll(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes))
    if draw(st.booleans()):
        shift = draw(st.integers(-9, 9))
        count = max(len(x.values), 1)
        values = [x.values[(i - shift) % count] for i in range(len(x.values))]
        return Call((x.array, shift), Result(Nested(values, x.shape), x.dtype))
    axes = distinct_axes(draw, len(x.shape))
    shifts = tuple(draw(st.integers(-9, 9)) for _ in axes)
    by = {a % len(x.shape): s for a, s in zip(axes, shifts, strict=True)}
    wanted = made(
        x.shape, lambda i: x.model.at([(n - by.get(a, 0)) % x.shape[a] for a, n in enumerate(i)])
    )
    return Call((x.array, shifts), Result(wanted, x.dtype), {"axis": axes})


@models("tile")
def tile(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes), draw(shapes.filter(lambda s: len(s) <= 3)))
    counts = tuple(draw(st.lists(st.integers(0, 2), max_size=4)))
    ndim = max(len(counts), len(x.shape))
    extents = (*[1] * (ndim - len(x.shape)), *x.shape)
    times = (*[1] * (ndim - len(counts)), *counts)
    padded = Nested(x.values, extents)
    shape = tuple(n * t for n, t in zip(extents, times, strict=True))
    wanted = made(shape, lambda i: padded.at([a % n for a, n in zip(i, extents, strict=True)]))
    return Call((x.array, counts), Result(wanted, x.dtype))
