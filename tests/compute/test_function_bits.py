"""Mathematics has the same bits for every instruction set and every place in an array; inputs of
float64 that are hard to compute."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import real_functions
from oracles.checks import assert_within
from oracles.functions import INEXACT
from oracles.switches import assert_instruction_sets_agree

import refarray

xp: Any = refarray
TWO = sorted(real_functions.REAL_BINARY)
#: More than a vector has of any number of lanes, and some left.
COUNT = 3 * 16 + 5


def numbers(seed: str, count: int, dtype: str) -> Any:
    """Of every size, around 1, integers, and special ones."""
    source = random.Random(seed)
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0**-1074, 710.0, -745.0]
    kinds = (
        lambda: source.choice((1, -1)) * 2.0 ** source.uniform(-1074, 1024),
        lambda: source.uniform(-4, 4),
        lambda: source.uniform(-800, 800),
        lambda: float(source.randrange(-20, 20)),
        lambda: source.choice(special),
    )
    found = [kinds[i % len(kinds)]() for i in range(count)]
    source.shuffle(found)
    return xp.astype(xp.asarray(found, dtype="float64"), dtype)


def operands(name: str, count: int, dtype: str) -> list[Any]:
    return [numbers(f"{name}{i}", count, dtype) for i in range(2 if name in TWO else 1)]


@run_each("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*INEXACT, *TWO])
def test_instruction_sets_do_not_change_the_bits(name: str, dtype: str) -> None:
    given = operands(name, 4000, dtype)
    assert_instruction_sets_agree(lambda: rows(name, given))


def rows(name: str, given: list[Any]) -> list[bytes]:
    """The bytes of each element."""
    out = getattr(xp, name)(*given)
    whole, size = out.tobytes(), out.dtype.itemsize
    return [whole[i : i + size] for i in range(0, len(whole), size)]


@run_each("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*INEXACT, *TWO])
def test_places_do_not_change_the_bits(name: str, dtype: str) -> None:
    given = operands(name, COUNT, dtype)
    whole = rows(name, given)
    for i in range(COUNT):
        assert rows(name, [x[i : i + 1] for x in given]) == whole[i : i + 1], given[0][i]
        assert rows(name, [x[i:] for x in given]) == whole[i:], i


def test_numbers_next_to_multiples_of_a_quarter() -> None:
    """Of all doubles some of the nearest to multiples of pi / 2."""
    values = [float.fromhex(text) for text in ("0x1.6ac5b262ca1ffp+849", "0x1.921fb54442d18p+0")]
    values += [float(round(k * math.pi / 2 * 2**20)) / 2**20 for k in (1, 7, 10**6, 10**12)]
    values += [2.0**k * math.pi for k in range(0, 1000, 37)]
    for name in ("sin", "cos", "tan"):
        exact = [real_functions.real_unary(name, v) for v in values]
        out = getattr(xp, name)(xp.asarray(values, dtype="float64")).tolist()
        assert_within(out, exact, "float64", name, values)


def test_logaddexp_where_the_sum_is_nearly_1() -> None:
    source = random.Random(1)
    a = [-math.exp(source.uniform(-50, 3)) for _ in range(200)]
    b = [math.log(-math.expm1(v)) for v in a]
    a += [-math.log(2)] * 2
    b += [-math.log(2), -math.log(2) - 2.0**-53]
    exact = [real_functions.REAL_BINARY["logaddexp"](x, y) for x, y in zip(a, b, strict=True)]
    out = xp.logaddexp(xp.asarray(a, dtype="float64"), xp.asarray(b, dtype="float64")).tolist()
    assert_within(out, exact, "float64", "logaddexp", a, b)
