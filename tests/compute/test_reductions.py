"""Reductions over every choice of axes, against exact sums, products, means and variances."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype, flat
from oracles.formats import ALL, COMPLEX, FORMATS, INTEGERS, REAL_FLOATS, limits, rounded, wrapped
from oracles.nested import from_array, reduced
from oracles.promotion import accumulated
from oracles.samples import integers

import refarray

xp: Any = refarray
SHAPE = (3, 4, 5)
ACCEPTED: dict[str, tuple[str, ...]] = {
    "sum": (*INTEGERS, *REAL_FLOATS, *COMPLEX),
    "prod": (*INTEGERS, *REAL_FLOATS, *COMPLEX),
    "mean": (*REAL_FLOATS, *COMPLEX),
    "var": REAL_FLOATS,
    "std": REAL_FLOATS,
    "min": (*INTEGERS, *REAL_FLOATS),
    "max": (*INTEGERS, *REAL_FLOATS),
    "argmin": (*INTEGERS, *REAL_FLOATS),
    "argmax": (*INTEGERS, *REAL_FLOATS),
    "any": ALL,
    "all": ALL,
    "count_nonzero": ALL,
}


def filling(dtype: str, count: int) -> list[Any]:
    """Small numbers whose sums and few-factor products are exact in most formats."""
    if dtype == "bool":
        return [i % 3 == 0 for i in range(count)]
    low = 0 if dtype.startswith("u") else -3
    numbers: list[Any] = [low + (i * 7 + i // 5) % 8 for i in range(count)]
    if dtype in INTEGERS:
        return numbers
    if dtype in COMPLEX:
        return [complex(n, (n * 3) % 5 - 2) for n in numbers]
    return [n / 2 for n in numbers]


def variance(values: list[Any], correction: float = 0) -> Fraction | None:
    count = Fraction(len(values)) - Fraction(correction)
    if count <= 0:
        return None
    mean = sum(map(Fraction, values), Fraction()) / len(values)
    return sum(((Fraction(v) - mean) ** 2 for v in values), Fraction()) / count


def var_of(values: list[Any], dtype: str, correction: float = 0) -> float:
    exact = variance(values, correction)
    return math.nan if exact is None else rounded(exact, dtype)


def std_of(values: list[Any], dtype: str, correction: float = 0) -> float:
    exact = variance(values, correction)
    return math.nan if exact is None else math.sqrt(exact)


def epsilon(dtype: str) -> float:
    component = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return 2.0 ** (1 - FORMATS[component].precision)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_first_of_equal_extremes(name: str) -> None:
    choose = min if name == "argmin" else max
    for dtype in ACCEPTED[name]:
        x = xp.asarray(filling(dtype, math.prod(SHAPE)), dtype=dtype).reshape(SHAPE)
        model = from_array(x)
        for axis, keepdims in itertools.product((None, 0, 1, 2, -1, -2), (False, True)):
            out = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
            wanted = reduced(model, axis, keepdims, lambda values: values.index(choose(values)))
            assert_dtype(out, "int64")
            assert (out.shape, flat(out)) == (wanted.shape, wanted.values), (dtype, axis)
        line = model.values * 3
        for part in (line, line[:7], line[20:150]):
            got = getattr(xp, name)(xp.asarray(part, dtype=dtype)).item()
            assert got == part.index(choose(part)), (dtype, len(part))
        if dtype in INTEGERS:
            near = xp.asarray(integers(dtype), dtype=dtype)
            assert getattr(xp, name)(near).item() == integers(dtype).index(choose(integers(dtype)))


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_long_sums_are_accurate(dtype: str) -> None:
    numbers = [rounded(Fraction((i * 7919) % 1000 + 1, 997), dtype) for i in range(2011)]
    numbers = [-v if i % 3 == 1 else v for i, v in enumerate(numbers)]
    size = sum(map(abs, numbers))
    exact = math.fsum(numbers)
    narrow = 2.0**-24 if dtype in ("float16", "bfloat16") else epsilon(dtype)
    for x in (xp.asarray(numbers, dtype=dtype), xp.asarray(numbers * 2, dtype=dtype)[::2]):
        wanted = exact if x.strides == (1,) else math.fsum((numbers * 2)[::2])
        total = xp.sum(x).item()
        assert abs(total - wanted) <= 40 * narrow * size + abs(wanted) * epsilon(dtype) / 2
        mean = xp.mean(x).item()
        room = 40 * narrow * size / len(numbers) + abs(wanted) * epsilon(dtype)
        assert abs(mean - wanted / len(numbers)) <= room


@run_each("dtype", INTEGERS)
def test_sums_and_products_wrap_in_64_bits(dtype: str) -> None:
    low, high = limits(dtype)
    values = [high, high - 1, low, high, 3, 5, 7]
    x = xp.asarray(values, dtype=dtype)
    wide = accumulated(dtype)
    assert xp.sum(x).item() == wrapped(sum(values), wide)
    assert xp.prod(x).item() == wrapped(math.prod(values), wide)
    assert xp.sum(x, dtype=x.dtype).item() == wrapped(sum(values), dtype)
    assert xp.prod(x, dtype=x.dtype).item() == wrapped(math.prod(values), dtype)
    assert str(xp.sum(x, dtype=x.dtype).dtype) == dtype


def test_dtype_argument_converts_before_the_sum() -> None:
    big = 60000.0
    x = xp.asarray([big, big, -big], dtype="float16")
    assert xp.sum(x, dtype=xp.float64).item() == 60000.0
    assert str(xp.sum(x, dtype=xp.float32).dtype) == "float32"
    assert xp.prod(xp.asarray([2.0**100, 2.0**100], dtype="float32"), dtype=xp.float64).item() == (
        2.0**200
    )
    ints = xp.asarray([1, 2, 3], dtype="int8")
    for name in ("float64", "complex128", "int16", "uint64"):
        for work, right in ((xp.sum, 6), (xp.prod, 6)):
            out = work(ints, dtype=getattr(xp, name))
            assert str(out.dtype) == name and out.item() == right


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_variance_with_corrections(dtype: str) -> None:
    values = [v / 4 for v in (3, -5, 7, 1, 0, 12, -2, 6)]
    x = xp.asarray(values, dtype=dtype)
    for correction in (0, 1, 2, 0.5, 7, 7.5, -1, 3.0):
        for name, oracle in (("var", var_of), ("std", std_of)):
            got = getattr(xp, name)(x, correction=correction).item()
            wanted = oracle(values, dtype, correction)
            assert abs(got - wanted) <= 8 * epsilon(dtype) * wanted, (name, correction)
    for correction in (8, 8.5, 100):
        for name in ("var", "std"):
            assert math.isnan(getattr(xp, name)(x, correction=correction).item())
    table = xp.asarray(values, dtype=dtype).reshape((2, 4))
    assert xp.var(table, axis=1, correction=1, keepdims=True).shape == (2, 1)


def test_variance_does_not_cancel() -> None:
    values = [1e9 + v for v in (4.0, 7.0, 13.0, 16.0)] * 50
    for work, right in ((xp.var, 22.5), (xp.std, math.sqrt(22.5))):
        assert abs(work(xp.asarray(values)).item() - right) <= 1e-9
    offset = xp.asarray([v + 2.0**14 for v in (4.0, 7.0, 13.0, 16.0)] * 50, dtype="float32")
    assert abs(xp.var(offset).item() - 22.5) <= 1e-4
