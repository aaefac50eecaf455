"""Rounding in matmul, vecdot and tensordot: bounds, narrow formats, NaN, infinities and zeros.
Products have the same bits for every layout, number of threads and instruction set."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import flat
from oracles.formats import COMPLEX, FLOATS, FORMATS, NUMERIC, REAL_FLOATS
from oracles.layouts import views
from oracles.nested import Shape
from oracles.products import (
    EDGES,
    as_array,
    assert_in_range,
    large_numbers,
    matmul,
    operands,
    range_dot,
    tensordot,
    vecdot,
)
from oracles.promotion import PROMOTION
from oracles.switches import ISAS, assert_instruction_sets_agree, instruction_set, threads

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


@run_each("level", ISAS)
@run_each("dtype", REAL_FLOATS)
def test_a_product_that_underflows_keeps_its_sign(dtype: str, level: str) -> None:
    """The C library's fma() may give +0 for a negative one that is added to +0, as musl's does."""
    tiny = xp.finfo(dtype).smallest_normal
    x = xp.asarray([[0.0, -tiny]] * 3, dtype=dtype)
    y = xp.asarray([[1.0] * 3, [tiny] * 3], dtype=dtype)
    with instruction_set(level):
        assert str(xp.matmul(x, y).tolist()) == str([[-0.0] * 3] * 3)


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


# --- Layouts, threads and instruction sets


LAYOUT_SHAPES: list[tuple[Shape, Shape]] = [
    ((13,), (13,)),
    ((300,), (300,)),
    ((9,), (9, 17)),
    ((17, 9), (9,)),
    ((1, 33), (33, 1)),
    ((3, 1), (1, 5)),
    ((5, 7), (7, 3)),
    ((33, 20), (20, 18)),
    ((3, 4, 5), (3, 5, 2)),
    ((2, 1, 4, 9), (3, 9, 5)),
]
SOME = ("int8", "uint32", "int64", "bfloat16", "float32", "float64", "complex64")


def layouts_of_both(x: Any, y: Any) -> Iterator[tuple[str, Any, Any]]:
    for name, view in views(x):
        yield f"left {name}", view, y
    for name, view in views(y):
        yield f"right {name}", x, view
    others = list(views(y))
    for i, (name, view) in enumerate(views(x)):
        other, right = others[(3 * i) % len(others)]
        yield f"left {name}, right {other}", view, right


def check(function: Any, x: Any, y: Any) -> None:
    """Every layout of the operands gives the bits that contiguous ones give."""
    wanted = function(x, y).tobytes()
    for name, left, right in layouts_of_both(x, y):
        before = left.tobytes(), right.tobytes()
        assert function(left, right).tobytes() == wanted, (x.shape, y.shape, name)
        assert (left.tobytes(), right.tobytes()) == before, name


@run_each("dtype", NUMERIC)
def test_matmul_reads_every_layout(dtype: str) -> None:
    for left, right in LAYOUT_SHAPES:
        check(xp.matmul, *operands(left, right, dtype))


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex128"])
def test_matmul_of_transposed_operands_around_the_edges_of_blocks(dtype: str) -> None:
    for edge in EDGES[:-4]:
        for left, right in (((edge, 9), (9, 11)), ((4, edge), (edge, 5)), ((7, 6), (6, edge))):
            x, y = operands(left, right, dtype)
            wanted = xp.matmul(x, y).tobytes()
            a, b = x.mT.copy().mT, y.mT.copy().mT
            for pair in ((a, y), (x, b), (a, b)):
                assert xp.matmul(*pair).tobytes() == wanted, (left, right)


@run_each("dtype", SOME)
def test_an_operand_may_be_both_operands(dtype: str) -> None:
    x, _ = operands((20, 20), (1,), dtype)
    for left, right in ((x, x), (x, x.mT), (x.mT, x), (x[::2, :], x[:, ::-1]), (x, x[:, 3])):
        out = xp.matmul(left, right)
        assert out.tobytes() == xp.matmul(left.copy(), right.copy()).tobytes()
    assert xp.vecdot(x, x).tobytes() == xp.vecdot(x, x.copy()).tobytes()
    assert xp.tensordot(x, x).tobytes() == xp.tensordot(x, x.copy()).tobytes()


#: Large enough for threads to share the work, in each of the ways in which it can be split.
LARGE: list[tuple[Shape, Shape]] = [
    ((400, 400), (400, 400)),
    ((1501, 33), (33, 65)),
    ((33, 65), (65, 1501)),
    ((7, 20_000), (20_000, 9)),
    ((1200, 1100), (1100,)),
    ((1100,), (1100, 1200)),
    ((1_200_000,), (1_200_000,)),
    ((200, 30, 31), (200, 31, 32)),
    ((3, 130, 131), (131, 140)),
]


def patterned(shape: Shape, dtype: str, seed: int) -> Any:
    """A large array without long periods, from a short list of numbers."""
    some = as_array(large_numbers(dtype, (997,), seed), dtype)
    size = math.prod(shape)
    return xp.tile(some, (size // 997 + 1,))[:size].reshape(shape)


@run_each("dtype", ["int8", "float32", "float64", "bfloat16", "complex64"])
def test_threads_do_not_change_the_bits_of_matmul(dtype: str) -> None:
    for left, right in LARGE:
        x, y = patterned(left, dtype, 1), patterned(right, dtype, 2)
        with threads(1):
            wanted = xp.matmul(x, y).tobytes()
        for count in (2, 4, 7):
            with threads(count):
                assert xp.matmul(x, y).tobytes() == wanted, (left, right, count)
        if len(left) > 1 and len(right) > 1:
            with threads(4):
                out = xp.matmul(x.mT.copy().mT, y.mT.copy().mT)
                assert out.tobytes() == wanted, (left, right, "transposed")


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64"])
def test_threads_do_not_change_the_bits_of_vecdot_and_tensordot(dtype: str) -> None:
    x, y = patterned((1100, 1200), dtype, 1), patterned((1100, 1200), dtype, 2)
    work = [
        lambda: xp.vecdot(x, y),
        lambda: xp.vecdot(x, y, axis=-2),
        lambda: xp.vecdot(x.reshape((-1,)), y.reshape((-1,))),
        lambda: xp.tensordot(x, y),
        lambda: xp.tensordot(x[:300, :], y[:300, :], axes=((0,), (0,))),
        lambda: xp.tensordot(x[0, :], y[0, :], axes=0),
    ]
    for function in work:
        with threads(1):
            wanted = function().tobytes()
        with threads(4):
            assert function().tobytes() == wanted


@pytest.mark.parametrize("dtype", NUMERIC)
def test_instruction_sets_do_not_change_the_bits(dtype: str) -> None:
    pairs = [operands(left, right, dtype) for left, right in LAYOUT_SHAPES]
    pairs += [operands((edge, edge), (edge, edge), dtype) for edge in (8, 15, 16, 33, 65)]
    pairs += [operands((6, 257), (257, 130), dtype), operands((2, 3000), (3000, 2), dtype)]

    def results() -> list[bytes]:
        return [
            *(xp.matmul(x, y).tobytes() for x, y in pairs),
            *(xp.matmul(x, y.mT.copy().mT).tobytes() for x, y in pairs[4:8]),
            *(xp.vecdot(x, x).tobytes() for x, _ in pairs),
            *(xp.tensordot(x, y, axes=1).tobytes() for x, y in pairs[4:8]),
        ]

    assert_instruction_sets_agree(results)
