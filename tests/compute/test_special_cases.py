"""The special cases of the standard: every floating dtype, vectors, strided and in-place forms."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import flat
from oracles.formats import COMPLEX, COMPONENT, REAL_FLOATS
from oracles.functions import OPERATORS
from oracles.layouts import WIDTH, gapless, layouts
from oracles.special_cases import (
    BINARY_CASES,
    COMPLEX_NAMES,
    UNARY_CASES,
    Wanted,
    complex_cases,
    real_cases,
)

import refarray

OPERATOR_OF = {function: getattr(operator, name) for name, function in OPERATORS.items()}
IN_PLACE_OF = {
    function: getattr(operator, f"i{name.rstrip('_')}") for name, function in OPERATORS.items()
}


def padded(values: list[Any]) -> list[Any]:
    return values + values[:1] * (-len(values) % WIDTH)


def wrong(
    name: str, operands: list[tuple[Any, ...]], wanted: list[Wanted], got: list[Any], dtype: str
) -> list[str]:
    return [
        f"{name}({', '.join(map(repr, given))}) is {mine!r}, not {right}"
        for given, right, mine in zip(operands, wanted, got, strict=False)
        if not right.admits(mine, dtype)
    ]


@run_each("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", UNARY_CASES)
def test_real_functions(name: str, dtype: str) -> None:
    operands, wanted = map(list, zip(*real_cases(UNARY_CASES[name], dtype), strict=True))
    values = padded([x for (x,) in operands])
    work = getattr(refarray, name)
    results = [work(gapless(values, dtype))]
    results += [work(x) for _, x in layouts(values, dtype)]
    for out in results:
        assert wrong(name, operands, wanted, flat(out), dtype) == []
    alone = [work(refarray.asarray(x, dtype=dtype)).item() for (x,) in operands]
    assert wrong(name, operands, wanted, alone, dtype) == []


def forms(name: str, x: Any, y: Any) -> list[Any]:
    """The results of the function, and of the operator and its in-place form."""
    results = [getattr(refarray, name)(x, y)]
    if name in OPERATOR_OF:
        results.append(OPERATOR_OF[name](x, y))
        target = x.copy()
        same = target
        target = IN_PLACE_OF[name](target, y)
        assert target is same
        spaced = refarray.zeros((x.shape[0], 2 * x.shape[1]), dtype=x.dtype)[:, ::2]
        spaced[...] = x
        results += [target, IN_PLACE_OF[name](spaced, y)]
    return results


@run_each("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", BINARY_CASES)
def test_binary_functions(name: str, dtype: str) -> None:
    operands, wanted = map(list, zip(*real_cases(BINARY_CASES[name], dtype), strict=True))
    a, b = (padded([each[i] for each in operands]) for i in (0, 1))
    left, right = gapless(a, dtype), gapless(b, dtype)
    results = forms(name, left, right)
    for (_, x), (_, y) in zip(layouts(a, dtype), layouts(b, dtype), strict=True):
        results += forms(name, x, y)
    for out in results:
        assert wrong(name, operands, wanted, flat(out), dtype) == []


@run_each("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", BINARY_CASES)
def test_binary_functions_with_scalars(name: str, dtype: str) -> None:
    """Points, and a Python scalar on either side."""
    operands, wanted = map(list, zip(*real_cases(BINARY_CASES[name], dtype), strict=True))
    operands, wanted = operands[::3], wanted[::3]
    work = getattr(refarray, name)
    points = [tuple(refarray.asarray(v, dtype=dtype) for v in pair) for pair in operands]
    for got in (
        [work(x, y).item() for x, y in points],
        [work(x, v).item() for (x, _), (_, v) in zip(points, operands, strict=True)],
        [work(v, y).item() for (_, y), (v, _) in zip(points, operands, strict=True)],
    ):
        assert wrong(name, operands, wanted, got, dtype) == []


@run_each("dtype", COMPLEX)
@pytest.mark.parametrize("name", COMPLEX_NAMES)
def test_complex_functions(name: str, dtype: str) -> None:
    cases = list(complex_cases(name, dtype))
    values = [complex(a, b) for a, b, _, _ in cases]
    part = COMPONENT[dtype]
    work = getattr(refarray, name)
    x = padded(values)
    vectors = [work(gapless(x, dtype)), *(work(each) for _, each in layouts(x, dtype))]
    alone = [work(refarray.asarray(value, dtype=dtype)).item() for value in values]
    for got in (*map(flat, vectors), alone):
        problems = [
            f"{name}({a!r}, {b!r}) is {mine!r}, not {real} {imag}"
            for (a, b, real, imag), mine in zip(cases, got, strict=False)
            if not (real.admits(mine.real, part) and imag.admits(mine.imag, part))
        ]
        assert problems == []
