"""Models of sorting, of sets, and of the functions that take elements by index or find them."""

from __future__ import annotations

import bisect
from typing import Any

from hypothesis import strategies as st
from oracles.formats import ALL, INTEGERS, REAL, SIGNED
from oracles.nested import Nested, indices, made, scanned
from oracles.promotion import PROMOTION

from properties.arrays import Draw, Drawn, array, gapless, long_shapes, shapes
from properties.models.manipulation import drawn_axis, with_axis
from properties.models.registry import Call, Result, models


def sort_key(value: Any) -> tuple[bool, Any]:
    """NaN is greater than all numbers."""
    if isinstance(value, complex):
        return False, (value.real, value.imag)
    return value != value, 0 if value != value else value


def order_of(values: list[Any], descending: bool) -> list[int]:
    """The indices that sort stably."""
    return sorted(range(len(values)), key=lambda i: sort_key(values[i]), reverse=descending)


@models("sort", "argsort")
def sort(name: str, draw: Draw) -> Call:
    x = array(draw, draw(st.sampled_from(("bool", *REAL))), min_ndim=1)
    axis = drawn_axis(draw, len(x.shape))
    descending = draw(st.booleans())

    def line(values: list[Any]) -> list[Any]:
        order = order_of(values, descending)
        return order if name == "argsort" else [values[i] for i in order]

    dtype = "int64" if name == "argsort" else x.dtype
    keywords = {"axis": axis, "descending": descending, "stable": draw(st.booleans())}
    return Call((x.array,), Result(scanned(x.model, axis, line), dtype), keywords)


@models("unique_all", "unique_counts", "unique_inverse", "unique_values")
def unique(name: str, draw: Draw) -> Call:
    x = array(draw, draw(st.sampled_from(ALL)), draw(shapes | long_shapes))
    order = order_of(x.values, descending=False)
    firsts: list[int] = []
    inverse = [0] * len(order)
    counts: list[int] = []
    for i in order:
        if firsts and x.values[firsts[-1]] == x.values[i]:
            counts[-1] += 1
        else:
            firsts.append(i)
            counts.append(1)
        inverse[i] = len(firsts) - 1
    shape = (len(firsts),)
    values = Result(Nested([x.values[i] for i in firsts], shape), x.dtype)
    parts = {
        "indices": Result(Nested(firsts, shape), "int64"),
        "inverse": Result(Nested(inverse, x.shape), "int64"),
        "counts": Result(Nested(counts, shape), "int64"),
    }
    if name == "unique_values":
        return Call((x.array,), values)
    part = name.removeprefix("unique_")
    return Call((x.array,), (values, *parts.values()) if part == "all" else (values, parts[part]))


@models("isin")
def isin(name: str, draw: Draw) -> Call:
    one, other = draw(st.sampled_from(sorted(PROMOTION)))
    x1, x2 = (array(draw, dtype, draw(shapes | long_shapes)) for dtype in (one, other))
    invert = draw(st.booleans())
    known = {w for w in x2.values if w == w}
    wanted = [(v in known) != invert for v in x1.values]
    return Call((x1.array, x2.array), Result(Nested(wanted, x1.shape), "bool"), {"invert": invert})


# --- Indices.


def drawn_indices(draw: Draw, shape: tuple[int, ...], extent: int) -> Drawn:
    """Indices of an axis, negative ones too; none if the axis is empty."""
    dtype = draw(st.sampled_from(INTEGERS))
    low = -extent if dtype in SIGNED else 0
    return array(draw, dtype, shape, lambda rng: rng.randint(low, max(extent - 1, low)))


@models("take")
def take(name: str, draw: Draw) -> Call:
    x, axis, at = with_axis(draw)
    extent = x.shape[at]
    where = drawn_indices(draw, (draw(st.integers(0, 5)) if extent else 0,), extent)
    shape = (*x.shape[:at], where.shape[0], *x.shape[at + 1 :])
    wanted = made(
        shape, lambda i: x.model.at((*i[:at], where.values[i[at]] % extent, *i[at + 1 :]))
    )
    return Call((x.array, where.array), Result(wanted, x.dtype), {"axis": axis})


@models("take_along_axis")
def take_along_axis(name: str, draw: Draw) -> Call:
    x, axis, at = with_axis(draw)
    extent = x.shape[at]
    count = draw(st.integers(0, 4)) if extent else 0
    where = drawn_indices(draw, (*x.shape[:at], count, *x.shape[at + 1 :]), extent)
    wanted = made(
        where.shape,
        lambda i: x.model.at((*i[:at], where.model.at(i) % extent, *i[at + 1 :])),
    )
    return Call((x.array, where.array), Result(wanted, x.dtype), {"axis": axis})


@models("nonzero")
def nonzero(name: str, draw: Draw) -> Call:
    x = array(draw, draw(st.sampled_from(ALL)), min_ndim=1)
    found = [i for i in indices(x.shape) if x.model.at(i) != 0]
    wanted = tuple(
        Result(Nested([i[axis] for i in found], (len(found),)), "int64")
        for axis in range(len(x.shape))
    )
    return Call((x.array,), wanted)


@models("searchsorted")
def searchsorted(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(REAL))
    x1 = array(draw, dtype, (draw(st.integers(0, 9)),))
    x2 = array(draw, dtype)
    side = draw(st.sampled_from(("left", "right")))
    order = order_of(x1.values, descending=False)
    keys = [sort_key(x1.values[i]) for i in order]
    find: Any = bisect.bisect_left if side == "left" else bisect.bisect_right
    wanted = Result(Nested([find(keys, sort_key(v)) for v in x2.values], x2.shape), "int64")
    sorter = gapless(Nested(order, x1.shape), "int64")
    if draw(st.booleans()):
        return Call((x1.array, x2.array), wanted, {"side": side, "sorter": sorter})
    ordered = gapless(Nested([x1.values[i] for i in order], x1.shape), dtype)
    return Call((ordered, x2.array), wanted, {"side": side})
