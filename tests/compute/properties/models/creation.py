"""Models of the creation functions."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from oracles.formats import ALL, COMPLEX, INTEGERS, REAL, REAL_FLOATS
from oracles.nested import Nested, Shape, made, size_of

from properties.arrays import Draw, array, converted, shapes, xp
from properties.models.registry import Call, Result, models

dtypes = st.sampled_from(ALL)


def number(value: int, dtype: str) -> Any:
    """0 or 1 as an element."""
    if dtype == "bool":
        return bool(value)
    return int(value) if dtype in INTEGERS else complex(value) if dtype in COMPLEX else float(value)


def uniform(shape: Shape, value: Any) -> Nested:
    return Nested([value] * size_of(shape), shape)


@models("zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like")
def filled(name: str, draw: Draw) -> Call:
    kind, _, like = name.partition("_")
    dtype = draw(dtypes)
    shape = draw(shapes)
    value = None if kind == "empty" else number(kind == "ones", dtype)
    keywords = {"dtype": getattr(xp, dtype)}
    if not like:
        return Call((shape,), Result(uniform(shape, value), dtype), keywords)
    x = array(draw, dtype if draw(st.booleans()) else draw(dtypes), shape)
    if x.dtype == dtype:
        keywords = {}
    return Call((x.array,), Result(uniform(shape, value), dtype), keywords)


@models("full", "full_like")
def full(name: str, draw: Draw) -> Call:
    dtype = draw(dtypes)
    value = array(draw, dtype, ()).values[0]
    x = array(draw, dtype)
    first = x.array if name == "full_like" else x.shape
    wanted = Result(uniform(x.shape, value), dtype)
    return Call((first, value), wanted, {"dtype": getattr(xp, dtype)})


@models("asarray")
def asarray(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes))
    if draw(st.booleans()):
        return Call(
            (x.array,), Result(x.model, x.dtype), {"copy": draw(st.sampled_from((None, True)))}
        )
    nested = x.array.tolist()
    if 0 in x.shape[:-1]:  # nested lists do not tell the extents behind an axis of extent 0
        return Call((x.array,), Result(x.model, x.dtype))
    return Call((nested,), Result(x.model, x.dtype), {"dtype": getattr(xp, x.dtype)})


@models("from_dlpack")
def from_dlpack(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes))
    copy = draw(st.sampled_from((None, True)))
    return Call((x.array,), Result(x.model, x.dtype), {"copy": copy})


@models("arange")
def arange(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(REAL))
    low = 0 if dtype.startswith("u") else -50
    start, stop = (draw(st.integers(low, 50)) for _ in range(2))
    step = draw(st.integers(1, 9)) * (1 if start <= stop else -1)
    values: list[Any] = list(range(start, stop, step))
    if dtype not in INTEGERS:
        values = [float(v) for v in values]
    wanted = Result(Nested(values, (len(values),)), dtype)
    return Call((start, stop, step), wanted, {"dtype": getattr(xp, dtype)})


@models("linspace")
def linspace(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(REAL_FLOATS))
    start, stop = (draw(st.integers(-40, 40)) / 4 for _ in range(2))
    num, endpoint = draw(st.integers(0, 12)), draw(st.booleans())
    steps = num - 1 if endpoint and num > 1 else max(num, 1)
    # The products are exact; quotient and sum are rounded in float64, the sum then to the dtype.
    values = [converted(start + (stop - start) * i / steps, dtype) for i in range(num)]
    wanted = Result(Nested(values, (num,)), dtype)
    return Call((start, stop, num), wanted, {"dtype": getattr(xp, dtype), "endpoint": endpoint})


@models("eye")
def eye(name: str, draw: Draw) -> Call:
    dtype = draw(dtypes)
    rows, columns = draw(st.integers(0, 5)), draw(st.none() | st.integers(0, 5))
    k = draw(st.integers(-7, 7))
    shape = (rows, rows if columns is None else columns)
    wanted = made(shape, lambda i: number(i[1] - i[0] == k, dtype))
    return Call((rows, columns), Result(wanted, dtype), {"k": k, "dtype": getattr(xp, dtype)})


@models("tril", "triu")
def triangle(name: str, draw: Draw) -> Call:
    x = array(draw, draw(dtypes), min_ndim=2)
    k = draw(st.integers(-7, 7))

    def at(index: tuple[int, ...]) -> Any:
        above = index[-1] - index[-2] - k
        is_kept = above <= 0 if name == "tril" else above >= 0
        return x.model.at(index) if is_kept else number(0, x.dtype)

    return Call((x.array,), Result(made(x.shape, at), x.dtype), {"k": k})


@models("meshgrid")
def meshgrid(name: str, draw: Draw) -> Call:
    extents = draw(st.lists(st.sampled_from((2, 3, 2, 3, 1, 0)), max_size=4))
    count = len(extents)
    given = [array(draw, draw(dtypes), (extent,)) for extent in extents]
    indexing = draw(st.sampled_from(("xy", "ij")))
    axes = list(range(count))
    if indexing == "xy" and count >= 2:
        axes[:2] = 1, 0
    shape = tuple(given[axes[i]].shape[0] for i in range(count))
    wanted = tuple(
        Result(made(shape, lambda i, x=x, a=axes[at]: x.values[i[a]]), x.dtype)  # type: ignore[misc]
        for at, x in enumerate(given)
    )
    return Call(tuple(x.array for x in given), wanted, {"indexing": indexing})
