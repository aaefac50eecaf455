"""Comparison of results with exact values, to the last bit or within a bound in ULP."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from oracles.formats import COMPONENT, FORMATS, rounded, ulps
from oracles.real_functions import Exact
from refarray import Array

#: Largest error in ULP of float64 functions that are not correctly rounded.
BOUNDS = {"logaddexp": 1.0}
OTHERS = 0.52
#: The narrower formats: the exact result, rounded once.
NARROW = 0.501


def same(got: Any, wanted: Any) -> bool:
    """Whether two elements are the same number with the same sign of zero; NaN equals NaN."""
    if isinstance(wanted, complex):
        return same(got.real, wanted.real) and same(got.imag, wanted.imag)
    if isinstance(wanted, float):
        if math.isnan(wanted):
            return isinstance(got, float) and math.isnan(got)
        signs_agree = math.copysign(1.0, got) == math.copysign(1.0, wanted)
        return bool(got == wanted) and signs_agree
    return type(got) is type(wanted) and bool(got == wanted)


def assert_dtype(x: Any, dtype: str) -> None:
    assert isinstance(x, Array), f"{type(x).__name__} is not an array"
    assert str(x.dtype) == dtype, f"dtype {x.dtype}, not {dtype}"


def flat(x: Array) -> list[Any]:
    """The elements in row-major order."""
    values = x.tolist()
    for _ in range(x.ndim - 1):
        values = [each for row in values for each in row]
    return values if x.ndim else [values]


def assert_equal(x: Any, y: Any) -> None:
    """The same dtype, shape and elements, with the signs of zeros."""
    assert isinstance(x, Array)
    assert isinstance(y, Array)
    assert (x.dtype, x.shape) == (y.dtype, y.shape)
    assert all(same(*pair) for pair in zip(flat(x), flat(y), strict=True)), (x, y)


def assert_elements(got: list[Any], wanted: list[Any], *operands: list[Any]) -> None:
    """Every element is the one that is wanted; a tuple lists all that are admissible."""
    assert len(got) == len(wanted)
    for index, (mine, right) in enumerate(zip(got, wanted, strict=True)):
        admissible = right if isinstance(right, tuple) else (right,)
        if not any(same(mine, each) for each in admissible):
            at = ", ".join(repr(each[index]) for each in operands)
            raise AssertionError(f"f({at}) is {mine!r}, not {right!r} (element {index})")


def error(got: float, exact: Exact, dtype: str) -> float:
    """The error in ULP; infinity for a wrong infinity, NaN or sign of zero."""
    if isinstance(exact, float):
        return 0.0 if same(got, exact) else math.inf
    nearest = rounded(exact, dtype)
    if math.isnan(got):
        return math.inf
    if math.isinf(got) or math.isinf(nearest):
        largest = Fraction(FORMATS[dtype].largest)
        return 0.0 if got == nearest or abs(exact) > largest / 2 else math.inf
    if got == 0 and math.copysign(1.0, got) != (1.0 if exact > 0 else -1.0):
        return math.inf
    return float(ulps(got, exact, dtype))


def assert_within(
    got: list[float], exact: list[Exact], dtype: str, name: str, *operands: list[float]
) -> None:
    bound = NARROW if dtype != "float64" else BOUNDS.get(name, OTHERS)
    for index, (mine, right) in enumerate(zip(got, exact, strict=True)):
        off = error(mine, right, dtype)
        if off > bound:
            at = ", ".join(repr(each[index]) for each in operands)
            nearest = right if isinstance(right, float) else rounded(right, dtype)
            raise AssertionError(
                f"{name}({at}) is {mine!r}, {off:.4g} ULP from {nearest!r} ({dtype}, element"
                f" {index}; the bound is {bound})"
            )


def complex_error(got: complex, exact: tuple[Exact, Exact], dtype: str) -> float:
    """The distance from the exact value, in ULP of the value's size."""
    real, imag = (Fraction(part) for part in exact)
    distance = max(abs(Fraction(got.real) - real), abs(Fraction(got.imag) - imag))
    size = max(abs(real), abs(imag))
    return float(distance / size * 2 ** (FORMATS[COMPONENT[dtype]].precision - 1)) if size else 0.0
