"""Models of the norms of vectors and matrices, by exact sums, roots of 60 digits and the roots of
characteristic polynomials."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import matrices as exact
from oracles.formats import FLOATS
from oracles.nested import reduced
from oracles.real_functions import CONTEXT, settled

from properties.arrays import Draw, any_element, array, small_element
from properties.matrices import (
    any_matrix,
    component,
    extents,
    pieces,
    sometimes_not_finite,
    stack,
    stacks,
)
from properties.models.reductions import some_axes
from properties.models.registry import Call, models

dtypes = st.sampled_from(FLOATS)
#: A number or a special value, and the bound of its error.
Wanted = tuple[Fraction | float, Fraction]


def is_norm(got: float, wanted: Wanted, dtype: str) -> bool:
    right, off = wanted
    if isinstance(right, float):
        return got == right or (math.isnan(right) and math.isnan(got))
    return exact.is_rounded(got, right, off, dtype)


def special(values: list[Any]) -> float | None:
    """What a sum or a maximum of absolute values with NaN or an infinity is."""
    if any(math.isnan(v.real) or math.isnan(v.imag) for v in values):
        return math.nan
    if any(math.isinf(v.real) or math.isinf(v.imag) for v in values):
        return math.inf
    return None


# --- Vectors.


def power(value: Any, p: Any) -> Any:
    return CONTEXT.power(value, CONTEXT.mpf(p))


def to_mpf(value: Fraction) -> Any:
    return CONTEXT.mpf(value.numerator) / value.denominator


def finite_norm(sizes: list[Fraction], p: float) -> Fraction:
    """The norm of finite numbers, for p other than 0; they are not zero for p < 0."""
    if math.isinf(p):
        return max(sizes) if p > 0 else min(sizes)
    terms = [power(to_mpf(v), p) for v in sizes if v]
    return Fraction(settled(power(sum(terms), 1 / CONTEXT.mpf(p)))) if terms else Fraction()


def vector(values: list[Any], p: float) -> Wanted:
    if p == 0:
        return Fraction(sum(v != 0 for v in values)), Fraction()
    if not values:
        return Fraction(), Fraction()
    found = special(values)
    if found is not None and math.isnan(found):
        return found, Fraction()
    if p > 0 and found is not None:
        return found, Fraction()
    if p < 0:  # infinities add nothing
        values = [v for v in values if special([v]) is None]
        if not values:
            return math.inf, Fraction()
        if 0 in values:
            return Fraction(), Fraction()
    sizes = [exact.size(exact.exact(v)) for v in values]
    wanted = finite_norm(sizes, p)
    count = Fraction(len(values) + 6) * (1 + 1 / abs(Fraction(p)) if math.isfinite(p) else 1)
    return wanted, count * exact.WORKING * wanted + exact.smallest("float64")


ORDERS = (0, 1, 2, 3, 2.0, 1.0, 0.5, 1.5, 7, 40.25, -1, -2, -0.5, -3.0, math.inf, -math.inf)


@models("linalg.vector_norm")
def vector_norm(name: str, draw: Draw) -> Call:
    dtype = draw(dtypes)
    element = draw(st.sampled_from((any_element, small_element)))(dtype)
    x = array(draw, dtype, element=element)
    axis = some_axes(draw, len(x.shape))
    p = draw(st.sampled_from(ORDERS))
    keepdims = draw(st.booleans())
    wanted = reduced(x.model, axis, keepdims, lambda values: vector(values, p))

    def check(out: Any) -> None:
        each = pieces(out, component(dtype), wanted.shape, 0)
        for got, right in zip(each, wanted.values, strict=True):
            assert is_norm(got, right, component(dtype)), (got, right)

    given = {"axis": axis, "keepdims": keepdims, "ord": p}
    defaults = {"axis": None, "keepdims": False, "ord": 2}
    return Call((x.array,), check, without_defaults(draw, given, defaults))


def without_defaults(draw: Draw, given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in given.items() if v != defaults[k] or draw(st.booleans())}


# --- Matrices.


def of_sums(rows: list[list[Any]], n: int, order: float) -> Wanted:
    """The greatest or least sum of absolute values of a column, for 1 and -1, or of a row."""
    lines = rows if math.isinf(order) else [list(column) for column in zip(*rows, strict=True)]
    sums: list[Any] = []
    for line in lines:
        found: Any = special(line)
        if found is None:
            found = sum((exact.size(exact.exact(v)) for v in line), Fraction())
        sums.append(found)
    if any(isinstance(v, float) and math.isnan(v) for v in sums):
        return math.nan, Fraction()
    wanted = max(sums) if order > 0 else min(sums)
    off = Fraction() if isinstance(wanted, float) else wanted * (len(rows) + n + 2) * exact.WORKING
    return wanted, off


def spectral(rows: list[list[Any]], n: int, order: Any) -> Wanted:
    """The greatest or the least singular value, or the sum of all."""
    if not exact.is_finite(rows):
        return math.nan, Fraction()
    a = exact.to_exact(rows)
    values, limit = exact.singular_values(a, n), exact.norm(a)
    numbers = range(values.number) if order == "nuc" else (0 if order == 2 else values.number - 1,)
    off = 10 * max(len(a), n) * exact.WORKING * limit * len(numbers)
    return sum((values.value(k, limit) for k in numbers), Fraction()), off + limit / 2**70


def matrix(rows: list[list[Any]], n: int, order: Any) -> Wanted:
    if not rows or not n:
        return Fraction(), Fraction()
    if order in ("fro", None):
        return vector([v for row in rows for v in row], 2)
    is_sum = order in (1, -1, math.inf, -math.inf)
    return of_sums(rows, n, order) if is_sum else spectral(rows, n, order)


@models("linalg.matrix_norm")
def matrix_norm(name: str, draw: Draw) -> Call:
    dtype, lead, m, n = draw(dtypes), draw(stacks), draw(extents), draw(extents)
    orders = ("fro", None, "nuc", 1, 2, 2.0, math.inf, -1, -2, -math.inf)
    order = draw(st.sampled_from(orders))
    is_spectral = order in ("nuc", 2, -2)
    element = any_element(dtype)

    def wild(rng: random.Random) -> Any:
        return [[element(rng) for _ in range(n)] for _ in range(m)]

    make: Callable[[random.Random], Any] = sometimes_not_finite(any_matrix(dtype, m, n), dtype)
    x = stack(draw, dtype, (*lead, m, n), make if is_spectral or draw(st.booleans()) else wild)
    keepdims = draw(st.booleans())
    wanted = [matrix(rows, n, order) for rows in exact.matrices(x.model)]

    def check(out: Any) -> None:
        each = pieces(out, component(dtype), (*lead, 1, 1) if keepdims else lead, 0)
        for got, right in zip(each, wanted, strict=True):
            assert is_norm(got, right, component(dtype)), (got, right)

    given = {"keepdims": keepdims, "ord": order}
    defaults = {"keepdims": False, "ord": "fro"}
    return Call((x.array,), check, without_defaults(draw, given, defaults))
