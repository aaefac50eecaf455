"""What matmul, vecdot and tensordot refuse, and the signatures that help() shows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import refusal, run_each
from helpers.number_likes import IntLike
from oracles.formats import NUMERIC
from oracles.nested import Shape
from oracles.promotion import UNDEFINED

import refarray

xp: Any = refarray
NAMES = ("matmul", "vecdot", "tensordot")
SHAPES: list[tuple[Shape, Shape]] = [
    ((3,), (4,)),
    ((3,), (1,)),
    ((1,), (3,)),
    ((0,), (3,)),
    ((3,), (4, 3)),
    ((3,), (2, 4, 3)),
    ((2, 3), (4,)),
    ((5, 2, 3), (2,)),
    ((2, 3), (2, 3)),
    ((2, 3), (4, 3)),
    ((2, 1), (3, 4)),
    ((2, 3), (1, 4)),
    ((2, 0), (3, 4)),
    ((2, 3), (0, 4)),
    ((5, 2, 3), (5, 2, 3)),
    ((2, 2, 3), (3, 3, 4)),
    ((2, 1, 2, 3), (3, 2, 3, 4)),
    ((0, 2, 3), (3, 3, 4)),
    ((4, 0, 2, 3), (2, 3, 4)),
]


def calls(name: str) -> list[Callable[[Any, Any], Any]]:
    """A product, and the operator that computes the same."""
    function = getattr(xp, name)
    if name == "tensordot":
        return [lambda x, y: function(x, y, axes=1), lambda x, y: function(x, y, axes=0)]
    return [function, operator.matmul] if name == "matmul" else [function]


@run_each(("left", "right"), SHAPES, ids=str)
def test_matmul_names_both_shapes_that_do_not_match(left: Shape, right: Shape) -> None:
    for dtype in ("int8", "float64"):
        x, y = xp.ones(left, dtype=dtype), xp.ones(right, dtype=dtype)
        for work in calls("matmul"):
            with refusal(ValueError, left, right):
                work(x, y)


def test_matmul_and_vecdot_refuse_points() -> None:
    for dtype in ("int32", "float64", "complex64"):
        point = xp.ones((), dtype=dtype)
        for name in ("matmul", "vecdot"):
            for work in calls(name):
                for other in (point, xp.ones((1,), dtype=dtype), xp.ones((2, 2), dtype=dtype)):
                    for pair in ((point, other), (other, point)):
                        with pytest.raises((ValueError, IndexError)) as caught:
                            work(*pair)
                        assert "0" in str(caught.value) or "()" in str(caught.value)
    with pytest.raises(ValueError):
        xp.matmul(xp.ones(()), xp.ones((3,)))


@pytest.mark.parametrize("name", NAMES)
def test_products_refuse_bool(name: str) -> None:
    flags = xp.ones((2, 2), dtype="bool")
    for work in calls(name):
        with pytest.raises(TypeError, match="bool"):
            work(flags, flags)
        for dtype in NUMERIC:
            numbers = xp.ones((2, 2), dtype=dtype)
            for pair in ((flags, numbers), (numbers, flags)):
                with pytest.raises(TypeError, match="bool"):
                    work(*pair)


@pytest.mark.parametrize("name", NAMES)
def test_products_refuse_what_has_no_common_dtype(name: str) -> None:
    for left, right in UNDEFINED:
        if "bool" in (left, right):
            continue
        x, y = xp.ones((2, 2), dtype=left), xp.ones((2, 2), dtype=right)
        for work in calls(name):
            with refusal(TypeError, left, right):
                work(x, y)


def test_products_that_are_too_large_raise() -> None:
    """Each operand has no memory of its size: its strides are 0, or it has no element."""
    one = xp.ones((1, 1))
    column, row = xp.broadcast_to(one, (2**40, 1)), xp.broadcast_to(one, (1, 2**40))
    stack = xp.broadcast_to(one, (2**40, 1, 1))
    nothing = xp.zeros((2**40, 0))
    work: Callable[[], Any]
    for work in (
        lambda: xp.matmul(column, row),
        lambda: column @ row,
        lambda: xp.matmul(nothing, nothing.mT),
        lambda: xp.matmul(stack, xp.broadcast_to(one, (2**20, 1, 1, 1))),
        lambda: xp.tensordot(column, row, axes=0),
        lambda: xp.tensordot(column, column, axes=((1,), (1,))),
        lambda: xp.tensordot(nothing, nothing, axes=((1,), (1,))),
        lambda: xp.vecdot(column, xp.broadcast_to(one, (2**40, 1, 1))),
    ):
        with pytest.raises((OverflowError, MemoryError, ValueError)):
            work()


def test_products_without_elements_take_no_time() -> None:
    rows, columns = xp.zeros((0, 2**40)), xp.zeros((2**40, 0))
    assert xp.matmul(rows, columns).shape == (0, 0)
    assert xp.matmul(rows, xp.broadcast_to(xp.ones(()), (2**40, 3))).shape == (0, 3)
    assert xp.tensordot(rows, columns, axes=1).shape == (0, 0)
    assert xp.vecdot(rows, rows).shape == (0,)
    assert xp.matmul(xp.zeros((2**30, 0, 2)), xp.zeros((2, 3))).shape == (2**30, 0, 3)


def test_products_have_at_most_64_axes() -> None:
    x = xp.ones((1,) * 40)
    with pytest.raises(ValueError, match="64"):
        xp.tensordot(x, x, axes=0)
    assert xp.tensordot(x, x, axes=8).shape == (1,) * 64
    wide = xp.ones((1,) * 64)
    assert xp.matmul(wide, wide).ndim == 64 and xp.matmul(wide, xp.ones((1,))).ndim == 63
    assert xp.vecdot(wide, wide).ndim == 63 and xp.vecdot(wide, wide, axis=-64).ndim == 63
    assert xp.tensordot(wide, wide, axes=64).shape == ()
    assert xp.matrix_transpose(wide).ndim == 64


def test_failing_products_leave_their_operands_whole() -> None:
    x, y = xp.ones((2, 3)), xp.ones((2, 3))
    for name in ("matmul", "vecdot", "tensordot"):
        keywords = {"axes": 1} if name == "tensordot" else {}
        with pytest.raises(ValueError):
            getattr(xp, name)(x, y if name != "vecdot" else y.mT, **keywords)
        assert bool(xp.all(x == 1)) and bool(xp.all(y == 1))


class Emptying:
    """An axis that takes the others away when it is read."""

    def __init__(self, axes: list[Any]) -> None:
        self.axes = axes

    def __index__(self) -> int:
        self.axes.clear()
        return 0


def test_axes_that_change_while_they_are_read_do_no_harm() -> None:
    x = xp.ones((2, 2))
    axes: list[Any] = [[], [0, 1]]
    axes[0] += [Emptying(axes), 1]
    assert xp.tensordot(x, x, axes=axes).item() == 4
    inner: list[Any] = []
    inner += [Emptying(inner), 1]
    with pytest.raises(IndexError):
        xp.tensordot(x, x, axes=(inner, [0, 1, 1]))


def test_errors_of_axes_reach_the_caller() -> None:
    failing = IntLike(ZeroDivisionError("from __index__"))
    x = xp.ones((2, 2))
    for axes in (failing, ([failing], [0]), ((0,), (failing,))):
        with pytest.raises(ZeroDivisionError, match="__index__"):
            xp.tensordot(x, x, axes=axes)
    with pytest.raises(ZeroDivisionError, match="__index__"):
        xp.vecdot(x, x, axis=failing)
