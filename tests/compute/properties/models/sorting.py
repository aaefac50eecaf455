"""Models of sorting and of sets."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from oracles.formats import ALL, REAL
from oracles.nested import Nested, scanned
from oracles.promotion import PROMOTION

from properties.arrays import Draw, array, long_shapes, shapes
from properties.models.manipulation import drawn_axis
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
    wanted = [any(v == w for w in x2.values) != invert for v in x1.values]
    return Call((x1.array, x2.array), Result(Nested(wanted, x1.shape), "bool"), {"invert": invert})
