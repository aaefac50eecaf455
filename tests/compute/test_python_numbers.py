"""Python numbers beside arrays: they count as arrays of the other operand's dtype."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import flat
from oracles.formats import INTEGERS, KINDS, REAL_FLOATS, limits
from oracles.functions import BINARY, COMPARING, OPERATORS
from oracles.samples import samples

import refarray as xp

pytestmark = pytest.mark.every_python

NUMBERS: dict[str, tuple[Any, ...]] = {
    "bool": (True, False),
    "integer": (0, 1, 2, 3, 5, -1, -3, 100),
    "real floating": (0.0, -0.0, 1.5, -1.5, 3, -7, 0.7, float("inf"), float("nan")),
    "complex": (1, -1.5, 0.75 - 2j, 1j),
}


def numbers(dtype: str) -> list[Any]:
    (found,) = (NUMBERS[kind] for kind in NUMBERS if dtype in KINDS[kind])
    if dtype not in INTEGERS:
        return list(found)
    low, high = limits(dtype)
    return [each for each in found if low <= each <= high]


def named(name: str) -> list[Any]:
    methods = [m for m, function in {**OPERATORS, **COMPARING}.items() if function == name]
    return [getattr(xp, name), *(getattr(operator, method) for method in methods)]


@run_each("name", BINARY)
def test_numbers_count_as_arrays(name: str) -> None:
    for dtype in BINARY[name].dtypes:
        x = xp.asarray(samples(dtype), dtype=dtype)
        for number in numbers(dtype):
            other = xp.full(x.shape, number, dtype=dtype)
            pairs = (((x, number), (x, other)), ((number, x), (other, x)), ((x, other), (x, other)))
            for operands, arrays in pairs:
                wanted = getattr(xp, name)(*arrays)
                for function in named(name):
                    got = function(*operands)
                    assert got.dtype == wanted.dtype
                    assert repr(got.tolist()) == repr(wanted.tolist()), (dtype, number)


@run_each("method", OPERATORS)
def test_numbers_in_place_count_as_arrays(method: str) -> None:
    name = OPERATORS[method]
    in_place = getattr(operator, f"i{method.strip('_')}")
    for dtype in BINARY[name].dtypes:
        for number in numbers(dtype):
            x = xp.asarray(samples(dtype), dtype=dtype)
            wanted = getattr(xp, name)(x, xp.full(x.shape, number, dtype=dtype))
            assert in_place(x, number) is x
            assert repr(x.tolist()) == repr(wanted.tolist()), (dtype, number)


def test_where_takes_numbers() -> None:
    condition = xp.asarray([True, False, True, False])
    for dtype in REAL_FLOATS:
        x = xp.asarray([0.25, -0.0, 3.5, 4.75], dtype=dtype)
        for number in (1.5, -2.75, 3, -0.0):
            wanted = [0.25, float(number), 3.5, float(number)]
            assert repr(flat(xp.where(condition, x, number))) == repr(wanted)
            assert repr(flat(xp.where(~condition, number, x))) == repr(wanted)
            assert xp.where(condition, x, number).dtype == x.dtype


@run_each("method", COMPARING)
def test_comparisons_of_different_integers_are_exact(method: str) -> None:
    compare = getattr(operator, method)
    for left in INTEGERS:
        for right in INTEGERS:
            if {left, right} & {"uint64"} and not {left, right} <= set(KINDS["integer"][4:]):
                continue
            values = [(a, b) for a in limits(left) for b in (*limits(right), *limits(left))]
            low, high = limits(right)
            values = [(a, b) for a, b in values if low <= b <= high]
            x = xp.asarray([a for a, _ in values], dtype=left)
            y = xp.asarray([b for _, b in values], dtype=right)
            wanted = [compare(a, b) for a, b in values]
            assert compare(x, y).tolist() == wanted
            assert getattr(xp, COMPARING[method])(x, y).tolist() == wanted
