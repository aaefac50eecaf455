"""Floating-point x // y and x % y against exact fractions, where rounded quotients mislead."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from oracles.arithmetic import floor_divide, remainder
from oracles.checks import assert_elements
from oracles.formats import FORMATS, REAL_FLOATS, rounded
from oracles.switches import ISAS, instruction_set

import refarray

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
