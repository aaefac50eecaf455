"""Reductions over every choice of axes, against exact sums, products, means and variances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype, flat
from oracles.formats import ALL, COMPLEX, FORMATS, INTEGERS, REAL_FLOATS, limits, rounded, wrapped
from oracles.layouts import gapless, layouts, text
from oracles.nested import from_array, reduced
from oracles.promotion import accumulated
from oracles.samples import integers

import refarray

xp: Any = refarray
SHAPE = (3, 4, 5)
AXES: list[Any] = [
    *(None, 0, 1, 2, -1, -3, (0,), (0, 1), (1, 0), (2, 0), (-1, -2), (0, 1, 2), (2, 1, 0), ()),
]
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


def sum_of(values: list[Any], dtype: str) -> Any:
    if dtype in INTEGERS:
        return wrapped(sum(values), accumulated(dtype))
    if dtype in COMPLEX:
        real, imag = (
            sum((Fraction(part) for part in parts), Fraction()) for parts in split(values)
        )
        return complex(float(real), float(imag))
    return rounded(sum((Fraction(v) for v in values), Fraction()), dtype)


def split(values: list[complex]) -> tuple[list[float], list[float]]:
    return [v.real for v in values], [v.imag for v in values]


def product_of(values: list[Any], dtype: str) -> Any:
    if dtype in INTEGERS:
        return wrapped(math.prod(values), accumulated(dtype))
    if dtype in COMPLEX:
        total = (Fraction(1), Fraction(0))
        for v in values:
            c, d = Fraction(v.real), Fraction(v.imag)
            total = (total[0] * c - total[1] * d, total[0] * d + total[1] * c)
        return complex(float(total[0]), float(total[1]))
    return rounded(math.prod((Fraction(v) for v in values), start=Fraction(1)), dtype)


def mean_of(values: list[Any], dtype: str) -> Any:
    count = len(values)
    if dtype in COMPLEX:
        parts = [sum(map(Fraction, part), Fraction()) for part in split(values)]
        return complex(*(float(p / count) if count else math.nan for p in parts))
    if not count:
        return math.nan
    return rounded(sum(map(Fraction, values), Fraction()) / count, dtype)


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


ORACLES: dict[str, Callable[[list[Any], str], Any]] = {
    "sum": sum_of,
    "prod": product_of,
    "mean": mean_of,
    "var": var_of,
    "std": std_of,
    "min": lambda values, dtype: min(values),
    "max": lambda values, dtype: max(values),
    "any": lambda values, dtype: any(values),
    "all": lambda values, dtype: all(values),
    "count_nonzero": lambda values, dtype: sum(1 for v in values if v),
}


def result_dtype(name: str, dtype: str) -> str:
    if name in ("sum", "prod"):
        return accumulated(dtype)
    if name in ("any", "all"):
        return "bool"
    return "int64" if name in ("argmin", "argmax", "count_nonzero") else dtype


def epsilon(dtype: str) -> float:
    component = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return 2.0 ** (1 - FORMATS[component].precision)


def agrees(got: Any, wanted: Any, dtype: str, name: str) -> bool:
    exact = dtype in INTEGERS or name in ("min", "max", "any", "all", "count_nonzero", "sum")
    if exact:
        return type(got) is type(wanted) and bool(got == wanted)
    if wanted != wanted:
        return bool(got != got)
    bound = 16 * epsilon(dtype) * max(abs(wanted), 2.0**-10)
    return bool(got == wanted) or abs(got - wanted) <= bound


def allows_integers(function: Any, x: Any) -> bool:
    """The standard lets mean, var and std take integers; the result is then float64."""
    try:
        out = function(x)
    except TypeError:
        return False
    assert_dtype(out, "float64")
    assert out.item() == function(xp.astype(x, xp.float64)).item()
    return True


@run_each("dtype", ALL)
@pytest.mark.parametrize("name", ORACLES)
def test_reductions_over_all_axes(name: str, dtype: str) -> None:
    x = xp.asarray(filling(dtype, math.prod(SHAPE)), dtype=dtype).reshape(SHAPE)
    function = getattr(xp, name)
    if dtype not in ACCEPTED[name]:
        if name in ("mean", "var", "std") and dtype in INTEGERS and allows_integers(function, x):
            return
        with pytest.raises(TypeError, match=dtype) as caught:
            function(x)
        assert name in str(caught.value)
        return
    model = from_array(x)
    for axis, keepdims in itertools.product(AXES, (False, True)):
        out = function(x, axis=axis, keepdims=keepdims)
        wanted = reduced(model, axis, keepdims, lambda values: ORACLES[name](values, dtype))
        assert_dtype(out, result_dtype(name, dtype))
        assert out.shape == wanted.shape, (axis, keepdims)
        for got, right in zip(flat(out), wanted.values, strict=True):
            assert agrees(got, right, dtype, name), (axis, got, right)


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


@run_each("name", ACCEPTED)
def test_reductions_read_every_layout(name: str) -> None:
    function = getattr(xp, name)
    for dtype in ACCEPTED[name]:
        values = filling(dtype, 332)
        if dtype in REAL_FLOATS:  # inexact sums: the order of additions must not change
            values = [rounded(Fraction(v) / 3, dtype) for v in values]
        for axis in (None, 0, 1, (0, 1)):
            if isinstance(axis, tuple) and name.startswith("arg"):
                continue
            expected = text(function(gapless(values, dtype), axis=axis))
            for layout, x in layouts(values, dtype):
                assert text(function(x, axis=axis)) == expected, (dtype, layout, axis)


@run_each("name", ACCEPTED)
def test_reductions_of_empty_arrays(name: str) -> None:
    function = getattr(xp, name)
    identities = {"sum": 0, "prod": 1, "any": False, "all": True, "count_nonzero": 0}
    for dtype in ACCEPTED[name]:
        x = xp.zeros((2, 0, 3), dtype=dtype)
        assert function(x, axis=0).shape == (0, 3)
        if name in ("min", "max", "argmin", "argmax"):
            for axis in (None, 1):
                with pytest.raises(ValueError, match=name) as caught:
                    function(x, axis=axis)
                assert "(2, 0, 3)" in str(caught.value) or "empty" in str(caught.value)
            assert function(x, axis=-1).shape == (2, 0)
            continue
        cases: list[tuple[Any, Any]] = [(None, ()), (1, (2, 3)), ((0, 1), (3,))]
        for axis, shape in cases:
            out = function(x, axis=axis)
            assert out.shape == shape and str(out.dtype) == result_dtype(name, dtype)
            for got in flat(out):
                if name in identities:
                    assert got == identities[name]
                else:
                    parts = (got.real, got.imag) if dtype in COMPLEX else (got,)
                    assert all(math.isnan(part) for part in parts)


@run_each("name", ACCEPTED)
def test_reductions_of_points(name: str) -> None:
    for dtype in ACCEPTED[name]:
        x = xp.asarray(filling(dtype, 5)[4], dtype=dtype)
        out = getattr(xp, name)(x)
        assert out.shape == () and str(out.dtype) == result_dtype(name, dtype)
        value = x.item()
        right = {"var": 0, "std": 0, "argmin": 0, "argmax": 0, "any": bool(value)}
        right |= {"all": bool(value), "count_nonzero": int(bool(value))}
        assert out.item() == right.get(name, value), dtype


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
