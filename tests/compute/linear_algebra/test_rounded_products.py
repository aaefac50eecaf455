"""Rounding in matmul, vecdot and tensordot: bounds, narrow formats, NaN, infinities and zeros."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import flat
from oracles.formats import COMPLEX, FLOATS, FORMATS, REAL_FLOATS
from oracles.nested import Shape
from oracles.products import (
    as_array,
    assert_in_range,
    large_numbers,
    matmul,
    range_dot,
    tensordot,
    vecdot,
)
from oracles.promotion import PROMOTION

import refarray

xp: Any = refarray
NARROW = ("float16", "bfloat16")
PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": xp.matmul,
    "vecdot": xp.vecdot,
    "tensordot": partial(xp.tensordot, axes=1),
}
each_product = pytest.mark.parametrize("name", PRODUCTS)
SHAPES: list[tuple[Shape, Shape]] = [
    ((1,), (1,)),
    ((300,), (300,)),
    ((33,), (33, 17)),
    ((17, 33), (33,)),
    ((7, 1), (1, 9)),
    ((5, 8), (8, 13)),
    ((13, 65), (65, 17)),
    ((3, 257), (257, 5)),
    ((2, 1, 4, 9), (3, 9, 5)),
]


@run_each("dtype", FLOATS)
def test_matmul_errs_by_less_than_its_bound(dtype: str) -> None:
    for left, right in SHAPES:
        x, y = large_numbers(dtype, left, 1), large_numbers(dtype, right, 2)
        out = xp.matmul(as_array(x, dtype), as_array(y, dtype))
        assert_in_range(out, matmul(x, y, range_dot(dtype)), dtype)


@run_each("dtype", FLOATS)
def test_vecdot_errs_by_less_than_its_bound(dtype: str) -> None:
    for left, right in (((300,), (300,)), ((5, 33), (4, 1, 33)), ((3, 1000), (1000,))):
        x, y = large_numbers(dtype, left, 1), large_numbers(dtype, right, 2)
        out = xp.vecdot(as_array(x, dtype), as_array(y, dtype))
        assert_in_range(out, vecdot(x, y, -1, range_dot(dtype, dtype in COMPLEX)), dtype)


@run_each("dtype", FLOATS)
def test_tensordot_errs_by_less_than_its_bound(dtype: str) -> None:
    for axes in (2, 1, ((0, 2), (2, 0))):
        x, y = large_numbers(dtype, (5, 9, 5), 1), large_numbers(dtype, (5, 9, 5), 2)
        x, y = (x, y) if axes != 2 else (x, y._replace(shape=(9, 5, 5)))
        out = xp.tensordot(as_array(x, dtype), as_array(y, dtype), axes=axes)
        assert_in_range(out, tensordot(x, y, axes, range_dot(dtype)), dtype)


@run_each("left", FLOATS)
def test_matmul_of_mixed_dtypes_rounds_in_the_wider_one(left: str) -> None:
    for right in FLOATS:
        if (left, right) in PROMOTION:
            dtype = PROMOTION[left, right]
            x, y = large_numbers(left, (3, 40), 1), large_numbers(right, (40, 5), 2)
            out = xp.matmul(as_array(x, left), as_array(y, right))
            wide = (matmul(x, y, range_dot(dtype)), dtype)
            assert_in_range(out, *wide)


@each_product
@run_each("dtype", NARROW)
def test_narrow_floats_are_added_in_float32_and_rounded_once(name: str, dtype: str) -> None:
    function = PRODUCTS[name]
    for count in (1, 2, 7, 64, 65, 300, 3000):
        x, y = (as_array(large_numbers(dtype, (4, count), seed), dtype) for seed in (1, 2))
        if name != "vecdot":
            y = y.mT
        wide = function(xp.astype(x, xp.float32), xp.astype(y, xp.float32))
        right = xp.astype(wide, x.dtype)
        assert function(x, y).tobytes() == right.tobytes(), count


@each_product
def test_narrow_sums_may_pass_the_largest_number(name: str) -> None:
    """Only the end of a sum is rounded to float16."""
    x = xp.asarray([60000.0, 60000.0, -60000.0], dtype="float16")
    one = xp.ones(3, dtype="float16")
    assert PRODUCTS[name](x, one).item() == 60000.0
    assert PRODUCTS[name](x[:2], one[:2]).item() == math.inf
    steps = xp.full((4096,), 2.0**-11, dtype="float16")
    first = xp.concat([xp.ones(1, dtype="float16"), steps])
    last = xp.ones_like(first)
    assert PRODUCTS[name](first, last).item() == 3.0


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_products_that_overflow_are_infinite(dtype: str) -> None:
    large = FORMATS[dtype].largest
    x = xp.asarray([[large, 1.0], [-large, 1.0]], dtype=dtype)
    y = xp.asarray([[2.0], [0.0]], dtype=dtype)
    assert flat(xp.matmul(x, y)) == [math.inf, -math.inf]


@each_product
@run_each("dtype", REAL_FLOATS)
def test_nan_and_infinity_reach_the_sum(name: str, dtype: str) -> None:
    for count in (1, 2, 8, 17, 64, 300):
        for place in {0, count // 2, count - 1}:
            for value, other, right in (
                (math.nan, 1.0, math.nan),
                (math.nan, 0.0, math.nan),
                (math.inf, 0.0, math.nan),
                (math.inf, 2.0, math.inf),
                (math.inf, -2.0, -math.inf),
                (-math.inf, 2.0, -math.inf),
                (math.inf, math.nan, math.nan),
            ):
                a, b = [1.0] * count, [1.0] * count
                a[place], b[place] = value, other
                x, y = xp.asarray(a, dtype=dtype), xp.asarray(b, dtype=dtype)
                for got in (
                    PRODUCTS[name](x, y).item(),
                    PRODUCTS[name](y, x).item(),
                ):
                    same = math.isnan(got) if math.isnan(right) else got == right
                    assert same, (count, place, value, other, got)


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_nan_and_infinity_stay_in_their_row_and_column(dtype: str) -> None:
    for m, k, n in ((3, 4, 5), (17, 9, 13), (33, 65, 20), (1, 8, 33)):
        x, y = xp.ones((m, k), dtype=dtype), xp.ones((k, n), dtype=dtype)
        for value in (math.nan, math.inf):
            row, column = m // 2, n - 1
            left, right = x.copy(), y.copy()
            left[row, k - 1] = value
            right[0, column] = value
            first = [value if i == row else float(k) for i in range(m) for _ in range(n)]
            second = [value if j == column else float(k) for _ in range(m) for j in range(n)]
            assert repr(flat(xp.matmul(left, y))) == repr(first), (m, k, n)
            assert repr(flat(xp.matmul(x, right))) == repr(second), (m, k, n)


@each_product
@run_each("dtype", FLOATS)
def test_sums_of_zeros_are_zero(name: str, dtype: str) -> None:
    """Of either sign, unless there is no term: then the zero is positive."""
    for count in (0, 1, 2, 33):
        for sign in (0.0, -0.0):
            x = xp.full((count,), sign, dtype=dtype)
            out = PRODUCTS[name](x, xp.ones_like(x))
            assert out.item() == 0
            if count == 0:
                assert out.tobytes() == bytes(out.nbytes)
    cancelled = xp.asarray([3.0, -3.0], dtype=dtype)
    assert PRODUCTS[name](cancelled, xp.ones_like(cancelled)).item() == 0


@pytest.mark.parametrize("dtype", COMPLEX)
def test_nan_and_infinity_in_complex_products(dtype: str) -> None:
    one = xp.asarray([1.0, 1.0], dtype=dtype)
    for value in (complex(math.nan, 0), complex(0, math.nan), complex(math.nan, math.inf)):
        x = xp.asarray([value, 1.0], dtype=dtype)
        for out in (xp.matmul(x, one), xp.matmul(one, x), xp.vecdot(x, one), xp.vecdot(one, x)):
            assert cmath.isnan(out.item()), value
    for value in (complex(math.inf, 0), complex(0, -math.inf)):
        x = xp.asarray([value, 1.0], dtype=dtype)
        for out in (xp.matmul(x, one), xp.vecdot(one, x), xp.tensordot(x, one, axes=1)):
            assert not cmath.isfinite(out.item()), value
