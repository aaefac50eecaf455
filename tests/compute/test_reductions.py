"""Reductions of long arrays, of NaN and to other dtypes, for every layout and thread count."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.formats import INTEGERS, REAL, REAL_FLOATS, limits, wrapped
from oracles.layouts import text, views
from oracles.promotion import accumulated
from oracles.samples import samples
from oracles.switches import threads as copy_threads

import refarray

xp: Any = refarray


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    with copy_threads(request.param):
        yield request.param


def numbers(dtype: str, count: int) -> list[Any]:
    source = random.Random(dtype)
    if dtype in INTEGERS:
        low, high = limits(dtype)
        return [source.randint(low, high) for _ in range(count)]
    if dtype.startswith("complex"):
        return [complex(source.gauss(0, 1), source.gauss(0, 1)) for _ in range(count)]
    return [source.gauss(1, 0.01) for _ in range(count)]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "prod"])
def test_reduced_axes_may_come_in_any_order(name: str) -> None:
    x = xp.asarray(numbers("float64", 24 * 35 * 33)).reshape((24, 35, 33))
    for axes in ((0, 1), (0, 2), (1, 2), (0, 1, 2)):
        expected = text(getattr(xp, name)(x, axis=axes))
        for order in itertools.permutations(axes):
            assert text(getattr(xp, name)(x, axis=order)) == expected
            signed = tuple(a - 3 for a in order)
            assert text(getattr(xp, name)(x, axis=signed)) == expected
    moved = xp.permute_dims(xp.permute_dims(x, (2, 0, 1)).copy(), (1, 2, 0))
    axis: Any
    for axis in (None, 0, 1, 2, (0, 1), (0, 2), (1, 2)):
        assert text(getattr(xp, name)(moved, axis=axis)) == text(getattr(xp, name)(x, axis=axis))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_sums_are_accurate(dtype: str, threads: int) -> None:
    """A pairwise sum errs by a few times log2(n) units, one in a row by n."""
    values = xp.asarray(numbers(dtype, 400_000), dtype=dtype)
    elements = values.tolist()
    eps = 2.0 ** (-23 if dtype == "float32" else -52)
    exact = math.fsum(elements)
    size = math.fsum(map(abs, elements))
    assert abs(xp.sum(values).item() - exact) <= 40 * eps * size
    assert abs(xp.mean(values).item() - exact / len(elements)) <= 40 * eps * size / len(elements)
    mean = exact / len(elements)
    spread = math.fsum((v - mean) ** 2 for v in elements) / len(elements)
    assert abs(xp.var(values).item() - spread) <= 100 * eps * spread
    assert abs(xp.std(values).item() - math.sqrt(spread)) <= 100 * eps * math.sqrt(spread)
    ones = xp.ones((2**24 + 5,), dtype=dtype) if dtype == "float32" else xp.ones((1000, 301))
    assert xp.sum(ones).item() == float(2**24 + 5 if dtype == "float32" else 301_000) or (
        dtype == "float32" and abs(xp.sum(ones).item() - 2**24 - 5) <= 2
    )


@pytest.mark.parametrize("dtype", INTEGERS)
def test_long_integer_sums_wrap(dtype: str, threads: int) -> None:
    values = numbers(dtype, 100_003)
    x = xp.asarray(values, dtype=dtype)
    wide = accumulated(dtype)
    assert xp.sum(x).item() == wrapped(sum(values), wide)
    assert xp.max(x).item() == max(values) and xp.min(x).item() == min(values)
    assert xp.argmax(x).item() == values.index(max(values))
    assert xp.argmin(x).item() == values.index(min(values))
    odd = [v | 1 for v in values]
    product = 1
    for v in odd:
        product = wrapped(product * v, wide)
    assert xp.prod(xp.asarray(odd, dtype=dtype)).item() == product
    running = list(itertools.accumulate(values, lambda a, b: wrapped(a + b, wide)))
    assert xp.cumulative_sum(x).tolist() == running


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_extremes_at_every_place(dtype: str) -> None:
    count = 300
    for place in range(0, count, 7):
        values = [5] * count
        values[place] = 9
        values[(place + 150) % count] = 1
        x = xp.asarray(values, dtype=dtype)
        for y in (x, xp.asarray([v for v in values for _ in (0, 1)], dtype=dtype)[::2]):
            assert xp.argmax(y).item() == place and xp.max(y).item() == 9
            assert xp.argmin(y).item() == (place + 150) % count and xp.min(y).item() == 1
            assert xp.any(y == 9).item() and not xp.all(y == 5).item()
            assert xp.count_nonzero(y - xp.asarray(5, dtype=dtype)).item() == 2


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_scans_do_not_depend_on_layout_or_threads(dtype: str, threads: int) -> None:
    x = xp.asarray(numbers(dtype, 101 * 307), dtype=dtype).reshape((101, 307))
    for name, axis in itertools.product(("cumulative_sum", "cumulative_prod"), (0, 1)):
        function = getattr(xp, name)
        whole = function(x, axis=axis)
        for label, y in views(x):
            assert function(y, axis=axis).tobytes() == whole.tobytes(), (name, axis, label)
        rows, results = (x, whole) if axis == 1 else (x.T, whole.T)
        for index in (0, 50, 100):
            assert function(rows[index]).tobytes() == results[index].tobytes(), (name, axis, index)


@run_each("name", ["sum", "prod", "mean", "var", "std", "min", "max"])
def test_nan_propagates_from_every_place(name: str) -> None:
    for dtype in REAL_FLOATS:
        for count in (1, 2, 7, 16, 33, 70):
            for place in {0, 1 % count, count // 2, count - 1}:
                values = [1.0 + i % 5 for i in range(count)]
                values[place] = math.nan
                x = xp.asarray(values, dtype=dtype)
                assert math.isnan(getattr(xp, name)(x).item()), (dtype, count, place)
                rows = xp.asarray([values, [1.0] * count], dtype=dtype)
                out = getattr(xp, name)(rows, axis=1).tolist()
                assert math.isnan(out[0]) and not math.isnan(out[1])
                assert math.isnan(getattr(xp, name)(rows, axis=0).tolist()[place])


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_position_of_nan_is_that_of_the_extreme(name: str) -> None:
    """max and min of an array with NaN are NaN: the position is the first NaN's."""
    for dtype in REAL_FLOATS:
        for count in (1, 5, 40, 70):
            values = [float(i % 7) for i in range(count)]
            for place in range(0, count, 3):
                with_nan = [*values[:place], math.nan, *values[place + 1 :]]
                with_nan[-1] = math.nan
                x = xp.asarray(with_nan, dtype=dtype)
                assert getattr(xp, name)(x).item() == place, (dtype, count)


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_all_numbers_of_a_dtype(name: str) -> None:
    choose = min if name == "min" else max
    for dtype in REAL:
        values = [v for v in samples(dtype) if v == v]
        for count in range(1, len(values)):
            for part in (values[:count], values[-count:], values[:count][::-1]):
                got = getattr(xp, name)(xp.asarray(part, dtype=dtype)).item()
                assert got == choose(part), (dtype, part)


def test_mean_of_complex_components_is_independent() -> None:
    x = xp.asarray([complex(math.nan, 1), complex(2, 3)], dtype="complex128")
    got = xp.mean(x).item()
    assert math.isnan(got.real) and got.imag == 2.0


@run_each("dtype", INTEGERS)
def test_sums_and_products_wrap_in_their_dtype(dtype: str) -> None:
    low, high = limits(dtype)
    values = [high, high - 1, low, high, 3, 5, 7]
    x = xp.asarray(values, dtype=dtype)
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


def test_variance_does_not_cancel() -> None:
    values = [1e9 + v for v in (4.0, 7.0, 13.0, 16.0)] * 50
    for work, right in ((xp.var, 22.5), (xp.std, math.sqrt(22.5))):
        assert abs(work(xp.asarray(values)).item() - right) <= 1e-9
    offset = xp.asarray([v + 2.0**14 for v in (4.0, 7.0, 13.0, 16.0)] * 50, dtype="float32")
    assert abs(xp.var(offset).item() - 22.5) <= 1e-4
