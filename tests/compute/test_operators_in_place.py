"""Operators: reflected and in-place forms, operands that overlap, and what they refuse."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import refusal, run_each
from oracles.formats import COMPLEX, INTEGERS, REAL_FLOATS
from oracles.functions import BINARY, COMPARING, OPERATORS
from oracles.layouts import gapless, layouts, misaligned, text
from oracles.promotion import PROMOTION, scalar_result
from oracles.samples import pairs, samples

import refarray
from refarray import Array

pytestmark = pytest.mark.every_python


def in_place(name: str) -> Any:
    return getattr(operator, f"i{name.rstrip('_')}")


@run_each("name", OPERATORS)
def test_in_place_operators_write_into_every_layout(name: str) -> None:
    for dtype in BINARY[OPERATORS[name]].dtypes:
        a, b = (each[:40] for each in pairs(dtype))
        y = gapless(b, dtype)
        expected = text(getattr(operator, name)(gapless(a, dtype), y))
        for layout, x in layouts(a, dtype):
            if x.readonly:
                continue
            target = x
            target = in_place(name)(target, misaligned(y))
            assert target is x and text(x) == expected, (dtype, layout)


@run_each("name", OPERATORS)
def test_in_place_operators_leave_gaps_alone(name: str) -> None:
    function = OPERATORS[name]
    for dtype in BINARY[function].dtypes:
        values = [dtype == "bool" or 1] * 24
        whole = refarray.asarray(values, dtype=dtype).reshape((4, 6))
        part = whole[1:3, ::2]
        part = in_place(name)(part, refarray.ones((), dtype=dtype))
        expected = getattr(refarray, function)(
            refarray.ones((), dtype=dtype), refarray.ones((), dtype=dtype)
        )
        for i in range(4):
            for j in range(6):
                touched = i in (1, 2) and j % 2 == 0
                right = expected if touched else refarray.ones((), dtype=dtype)
                assert whole[i, j].item() == right.item(), (dtype, i, j)


def overlapping(dtype: str) -> list[tuple[str, Callable[[Array], tuple[Array, Array]]]]:
    """Pairs of views of one array that share elements in another order."""
    return [
        ("itself", lambda m: (m, m)),
        ("reversed", lambda m: (m, refarray.flip(m))),
        ("shifted up", lambda m: (m[1:], m[:-1])),
        ("shifted down", lambda m: (m[:-1], m[1:])),
        ("one element", lambda m: (m, m[3])),
        ("its last element", lambda m: (m, m[-1:])),
        ("every second", lambda m: (m[: m.shape[0] // 2], m[::2][: m.shape[0] // 2])),
        ("its start, spread", lambda m: (m[::2], m[: (m.shape[0] + 1) // 2])),
        (
            "transposed",
            lambda m: ((s := m[:36].reshape((6, 6), copy=False)), s.T),
        ),
        (
            "a row of itself",
            lambda m: ((s := m[:36].reshape((6, 6), copy=False)), s[2]),
        ),
        (
            "a column of itself",
            lambda m: ((s := m[:36].reshape((6, 6), copy=False)), s[:, 3:4]),
        ),
    ]


@run_each("name", OPERATORS)
def test_in_place_operators_read_overlapping_operands_first(name: str) -> None:
    """The result is that of an operand that was copied before."""
    for dtype in BINARY[OPERATORS[name]].dtypes:
        values = (samples(dtype) * 20)[: 41 if name != "pow" else 39]
        for count in (len(values), 3000):
            memory = refarray.asarray((values * (count // len(values) + 1))[:count], dtype=dtype)
            for label, views in overlapping(dtype):
                work = memory.copy()
                x, y = views(work)
                expected = text(getattr(operator, name)(x.copy(), y.copy()))
                x = in_place(name)(x, y)
                assert text(x) == expected, (dtype, label, count)


@run_each("name", OPERATORS)
def test_in_place_operators_keep_dtype_and_shape(name: str) -> None:
    accepted = BINARY[OPERATORS[name]].dtypes
    for (left, right), result in PROMOTION.items():
        if left not in accepted or right not in accepted:
            continue
        x, y = refarray.ones((2, 3), dtype=left), refarray.ones((3,), dtype=right)
        if result == left:
            expected = getattr(operator, name)(x, y)
            target = x
            target = in_place(name)(target, y)
            assert target is x and str(x.dtype) == left and text(x) == text(expected)
            continue
        with refusal(TypeError, left, result):
            in_place(name)(x, y)
        assert text(x) == text(refarray.ones((2, 3), dtype=left))


@run_each("name", OPERATORS)
def test_in_place_operators_refuse_broadcasting_of_the_left_operand(name: str) -> None:
    for dtype in BINARY[OPERATORS[name]].dtypes[:3]:
        for left, right in (((3,), (2, 3)), ((1, 3), (2, 3)), ((), (1,)), ((1,), (4,))):
            x = refarray.ones(left, dtype=dtype)
            with pytest.raises(ValueError) as caught:
                in_place(name)(x, refarray.ones(right, dtype=dtype))
            assert str(left) in str(caught.value) and x.shape == left


@run_each("name", OPERATORS)
def test_in_place_operators_refuse_read_only_arrays(name: str) -> None:
    dtype = BINARY[OPERATORS[name]].dtypes[-1]
    x = refarray.ones(3, dtype=dtype)
    for frozen in (x.as_readonly(), refarray.broadcast_to(x, (2, 3))):
        for other in (x, refarray.ones((), dtype=dtype)):
            with pytest.raises(ValueError, match="read-only"):
                in_place(name)(frozen, other)
    assert text(x) == text(refarray.ones(3, dtype=dtype))


@run_each("name", OPERATORS)
def test_in_place_operators_with_python_scalars(name: str) -> None:
    for dtype in BINARY[OPERATORS[name]].dtypes:
        for scalar in (True, 2, 1.5, 1 + 2j, 0, 3, 100, 0.0, -0.0, -1.5, math.inf, math.nan):
            x = gapless(samples(dtype), dtype)
            if scalar_result(dtype, type(scalar)) != dtype:
                before = text(x)
                with pytest.raises(TypeError):
                    in_place(name)(x, scalar)
                assert text(x) == before
                continue
            expected = text(getattr(operator, name)(x, refarray.full(x.shape, scalar, dtype=dtype)))
            target = x
            target = in_place(name)(target, scalar)
            assert target is x and text(x) == expected


@run_each("name", [*OPERATORS, *COMPARING])
def test_operators_refuse_other_objects(name: str) -> None:
    work = getattr(operator, name)
    for dtype in ("bool", "int32", "float64"):
        x = refarray.ones(3, dtype=dtype)
        for other in ("text", None, object(), [1, 2, 3], {}):
            formats = name == "mod" and isinstance(other, str)  # takes any operand
            if name in ("eq", "ne") or formats:
                continue
            with pytest.raises(TypeError):
                work(x, other)
            with pytest.raises(TypeError):
                work(other, x)
            if name in OPERATORS:
                with pytest.raises(TypeError):
                    in_place(name)(x, other)


@run_each("name", [*OPERATORS, *COMPARING])
def test_operators_refuse_shapes_that_do_not_broadcast(name: str) -> None:
    function = OPERATORS.get(name) or COMPARING[name]
    dtype = BINARY[function].dtypes[0]
    for left, right in (((2, 3), (2,)), ((3,), (4,)), ((2, 1, 3), (4, 2, 2)), ((0,), (3,))):
        x, y = refarray.ones(left, dtype=dtype), refarray.ones(right, dtype=dtype)
        for work in (getattr(operator, name), getattr(refarray, function)):
            with refusal(ValueError, left, right):
                work(x, y)


class Other:
    """Takes over every operator with an array."""

    def __add__(self, other: Any) -> str:
        return "left"

    def __radd__(self, other: Any) -> str:
        return "right"

    def __rpow__(self, other: Any) -> str:
        return "power"

    def __gt__(self, other: Any) -> str:
        return "greater"


def test_other_types_may_take_over() -> None:
    x: Any = refarray.ones(3)
    assert (x + Other(), Other() + x, x ** Other(), x < Other()) == (
        *("right", "left", "power", "greater"),
    )


def test_equality_with_other_objects_falls_back_to_identity() -> None:
    x: Any = refarray.ones(3)
    for other in ("text", None, object()):
        assert (x == other) is False and (x != other) is True
    with pytest.raises(TypeError):
        hash(x)


def test_truth_and_conversion_of_results() -> None:
    x = refarray.asarray([1.0, 2.0])
    assert bool(x[0] < x[1]) and not bool(x[0] == x[1])
    with pytest.raises(TypeError, match=r"\(2,\)"):
        bool(x == x)
    assert float(x[0] + x[1]) == 3.0 and math.isnan(float(x[0] * math.nan))


@run_each("dtype", [*INTEGERS, *REAL_FLOATS, *COMPLEX])
def test_pow_takes_no_third_argument(dtype: str) -> None:
    x: Any = refarray.ones(3, dtype=dtype)
    assert text(pow(x, 2)) == text(x**2)
    with pytest.raises(TypeError):
        pow(x, 2, 3)
