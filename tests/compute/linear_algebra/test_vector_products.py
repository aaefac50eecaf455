"""vecdot: the axis, broadcasting of the other axes, conjugation of the first operand, dtypes."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import run_each
from oracles.formats import COMPLEX, INTEGERS, NUMERIC
from oracles.nested import Nested, Shape, size_of
from oracles.products import (
    EDGES,
    as_array,
    assert_product,
    conjugated_dot,
    exact_dot,
    large_numbers,
    small_numbers,
    vecdot,
)
from oracles.promotion import PROMOTION

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


def numbers(dtype: str, shape: Shape, seed: int) -> Nested:
    return (large_numbers if dtype in INTEGERS else small_numbers)(dtype, shape, seed)


@run_each("dtype", NUMERIC)
def test_vecdot_along_every_axis(dtype: str) -> None:
    for left, right, axis, shape in CASES:
        x, y = numbers(dtype, left, 1), numbers(dtype, right, 2)
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
            x, y = numbers(dtype, shape, 1), numbers(dtype, shape, 2)
            out = xp.vecdot(as_array(x, dtype), as_array(y, dtype), axis=axis)
            assert_product(out, vecdot(x, y, axis, work), dtype)


@run_each("left", NUMERIC)
def test_vecdot_promotes_its_operands_first(left: str) -> None:
    for right in NUMERIC:
        if (left, right) not in PROMOTION:
            continue
        dtype = PROMOTION[left, right]
        x, y = numbers(left, (3, 20), 1), numbers(right, (20,), 2)
        out = xp.vecdot(as_array(x, left), as_array(y, right))
        assert_product(out, vecdot(x, y, -1, conjugated_dot(dtype)), dtype)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_vecdot_conjugates_its_first_operand_only(dtype: str) -> None:
    x = xp.asarray([[1 + 2j, 3j], [2 - 1j, 1.0]], dtype=dtype)
    y = xp.asarray([1j, 2 + 1j], dtype=dtype)
    assert xp.vecdot(x, y).tolist() == [2 + 1j + 3 - 6j, -1 + 2j + 2 + 1j]
    assert xp.vecdot(y, x).tolist() == [2 - 1j + 3 + 6j, -1 - 2j + 2 - 1j]
    norms = xp.vecdot(x, x)
    assert norms.tolist() == [14 + 0j, 6 + 0j] and str(norms.dtype) == dtype
    model = small_numbers(dtype, (4, 9))
    whole = as_array(model, dtype)
    assert_product(
        xp.vecdot(xp.conj(whole), whole), vecdot(model, model, -1, exact_dot(dtype)), dtype
    )


def test_vecdot_keeps_small_integers_small() -> None:
    x = xp.asarray([100, 100, 100], dtype="int8")
    out = xp.vecdot(x, x)
    assert str(out.dtype) == "int8" and int(out) == (30000 + 128) % 256 - 128
    y = xp.asarray([16, 16], dtype="uint8")
    assert str(xp.vecdot(y, y).dtype) == "uint8" and int(xp.vecdot(y, y)) == 0


@pytest.mark.parametrize("dtype", ["int32", "float32", "complex128"])
def test_vecdot_does_not_broadcast_the_contracted_axis(dtype: str) -> None:
    for left, right, axis in (
        ((3,), (1,), -1),
        ((1,), (3,), -1),
        ((2, 3), (2, 1), -1),
        ((1, 3), (2, 3), -2),
        ((4, 1, 3), (2, 3), -2),
        ((3,), (0,), -1),
        ((1,), (0,), -1),
    ):
        with pytest.raises(ValueError) as caught:
            xp.vecdot(xp.ones(left, dtype=dtype), xp.ones(right, dtype=dtype), axis=axis)
        assert str(left) in str(caught.value) and str(right) in str(caught.value)


def test_vecdot_refuses_shapes_that_do_not_broadcast() -> None:
    for left, right, axis in (
        ((2, 5), (3, 5), -1),
        ((5, 2), (5, 3), -2),
        ((4, 2, 5), (3, 5), -1),
        ((0, 5), (3, 5), -1),
    ):
        with pytest.raises(ValueError) as caught:
            xp.vecdot(xp.ones(left), xp.ones(right), axis=axis)
        assert str(left) in str(caught.value) and str(right) in str(caught.value)


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
    ],
)
def test_vecdot_refuses_axes_out_of_range(left: Shape, right: Shape, axis: int) -> None:
    """The axis has to be one of both operands."""
    with pytest.raises((IndexError, ValueError)) as caught:
        xp.vecdot(xp.ones(left), xp.ones(right), axis=axis)
    assert str(axis) in str(caught.value)


def test_vecdot_refuses_axes_that_count_from_the_front() -> None:
    """The standard's interval is [-N, -1]: from the front, operands of other ndim disagree."""
    for left, right in (((3, 3), (3, 3)), ((2, 3, 3), (3, 3)), ((3,), (3,))):
        with pytest.raises((IndexError, ValueError), match="0"):
            xp.vecdot(xp.ones(left), xp.ones(right), axis=0)


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


def test_vecdot_returns_arrays_of_its_own() -> None:
    x = xp.ones((3, 4)).as_readonly()
    out = xp.vecdot(x, x)
    assert out.is_contiguous() and not out.readonly and out.device == x.device
    point = xp.vecdot(x[0], x[0])
    assert isinstance(point, refarray.Array) and point.shape == ()
