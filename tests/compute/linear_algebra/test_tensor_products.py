"""tensordot: numbers of axes, pairs of sequences, outer products, full contractions, and errors."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from helpers.cases import refusal, run_each
from oracles.checks import flat
from oracles.formats import NUMERIC
from oracles.nested import Shape, size_of
from oracles.products import (
    EDGES,
    as_array,
    assert_product,
    exact_dot,
    exact_numbers,
    tensordot,
)

import refarray

xp: Any = refarray
#: Shapes of two operands, the axes, and the shape of the result.
CASES: list[tuple[Shape, Shape, Any, Shape]] = [
    ((), (), 0, ()),
    ((), (3,), 0, (3,)),
    ((2, 3), (), 0, (2, 3)),
    ((2,), (3,), 0, (2, 3)),
    ((2, 3), (4, 5), 0, (2, 3, 4, 5)),
    ((3,), (3,), 1, ()),
    ((2, 3), (3,), 1, (2,)),
    ((3,), (3, 2), 1, (2,)),
    ((2, 3), (3, 4), 1, (2, 4)),
    ((2, 3, 4), (4, 5, 6), 1, (2, 3, 5, 6)),
    ((2, 3), (2, 3), 2, ()),
    ((2, 3, 4), (3, 4, 5), 2, (2, 5)),
    ((3, 3, 3), (3, 3, 3), 2, (3, 3)),
    ((2, 3, 4), (2, 3, 4), 3, ()),
    ((5, 2, 3, 4), (2, 3, 4), 3, (5,)),
    ((2, 3), (3, 4), ([1], [0]), (2, 4)),
    ((2, 3), (4, 3), ((1,), (1,)), (2, 4)),
    ((2, 3), (2, 4), ((0,), (0,)), (3, 4)),
    ((2, 3), (3, 2), ([0, 1], [1, 0]), ()),
    ((3, 3), (3, 3), ([0, 1], [1, 0]), ()),
    ((3, 3), (3, 3), ([0, 1], [0, 1]), ()),
    ((3, 3), (3, 3), ([1], [1]), (3, 3)),
    ((3, 3), (3, 3), ([0], [1]), (3, 3)),
    ((2, 3, 4), (4, 2, 5), ((0, 2), (1, 0)), (3, 5)),
    ((2, 3, 4), (4, 2, 5), ((2, 0), (0, 1)), (3, 5)),
    ((2, 3, 4), (4, 2, 5), ((-1, -3), (-3, 1)), (3, 5)),
    ((2, 3, 4), (5, 3, 6), ([-2], [-2]), (2, 4, 5, 6)),
    ((2, 3, 4, 5), (5, 3, 6), ((3, 1), (0, 1)), (2, 4, 6)),
    ((2, 3, 4, 5), (3, 5), ((1, 3), (0, 1)), (2, 4)),
    ((3, 3, 3), (3, 3, 3), ((0, 1, 2), (2, 0, 1)), ()),
    ((2, 3), (4, 5), ((), ()), (2, 3, 4, 5)),
    ((2, 3), (4, 5), ([], []), (2, 3, 4, 5)),
    ((), (), ((), ()), ()),
    ((1, 1), (1, 1), 2, ()),
]
EMPTY: list[tuple[Shape, Shape, Any, Shape]] = [
    ((0,), (0,), 1, ()),
    ((2, 0), (0, 3), 1, (2, 3)),
    ((2, 0, 3), (0, 3, 4), 2, (2, 4)),
    ((0, 3), (3, 2), 1, (0, 2)),
    ((2, 3), (3, 0), 1, (2, 0)),
    ((0,), (3,), 0, (0, 3)),
    ((2, 0, 4), (4, 5), ((2,), (0,)), (2, 0, 5)),
    ((0, 2), (2, 0), ((0, 1), (1, 0)), ()),
    ((), (0,), 0, (0,)),
]


def check(left: Shape, right: Shape, axes: Any, dtype: str) -> Any:
    x, y = exact_numbers(dtype, left, 1), exact_numbers(dtype, right, 2)
    out = xp.tensordot(as_array(x, dtype), as_array(y, dtype), axes=axes)
    assert_product(out, tensordot(x, y, axes, exact_dot(dtype)), dtype)
    return out


@run_each("dtype", NUMERIC)
def test_tensordot_over_every_kind_of_axes(dtype: str) -> None:
    for left, right, axes, shape in CASES:
        assert check(left, right, axes, dtype).shape == shape


@run_each("dtype", NUMERIC)
def test_tensordot_without_terms_or_elements(dtype: str) -> None:
    for left, right, axes, shape in EMPTY:
        out = xp.tensordot(xp.ones(left, dtype=dtype), xp.ones(right, dtype=dtype), axes=axes)
        assert str(out.dtype) == dtype and out.shape == shape
        if size_of(shape):
            assert out.tobytes() == bytes(out.nbytes)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
def test_tensordot_around_the_edges_of_blocks(dtype: str) -> None:
    for edge in EDGES[:17]:
        check((3, edge), (edge, 4), 1, dtype)
        check((edge, 2, 3), (3, 2, 5), ((1, 2), (1, 0)), dtype)
        check((2, edge, 3), (edge, 2, 4), ((1, 0), (0, 1)), dtype)
        check((3, 4), (2, 4, edge), ((1,), (1,)), dtype)
        check((edge,), (5,), 0, dtype)


def test_tensordot_over_every_pair_of_axes() -> None:
    """Of cubes, whose shapes tell no axes apart."""
    orders = [list(itertools.permutations(range(3), count)) for count in range(4)]
    for some in orders:
        for pair in itertools.product(some, repeat=2):
            wanted = flat(check((3, 3, 3), (3, 3, 3), pair, "int64"))
            negative = tuple(tuple(axis - 3 for axis in axes) for axes in pair)
            assert flat(check((3, 3, 3), (3, 3, 3), negative, "int64")) == wanted


def test_tensordot_takes_axes_of_every_integer_and_sequence() -> None:
    x = as_array(exact_numbers("int64", (3, 3), 1), "int64")
    wanted = xp.tensordot(x, x, axes=((1,), (0,))).tolist()
    one, zero = xp.asarray(1), xp.asarray(0)
    for axes in ([[1], [0]], ([1], (0,)), [(1,), [0]], ((one,), (zero,)), 1, one):
        assert xp.tensordot(x, x, axes=axes).tolist() == wanted, axes


@run_each(
    ("left", "right", "axes"),
    [
        ((2, 3), (4, 5), 1),
        ((2, 3), (2, 3), 1),
        ((2, 3, 4), (4, 3, 5), 2),
        ((2, 3), (1, 4), 1),
        ((2, 1), (3, 4), 1),
        ((2, 0), (3, 4), 1),
        ((2, 3), (3, 2), ((0,), (0,))),
        ((2, 3), (2, 3), ((0, 1), (1, 0))),
        ((2, 3), (2, 1), ((0, 1), (0, 1))),
    ],
)
def test_tensordot_refuses_axes_of_different_extents(left: Shape, right: Shape, axes: Any) -> None:
    """Not even an extent of 1 is stretched."""
    with refusal(ValueError, left, right):
        xp.tensordot(xp.ones(left), xp.ones(right), axes=axes)


def test_tensordot_refuses_repeated_axes() -> None:
    x = xp.ones((3, 3, 3))
    for axes in (((0, 0), (0, 1)), ((0, 1), (2, 2)), ((0, -3), (0, 1)), ((0, 1), (1, -2))):
        with pytest.raises(ValueError, match="more than once|repeated"):
            xp.tensordot(x, x, axes=axes)


def test_tensordot_refuses_sequences_of_different_lengths() -> None:
    x = xp.ones((3, 3, 3))
    for axes in (((0,), (0, 1)), ((0, 1), (0,)), ((), (0,)), ((0, 1, 2), ())):
        with pytest.raises(ValueError):
            xp.tensordot(x, x, axes=axes)
    for axes in ((), ((0,),), ((0,), (0,), (0,))):
        with pytest.raises((ValueError, TypeError)):
            xp.tensordot(x, x, axes=axes)


def test_tensordot_refuses_axes_out_of_range() -> None:
    x, y = xp.ones((3, 3, 3)), xp.ones((3, 3))
    for axes in (((3,), (0,)), ((0,), (2,)), ((-4,), (0,)), ((0,), (-3,)), ((2**62,), (0,))):
        with pytest.raises((IndexError, ValueError)) as caught:
            xp.tensordot(x, y, axes=axes)
        assert any(str(a) in str(caught.value) for each in axes for a in each if a)
    for count in (3, 4, 64, 2**62):
        with refusal((IndexError, ValueError), count):
            xp.tensordot(x, y, axes=count)
    for huge in (2**64, -(2**70)):
        for axes in (huge, ((huge,), (0,))):
            with pytest.raises((IndexError, ValueError, OverflowError)):
                xp.tensordot(x, y, axes=axes)


def test_tensordot_refuses_negative_numbers_of_axes() -> None:
    x = xp.ones((3, 3))
    for count in (-1, -2, -(2**62)):
        with pytest.raises(ValueError, match=str(count)):
            xp.tensordot(x, x, axes=count)


def test_tensordot_refuses_axes_of_wrong_types() -> None:
    x = xp.ones((3, 3))
    for axes in (1.0, "1", None, object(), (1.0, 0.0), ((0.0,), (0,)), (("0",), (0,)), 1j, {}):
        with pytest.raises(TypeError):
            xp.tensordot(x, x, axes=axes)
