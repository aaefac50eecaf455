"""Every elementwise function against exact values, for each dtype that it accepts; x // y and x % y
where rounded quotients mislead; the same bits for every layout, length and way of broadcasting,
also of operands that share memory."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import arithmetic, real_functions
from oracles.arithmetic import floor_divide, remainder
from oracles.checks import assert_dtype, assert_elements, assert_within, error, flat, same
from oracles.formats import COMPLEX, FORMATS, INTEGERS, REAL_FLOATS, limits, rounded
from oracles.functions import BINARY, INEXACT, UNARY
from oracles.layouts import gapless, misaligned, text, views
from oracles.samples import pairs, samples
from oracles.switches import ISAS, instruction_set

import refarray
from refarray import Array

EXACT_UNARY = [name for name in UNARY if name in arithmetic.FLOAT_UNARY]
ROUNDED = {"sqrt"}  # functions of the processor: correctly rounded in every format


def apply(name: str, *operands: Any) -> Any:
    return getattr(refarray, name)(*operands)


def wanted_unary(name: str, dtype: str) -> Callable[[Any], Any] | None:
    if dtype in INTEGERS:
        table: Any = arithmetic.INTEGER_UNARY
    elif dtype in REAL_FLOATS:
        table = arithmetic.FLOAT_UNARY
    else:
        return {"logical_not": lambda x: not x, "bitwise_invert": lambda x: not x}.get(name)
    work = table.get(name)
    return None if work is None else lambda x: work(x, dtype)


@run_each("name", [*EXACT_UNARY, "bitwise_invert", "logical_not"])
def test_unary_functions_with_one_right_answer(name: str) -> None:
    for dtype in UNARY[name].dtypes:
        if dtype in COMPLEX:
            continue
        values = samples(dtype)
        work = wanted_unary(name, dtype)
        assert work is not None
        out = apply(name, gapless(values, dtype))
        assert_dtype(out, UNARY[name].result_of(dtype))
        assert_elements(flat(out), [work(x) for x in values], values)


@run_each("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", INEXACT)
def test_functions_of_real_numbers(name: str, dtype: str) -> None:
    values = samples(dtype)
    out = apply(name, gapless(values, dtype))
    assert_dtype(out, dtype)
    exact = [real_functions.real_unary(name, x) for x in values]
    assert_within(flat(out), exact, dtype, name, values)
    if name in ROUNDED:
        for got, right in zip(flat(out), exact, strict=True):
            assert error(got, right, dtype) <= 0.5


def exact_table(name: str, dtype: str) -> Callable[[Any, Any], Any] | None:
    if name in arithmetic.COMPARISONS:
        return arithmetic.COMPARISONS[name]
    if dtype == "bool":
        return arithmetic.BOOL_BINARY[name]
    table: Any = arithmetic.INTEGER_BINARY if dtype in INTEGERS else arithmetic.FLOAT_BINARY
    work = table.get(name)
    return None if work is None else lambda a, b: work(a, b, dtype)


def either_zero(name: str, got: list[Any], right: list[Any]) -> list[Any]:
    """maximum and minimum may choose either zero."""
    if name not in ("maximum", "minimum"):
        return right
    return [(each, -each) if each == 0 and isinstance(each, float) else each for each in right]


def check_pairs(name: str, dtype: str, a: list[Any], b: list[Any], out: Any) -> None:
    assert_dtype(out, BINARY[name].result_of(dtype))
    work = exact_table(name, dtype)
    if work is not None:
        right = [work(x, y) for x, y in zip(a, b, strict=True)]
        assert_elements(flat(out), either_zero(name, flat(out), right), a, b)
        return
    function = real_functions.REAL_BINARY[name]
    exact = [function(x, y) for x, y in zip(a, b, strict=True)]
    if name != "logaddexp":
        assert_within(flat(out), exact, dtype, name, a, b)
        return
    for x, y, got, value in zip(a, b, flat(out), exact, strict=True):
        if isinstance(value, float):
            assert same(got, value) or (got == 0 and value == 0), (x, y, got)
        else:  # the sum max + log1p(...) may cancel: the error is relative to its larger term
            largest = max(abs(x) if math.isfinite(x) else 0, abs(y) if math.isfinite(y) else 0, 1)
            room = 2.0 * largest * 2.0 ** -(real_functions.precision_of(dtype) - 1)
            assert abs(got - float(value)) <= room or error(got, value, dtype) <= 2, (x, y, got)


@run_each("dtype", [name for name in BINARY["equal"].dtypes if name not in COMPLEX])
@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_of_all_pairs(name: str, dtype: str) -> None:
    if dtype not in BINARY[name].dtypes:
        with pytest.raises(TypeError, match=dtype):
            apply(name, gapless(samples(dtype), dtype), gapless(samples(dtype), dtype))
        return
    a, b = pairs(dtype)
    check_pairs(name, dtype, a, b, apply(name, gapless(a, dtype), gapless(b, dtype)))


CLIP_CASES: list[tuple[Any, Any]] = [(None, None), (2, None), (None, 3), (2, 7), (-0.0, 2.5)]


@run_each("dtype", [name for name in UNARY["positive"].dtypes if name not in COMPLEX])
def test_clip(dtype: str) -> None:
    values = samples(dtype)
    x = gapless(values, dtype)
    for low, high in CLIP_CASES:
        if isinstance(low, float) and dtype in INTEGERS:
            continue
        out = refarray.clip(x, low, high)
        arrays = [None if v is None else refarray.asarray(v, dtype=dtype) for v in (low, high)]
        right = [clipped(v, low, high) for v in values]
        for each in (out, refarray.clip(x, min=low, max=high), refarray.clip(x, *arrays)):
            assert_dtype(each, dtype)
            got = flat(each)
            assert [g == r or (g != g and r != r) for g, r in zip(got, right, strict=True)] == [
                True
            ] * len(right), (low, high, got)


def clipped(value: Any, low: Any, high: Any) -> Any:
    if value != value:
        return value
    value = value if high is None else min(value, high)
    return value if low is None else max(value, low)


def test_clip_propagates_nan_of_its_limits_and_broadcasts_them() -> None:
    for dtype in REAL_FLOATS:
        nan = refarray.asarray(math.nan, dtype=dtype)
        x = refarray.asarray([0.0, 1.0, 5.0], dtype=dtype)
        assert [math.isnan(v) for v in refarray.clip(x, nan, None).tolist()] == [True] * 3
        assert [math.isnan(v) for v in refarray.clip(x, None, nan).tolist()] == [True] * 3
        low = refarray.asarray([[0.5], [2.0]], dtype=dtype)
        assert refarray.clip(x, low, None).tolist() == [[0.5, 1.0, 5.0], [2.0, 2.0, 5.0]]


# --- floating-point x // y and x % y


xp: Any = refarray
COUNT = 1200


def number(source: random.Random, dtype: str) -> float:
    """A finite number of any size, with few or many digits."""
    form = FORMATS[dtype]
    digits = source.choice(
        (source.getrandbits(form.precision), 2**form.precision - 1, source.getrandbits(2))
    )
    power = source.randint(form.emin - form.precision + 1, form.emax - form.precision + 1)
    return rounded(Fraction(digits | 1) * Fraction(2) ** power * source.choice((1, -1)), dtype)


def quotient(source: random.Random, dtype: str) -> Fraction:
    """Near an integer, or near the midpoint of two numbers of the dtype: up to the square of the
    greatest number with a unit in its last place of 1."""
    digits = FORMATS[dtype].precision
    power = source.randint(0, 2 * digits + 3)
    integer = source.getrandbits(min(power, digits + 1)) | 1
    beside = source.choice((Fraction(0), Fraction(1, 2), Fraction(1), Fraction(-1, 3)))
    return Fraction(integer << max(power - digits - 1, 0)) + beside


def operands(dtype: str) -> tuple[list[float], list[float]]:
    source = random.Random(f"quotients of {dtype}")
    largest = FORMATS[dtype].largest
    left, right = [], []
    for i in range(COUNT):
        y = number(source, dtype)
        x = number(source, dtype)
        if i % 4:
            x = rounded(Fraction(y) * quotient(source, dtype) * source.choice((1, -1)), dtype)
        left.append(max(-largest, min(largest, x)))
        right.append(y)
    return left, right


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_the_floor_of_the_exact_quotient_is_rounded_once(dtype: str) -> None:
    a, b = operands(dtype)
    x, y = xp.asarray(a, dtype=dtype), xp.asarray(b, dtype=dtype)
    floors = [floor_divide(u, v, dtype) for u, v in zip(a, b, strict=True)]
    rests = [remainder(u, v, dtype) for u, v in zip(a, b, strict=True)]
    for isa in ISAS:
        with instruction_set(isa):
            assert_elements((x // y).tolist(), floors, a, b)
            assert_elements((x % y).tolist(), rests, a, b)


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_a_representable_floor_and_its_remainder_give_the_dividend(dtype: str) -> None:
    a, b = operands(dtype)
    x, y = xp.asarray(a, dtype=dtype), xp.asarray(b, dtype=dtype)
    exact = 0
    for u, v, q, r in zip(a, b, (x // y).tolist(), (x % y).tolist(), strict=True):
        floor = math.floor(Fraction(u) / Fraction(v))
        if q != floor or abs(u) < abs(v):  # the remainder of a small u may be rounded
            continue
        exact += 1
        assert Fraction(v) * floor + Fraction(r) == Fraction(u), (u, v, q, r)
    assert exact > COUNT // 4


#: x, y, and the rounded floor and quotient. The floor is the midpoint of two float64, of which the
#: even one is nearest; the quotient lies above it, on the side of the odd one.
TIES = [
    (float(3 * 2**53 + 4), 3.0, float(2**53), float(2**53 + 2)),
    (float(-7 * 2**53 - 16), 7.0, float(-(2**53) - 4), float(-(2**53) - 2)),
]


@pytest.mark.parametrize(("x", "y", "floor", "quotient"), TIES)
def test_ties_are_those_of_the_floor_and_not_of_the_quotient(
    x: float, y: float, floor: float, quotient: float
) -> None:
    left = xp.asarray([x], dtype="float64")
    assert (left // y).tolist() == [floor]
    assert (left / y).tolist() == [quotient]


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_tiny_negative_quotients_have_the_floor_minus_one(dtype: str) -> None:
    form = FORMATS[dtype]
    x = xp.asarray([form.smallest, -form.smallest, -form.smallest_normal], dtype=dtype)
    for large in (1.0, form.largest):
        assert (x // large).tolist() == [0.0, -1.0, -1.0]
        assert (x // -large).tolist() == [-1.0, 0.0, 0.0]
        assert (x % large).tolist() == [form.smallest, large, large]


@run_each(
    ("a", "b", "greater", "lesser"),
    [
        (0.0, 0.0, 0.0, 0.0),
        (-0.0, 0.0, 0.0, -0.0),
        (0.0, -0.0, 0.0, -0.0),
        (-0.0, -0.0, -0.0, -0.0),
    ],
)
def test_of_two_zeros_the_positive_one_is_greater(
    a: float, b: float, greater: float, lesser: float
) -> None:
    for dtype in REAL_FLOATS:
        x, y = (xp.full(100, each, dtype=dtype) for each in (a, b))
        for isa in ISAS:
            with instruction_set(isa):
                assert repr(xp.maximum(x, y).tolist()) == repr([greater] * 100)
                assert repr(xp.minimum(x, y).tolist()) == repr([lesser] * 100)


# --- Integers x // y and x % y of one y, whose reciprocal they are multiplied by


def divisors(dtype: str) -> list[int]:
    """All of 8 bits; otherwise powers of two, the limits, small ones, and their neighbours."""
    low, high = limits(dtype)
    if high < 256:
        return list(range(low, high + 1))
    powers = [1 << bit for bit in range(high.bit_length() + 1)]
    near = {sign * each + i for each in (*powers, high, 10, 1000) for sign in (1, -1)
            for i in (-1, 0, 1)}  # fmt: skip
    return sorted(each for each in near if low <= each <= high)


@run_each("dtype", INTEGERS)
def test_integers_by_one_divisor(dtype: str) -> None:
    low, high = limits(dtype)
    small = divisors(dtype)
    for y in small:
        edges = [] if y == 0 else [low // y * y, high // y * y, (high // 2 + 1) // y * y]
        a = [*small, *(v for each in edges for v in (each - 1, each) if low <= v <= high)]
        x = xp.asarray(a, dtype=dtype)
        floors = [arithmetic.INTEGER_BINARY["floor_divide"](v, y, dtype) for v in a]
        rests = [arithmetic.INTEGER_BINARY["remainder"](v, y, dtype) for v in a]
        for isa in ISAS:
            with instruction_set(isa):
                assert (x // y).tolist() == floors, (y, isa)
                assert (x % y).tolist() == rests, (y, isa)


# --- Layouts


def function(name: str) -> Any:
    return getattr(refarray, name)


def check_lengths(work: Any, whole: tuple[Array, ...], dtype: str) -> None:
    """The first elements of a result do not depend on how many follow."""
    full = work(*whole)
    elements = full.tolist()
    for length in range(41):
        parts = [each[:length] for each in whole]
        expected = repr(elements[:length])
        assert text(work(*parts)) == expected, (dtype, length)
        assert text(work(*(misaligned(part) for part in parts))) == expected, (dtype, length)
        shifted = [each[3 : 3 + length] for each in whole]
        assert text(work(*shifted)) == repr(elements[3 : 3 + length]), (dtype, length)
        back = [refarray.flip(part) for part in parts]
        assert text(work(*back)) == repr(elements[:length][::-1]), (dtype, length)


def repeated(values: list[Any], count: int) -> list[Any]:
    return (values * (count // len(values) + 1))[:count]


@run_each("name", UNARY)
def test_unary_functions_of_short_vectors(name: str) -> None:
    for dtype in UNARY[name].dtypes:
        values = repeated(samples(dtype), 44)
        check_lengths(function(name), (refarray.asarray(values, dtype=dtype),), dtype)


@run_each("name", BINARY)
def test_binary_functions_of_short_vectors(name: str) -> None:
    for dtype in BINARY[name].dtypes:
        a, b = pairs(dtype)
        start = len(a) // 3
        left, right = (repeated(each[start:], 44) for each in (a, b))
        whole = (refarray.asarray(left, dtype=dtype), refarray.asarray(right, dtype=dtype))
        check_lengths(function(name), whole, dtype)


MANY_AXES = (5, 2, 3, 2, 2, 3, 2, 2, 2)  # more elements than one block has


@run_each("dtype", ["int8", "int16", "float32", "float64", "complex128"])
def test_arrays_of_many_short_axes(dtype: str) -> None:
    numbers = refarray.arange(math.prod(MANY_AXES)).reshape(MANY_AXES) % 61
    is_odd, x = numbers % 2 == 1, numbers.astype(dtype)
    few = x[:, :1, :, :1, :, :1, :, :1, :]
    repeated_few = refarray.broadcast_to(few, MANY_AXES)
    expected = text(x + repeated_few.copy()), text(refarray.where(is_odd, x, repeated_few.copy()))
    column_major = refarray.permute_dims(is_odd, range(8, -1, -1)).copy()
    is_odd = refarray.permute_dims(column_major, range(8, -1, -1))
    for name, view in views(x):
        for y in (few, repeated_few, refarray.flip(refarray.flip(few).copy())):
            got = text(view + y), text(refarray.where(is_odd, view, y))
            assert got == expected, name


INDEX = xp.asarray([2, 0, 1])


@run_each(
    ("wide", "narrow"),
    [
        *(("int16", "int8"), ("int32", "int8"), ("int64", "int32"), ("int16", "uint8")),
        *(("float64", "float32"), ("float32", "float16"), ("complex128", "float64")),
    ],
)
def test_in_place_operands_may_be_views_of_other_dtypes(wide: str, narrow: str) -> None:
    """x += y reads y first, also where y shows the bytes of x as elements of another dtype."""
    for count in (7, 40, 1000, 20_000):
        for start in (0, 1, 3):
            for name in ("iadd", "isub", "imul"):
                whole = xp.asarray([i % 50 for i in range(count)], dtype="int64").astype(wide)
                y = whole.view(getattr(xp, narrow))[start : start + count - 2]
                x = whole[: count - 2]
                expected = text(getattr(operator, name[1:])(x.copy(), y.copy()))
                x = getattr(operator, name)(x, y)
                assert text(x) == expected, (count, start, name)


@run_each("dtype", [*INTEGERS, *REAL_FLOATS, *COMPLEX])
def test_results_of_shared_operands_are_whole_arrays(dtype: str) -> None:
    x = xp.broadcast_to(xp.ones((), dtype=dtype), (3, 4))
    for out in (x + x, -x, xp.where(x == x, x, x), xp.concat([x]), x[INDEX]):
        assert out.is_contiguous() and not out.readonly
        out[0, 0] = 5
        assert sorted({repr(v) for row in out.tolist() for v in row}) == sorted(
            {repr(out[0, 0].item()), repr(out[1, 1].item())}
        )
        assert out[0, 1].item() == out[1, 1].item() != 5
