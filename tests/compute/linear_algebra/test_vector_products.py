"""vecdot: the axis, broadcasting of the other axes, conjugation of the first operand, dtypes; what
cross and outer refuse."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import refusal, run_each
from oracles.formats import NUMERIC
from oracles.nested import Shape, size_of
from oracles.products import (
    EDGES,
    as_array,
    assert_product,
    conjugated_dot,
    exact_numbers,
    vecdot,
)

import refarray

xp: Any = refarray
#: Shapes of two operands, the axis, and the shape of the result.
CASES: list[tuple[Shape, Shape, int, Shape]] = [
    ((5,), (5,), -1, ()),
    ((1,), (1,), -1, ()),
    ((3, 5), (3, 5), -1, (3,)),
    ((3, 5), (3, 5), -2, (5,)),
    ((3, 3), (3, 3), -1, (3,)),
    ((3, 3), (3, 3), -2, (3,)),
    ((3, 5), (5,), -1, (3,)),
    ((5,), (3, 5), -1, (3,)),
    ((1, 5), (5,), -1, (1,)),
    ((4, 1, 5), (3, 5), -1, (4, 3)),
    ((3, 5), (4, 1, 5), -1, (4, 3)),
    ((4, 5, 3), (5, 3), -2, (4, 3)),
    ((4, 5, 3), (5, 1), -2, (4, 3)),
    ((4, 5, 1), (5, 3), -2, (4, 3)),
    ((5, 4, 3), (5, 4, 3), -3, (4, 3)),
    ((5, 4, 1), (5, 1, 3), -3, (4, 3)),
    ((2, 5, 4, 1), (5, 1, 3), -3, (2, 4, 3)),
    ((3, 3, 3), (3, 3, 3), -2, (3, 3)),
    ((2, 3, 4, 5), (2, 3, 4, 5), -4, (3, 4, 5)),
    ((7, 1, 1, 5), (1, 3, 2, 5), -1, (7, 3, 2)),
]
EMPTY: list[tuple[Shape, Shape, int, Shape]] = [
    ((0,), (0,), -1, ()),
    ((3, 0), (3, 0), -1, (3,)),
    ((3, 0), (0,), -1, (3,)),
    ((0, 3), (0, 1), -2, (3,)),
    ((0, 3), (0, 3), -1, (0,)),
    ((0, 3), (3,), -1, (0,)),
    ((0, 3), (1, 3), -1, (0,)),
    ((2, 0, 0), (2, 0, 0), -2, (2, 0)),
]


@run_each("dtype", NUMERIC)
def test_vecdot_along_every_axis(dtype: str) -> None:
    for left, right, axis, shape in CASES:
        x, y = exact_numbers(dtype, left, 1), exact_numbers(dtype, right, 2)
        wanted = vecdot(x, y, axis, conjugated_dot(dtype))
        assert wanted.shape == shape
        a, b = as_array(x, dtype), as_array(y, dtype)
        assert_product(xp.vecdot(a, b, axis=axis), wanted, dtype)
        if axis == -1:
            assert_product(xp.vecdot(a, b), wanted, dtype)


@run_each("dtype", NUMERIC)
def test_vecdot_without_terms_or_elements(dtype: str) -> None:
    for left, right, axis, shape in EMPTY:
        out = xp.vecdot(xp.ones(left, dtype=dtype), xp.ones(right, dtype=dtype), axis=axis)
        assert str(out.dtype) == dtype and out.shape == shape
        if size_of(shape):
            assert out.tobytes() == bytes(out.nbytes)


@run_each("dtype", NUMERIC)
def test_vecdot_around_the_edges_of_blocks(dtype: str) -> None:
    work = conjugated_dot(dtype)
    for edge in (*EDGES, 1025, 5000):
        for shape, axis in (((edge,), -1), ((3, edge), -1), ((edge, 3), -2)):
            x, y = exact_numbers(dtype, shape, 1), exact_numbers(dtype, shape, 2)
            out = xp.vecdot(as_array(x, dtype), as_array(y, dtype), axis=axis)
            assert_product(out, vecdot(x, y, axis, work), dtype)


@run_each("dtype", ["int32", "float32", "complex128"])
@run_each(
    ("left", "right", "axis"),
    [
        ((3,), (1,), -1),
        ((1,), (3,), -1),
        ((2, 3), (2, 1), -1),
        ((1, 3), (2, 3), -2),
        ((4, 1, 3), (2, 3), -2),
        ((3,), (0,), -1),
        ((1,), (0,), -1),
        ((2, 5), (3, 5), -1),
        ((5, 2), (5, 3), -2),
        ((4, 2, 5), (3, 5), -1),
        ((0, 5), (3, 5), -1),
    ],
)
def test_vecdot_refuses_shapes(left: Shape, right: Shape, axis: int, dtype: str) -> None:
    """The contracted axis is not broadcast, and the others must."""
    with refusal(ValueError, left, right):
        xp.vecdot(xp.ones(left, dtype=dtype), xp.ones(right, dtype=dtype), axis=axis)


@run_each(
    ("left", "right", "axis"),
    [
        ((3,), (3,), -2),
        ((3, 3), (3,), -2),
        ((3,), (3, 3), -2),
        ((3, 3, 3), (3, 3), -3),
        ((3, 3), (3, 3), -3),
        ((3, 3), (3, 3), 2),
        ((3,), (3,), 1),
        ((3, 3), (3, 3), 64),
        ((3, 3), (3, 3), -(2**62)),
        # The standard's interval is [-N, -1]: from the front, operands of other ndim disagree.
        ((3, 3), (3, 3), 0),
        ((2, 3, 3), (3, 3), 0),
        ((3,), (3,), 0),
    ],
)
def test_vecdot_refuses_axes_out_of_range(left: Shape, right: Shape, axis: int) -> None:
    """The axis has to be one of both operands."""
    with refusal((IndexError, ValueError), axis):
        xp.vecdot(xp.ones(left), xp.ones(right), axis=axis)


def test_vecdot_takes_its_axis_as_a_keyword() -> None:
    x = xp.ones((2, 2))
    with pytest.raises(TypeError):
        xp.vecdot(x, x, -1)
    for wrong in (None, 1.5, "1", (0,), [-1]):
        with pytest.raises(TypeError):
            xp.vecdot(x, x, axis=wrong)
    for huge in (2**64, -(2**70)):
        with pytest.raises((IndexError, ValueError, OverflowError)):
            xp.vecdot(x, x, axis=huge)


# --- cross


WRONG_CROSS: list[tuple[Shape, Shape, int, type[Exception]]] = [
    ((2,), (2,), -1, ValueError),
    ((3,), (1,), -1, ValueError),
    ((1,), (3,), -1, ValueError),
    ((3,), (4,), -1, ValueError),
    ((0,), (3,), -1, ValueError),
    ((3, 2), (3, 2), -1, ValueError),
    ((2, 3), (4, 3), -1, ValueError),
    ((3, 2), (3, 4), -2, ValueError),
    ((2, 3), (2, 3), -2, ValueError),
    ((3, 3), (3, 3), 0, IndexError),
    ((3, 3), (3, 3), 1, IndexError),
    ((3,), (3,), 0, IndexError),
    ((3,), (3,), -2, IndexError),
    ((3, 3), (3,), -2, IndexError),
    ((3, 3, 3), (3, 3), -3, IndexError),
    ((3,), (3,), 2**62, IndexError),
    ((3,), (3,), -(2**62), IndexError),
]


@run_each(("left", "right", "axis", "error"), WRONG_CROSS)
def test_wrong_arguments_of_cross(
    left: Shape, right: Shape, axis: int, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"cross\(\)") as caught:
        xp.linalg.cross(xp.ones(left), xp.ones(right), axis=axis)
    text = str(caught.value)
    named = [str(axis)] if error is IndexError else [str(left), str(right)]
    assert all(each in text for each in named), text


def test_axes_of_other_types_are_refused_by_cross() -> None:
    x = xp.ones(3)
    for axis in (None, 1.0, "1", (0,), [-1], 1j):
        with pytest.raises(TypeError, match=f"axis.*{type(axis).__name__}"):
            xp.linalg.cross(x, x, axis=axis)
    with pytest.raises((OverflowError, IndexError), match="axis"):
        xp.linalg.cross(x, x, axis=2**64)


# --- outer


def test_wrong_arguments_of_outer() -> None:
    for left, right in (((), ()), ((3,), ()), ((), (3,)), ((1, 3), (3,)), ((3,), (3, 1))):
        with refusal(ValueError, "outer()", left, right):
            xp.linalg.outer(xp.ones(left), xp.ones(right))
