"""Models of reductions and scans, of numbers for which sums and products are exact."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles.formats import ALL, COMPLEX, COMPONENT, INTEGERS, REAL, REAL_FLOATS, rounded, wrapped
from oracles.nested import reduced, scanned
from oracles.promotion import accumulated

from properties.arrays import Draw, Drawn, any_element, array, power_of_two, shapes, small_element
from properties.models.registry import Call, Near, Result, models

NUMBERS = (*INTEGERS, *REAL_FLOATS, *COMPLEX)


def total(values: list[Any], dtype: str) -> Any:
    if dtype in INTEGERS:
        return wrapped(sum(values), accumulated(dtype))
    if dtype in COMPLEX:
        part = COMPONENT[dtype]
        return complex(total([v.real for v in values], part), total([v.imag for v in values], part))
    if values and all(v == 0 and math.copysign(1.0, v) < 0 for v in values):
        return -0.0
    return rounded(sum(map(Fraction, values), Fraction()), dtype)


def product(values: list[Any], dtype: str) -> Any:
    if dtype in INTEGERS:
        return wrapped(math.prod(values), accumulated(dtype))
    return rounded(math.prod(map(Fraction, values), start=Fraction(1)), dtype)


def variance(values: list[float], correction: float, root: bool) -> Any:
    count = len(values)
    if not values or count - correction <= 0:
        return math.nan
    mean = sum(map(Fraction, values), Fraction()) / count
    squares = sum(((Fraction(v) - mean) ** 2 for v in values), Fraction())
    exact = squares / (count - Fraction(correction))
    if exact == 0:
        return 0.0
    if root:
        scale = 2**200
        exact = Fraction(math.isqrt(int(exact * scale**2)), scale)
    return Near(exact, 4.0)


def extreme(values: list[Any], best: Any) -> Any:
    for value in values:
        if value != value:
            return value
    return best(values, key=lambda v: (v, math.copysign(1.0, v)))


def first(values: list[Any], best: Any) -> int:
    nans = [i for i, value in enumerate(values) if value != value]
    return nans[0] if nans else values.index(best(values))


WORK: dict[str, Any] = {
    "all": lambda values, dtype: all(v != 0 for v in values),
    "any": lambda values, dtype: any(v != 0 for v in values),
    "argmax": lambda values, dtype: first(values, max),
    "argmin": lambda values, dtype: first(values, min),
    "count_nonzero": lambda values, dtype: sum(v != 0 for v in values),
    "max": lambda values, dtype: extreme(values, max),
    "min": lambda values, dtype: extreme(values, min),
    "prod": product,
    "sum": total,
}
ACCEPTS = {
    **dict.fromkeys(("all", "any", "count_nonzero"), ALL),
    **dict.fromkeys(("argmax", "argmin", "max", "min"), REAL),
    "prod": (*INTEGERS, *REAL_FLOATS),
    "sum": NUMBERS,
}
RESULTS = {
    **dict.fromkeys(("all", "any"), "bool"),
    **dict.fromkeys(("argmax", "argmin", "count_nonzero"), "int64"),
}


def some_axes(draw: Draw, ndim: int, takes_one: bool = False) -> Any:
    """None, an axis, or a tuple of axes, which may be negative."""
    if ndim == 0 or draw(st.booleans()):
        return None
    axes = st.integers(-ndim, ndim - 1)
    if takes_one or draw(st.booleans()):
        return draw(axes)
    return tuple(draw(st.lists(axes, unique_by=lambda axis: axis % ndim, max_size=ndim)))


def reduction(x: Drawn, axis: Any, keepdims: bool, work: Any, dtype: str) -> Call:
    wanted = reduced(x.model, axis, keepdims, work)
    keywords = {"axis": axis, "keepdims": keepdims}
    return Call((x.array,), Result(wanted, dtype), keywords)


@models(*WORK)
def reduction_call(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(ACCEPTS[name]))
    elements = {"sum": small_element, "prod": power_of_two}.get(name, any_element)
    needs_one = name in ("argmax", "argmin", "max", "min")
    shape = draw(shapes.filter(lambda each: 0 not in each)) if needs_one else draw(shapes)
    x = array(draw, dtype, shape, elements(dtype))
    axis = some_axes(draw, len(shape), name.startswith("arg"))
    keepdims = draw(st.booleans())
    result = RESULTS.get(name) or (dtype if needs_one else accumulated(dtype))
    return reduction(x, axis, keepdims, lambda values: WORK[name](values, dtype), result)


@models("mean")
def mean(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(REAL_FLOATS))
    x = array(draw, dtype, None, small_element(dtype))

    def work(values: list[float]) -> float:
        if not values:
            return math.nan
        exact = sum(map(Fraction, values), Fraction()) / len(values)
        return rounded(exact, dtype) if exact else total(values, dtype)

    return reduction(x, some_axes(draw, len(x.shape)), draw(st.booleans()), work, dtype)


@models("var", "std")
def deviation(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(REAL_FLOATS))
    x = array(draw, dtype, None, small_element(dtype))
    correction = draw(st.sampled_from((0, 1, 0.5, 2.0, -1, 7.5)))
    call = reduction(
        x,
        some_axes(draw, len(x.shape)),
        draw(st.booleans()),
        lambda values: variance(values, correction, name == "std"),
        dtype,
    )
    return call._replace(keywords={**call.keywords, "correction": correction})


@models("cumulative_sum", "cumulative_prod")
def scan(name: str, draw: Draw) -> Call:
    is_sum = name == "cumulative_sum"
    dtype = draw(st.sampled_from(NUMBERS if is_sum else (*INTEGERS, *REAL_FLOATS)))
    x = array(draw, dtype, None, (small_element if is_sum else power_of_two)(dtype), min_ndim=1)
    axis = draw(st.integers(-len(x.shape), len(x.shape) - 1))
    initial = draw(st.booleans())
    work = total if is_sum else product

    def line(values: list[Any]) -> list[Any]:
        return [work(values[:i], dtype) for i in range(0 if initial else 1, len(values) + 1)]

    wanted = scanned(x.model, axis, line, x.shape[axis] + initial)
    keywords = {"axis": axis, "include_initial": initial}
    return Call((x.array,), Result(wanted, accumulated(dtype)), keywords)


@models("diff")
def diff(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(NUMBERS))
    x = array(draw, dtype, None, small_element(dtype), min_ndim=1)
    axis = draw(st.integers(-len(x.shape), len(x.shape) - 1))
    n = draw(st.integers(0, 3))

    def line(values: list[Any]) -> list[Any]:
        for _ in range(n):
            values = [b - a for a, b in itertools.pairwise(values)]
        return [wrapped(v, dtype) if dtype in INTEGERS else v for v in values]

    wanted = scanned(x.model, axis, line, max(x.shape[axis] - n, 0))
    return Call((x.array,), Result(wanted, dtype), {"axis": axis, "n": n})
