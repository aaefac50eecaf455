"""astype() between all dtypes, with Python's exact numbers as the oracle; what conversions copy."""

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


# --- copies


def views(x: Any) -> list[Any]:
    return [x, x.T, xp.flip(x), x[::2, 1:]]


def test_copies_are_independent() -> None:
    for make in (
        lambda x: xp.reshape(x, (4, 3), copy=True),
        lambda x: xp.reshape(x, x.shape, copy=True),
        lambda x: xp.asarray(x, copy=True),
        lambda x: xp.astype(x, x.dtype),
        lambda x: xp.from_dlpack(x, copy=True),
        xp.copy,
    ):
        x = xp.reshape(xp.arange(12), (3, 4))
        y = make(x)
        y[...] = 99
        assert flat(x) == list(range(12))


def test_what_need_not_be_copied_is_shared() -> None:
    for make in (
        xp.asarray,
        lambda x: xp.asarray(x, copy=False),
        lambda x: xp.asarray(x, dtype=x.dtype, copy=None),
        lambda x: xp.astype(x, x.dtype, copy=False),
        xp.from_dlpack,
        lambda x: xp.from_dlpack(x, copy=False),
    ):
        for x in views(xp.reshape(xp.arange(12), (3, 4))):
            y = make(x)
            y[...] = y + 1
            assert flat(x) == flat(y)


def test_conversion_copies_where_it_must() -> None:
    x = xp.asarray([1, 2, 3])
    for copy in (True, False):
        y = xp.astype(x, "float32", copy=copy)
        assert y.dtype == xp.float32 and y.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError):
        xp.asarray(x, dtype="float32", copy=False)
    for keywords in ({}, {"copy": None}, {"copy": True}):
        y = xp.asarray(x, dtype="float32", **keywords)
        assert y.dtype == xp.float32 and y.tolist() == [1.0, 2.0, 3.0]


def test_reshape_shares_memory_where_it_can() -> None:
    x = xp.reshape(xp.arange(12), (3, 4))
    for keywords in ({}, {"copy": None}, {"copy": False}):
        y = xp.reshape(x, (2, 6), **keywords)
        y[1, 0] += 1
        assert x[1, 2] == y[1, 0]
    with pytest.raises(ValueError):
        xp.reshape(x.T, (12,), copy=False)
    assert flat(xp.reshape(x.T, (12,))) == flat(x.T)
