"""astype() between all dtypes, with Python's exact numbers as the oracle."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_elements, flat
from oracles.formats import ALL, COMPLEX, COMPONENT, REAL_FLOATS, limits, rounded
from oracles.samples import samples

import refarray

pytestmark = pytest.mark.every_python

xp: Any = refarray


def as_real(value: Any, dtype: str) -> float:
    """A number rounded once to a floating-point dtype."""
    value = float(value) if isinstance(value, bool) else value
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return value
    return rounded(Fraction(value), dtype)


def converted(value: Any, dtype: str) -> Any:
    """The element of another dtype, or None where the standard leaves it open."""
    if dtype == "bool":
        return bool(value)
    if dtype in COMPLEX:
        part = COMPONENT[dtype]
        parts = (value.real, value.imag) if isinstance(value, complex) else (value, 0.0)
        return complex(*(as_real(each, part) for each in parts))
    if isinstance(value, complex):
        return None
    if dtype in REAL_FLOATS:
        return as_real(value, dtype)
    low, high = limits(dtype)
    if not isinstance(value, float):
        return (int(value) - low) % (high - low + 1) + low
    return int(value) if math.isfinite(value) and low <= int(value) <= high else None


def fractions(dtype: str) -> list[Any]:
    more = [-0.5, -1.5, -1.75, 1.75, 99.5, -99.5] if dtype in REAL_FLOATS else []
    return [*samples(dtype), *more]


@run_each("source", ALL)
def test_elements_of_every_dtype(source: str) -> None:
    values = fractions(source)
    for dtype in ALL:
        pairs = [(each, converted(each, dtype)) for each in values]
        kept = [(each, wanted) for each, wanted in pairs if wanted is not None]
        if not kept:
            continue
        x = xp.asarray([each for each, _ in kept], dtype=source)
        for y in (xp.astype(x, dtype), xp.astype(x, dtype, copy=False), x.astype(dtype)):
            assert str(y.dtype) == dtype
            assert_elements(flat(y), [wanted for _, wanted in kept], [each for each, _ in kept])


def test_integers_of_64_bits_are_exact() -> None:
    values = [2**53 + 1, 2**62 + 1, 2**63 - 1, -(2**53) - 1]
    x = xp.asarray(values)
    assert xp.astype(x, "uint64").tolist() == [each % 2**64 for each in values]
    assert xp.astype(xp.astype(x, "uint64"), "int64").tolist() == values
    assert xp.astype(x, "int32").tolist() == [converted(each, "int32") for each in values]
