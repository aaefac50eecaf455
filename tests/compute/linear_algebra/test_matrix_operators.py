"""The operators @ and @=: what they compute, what they leave alone, and other types beside them."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from helpers.cases import refusal, run_each
from oracles.formats import NUMERIC
from oracles.layouts import misaligned, text, views
from oracles.nested import Shape
from oracles.products import operands
from oracles.promotion import PROMOTION

import refarray
from refarray import Array

xp: Any = refarray
SHAPES: list[tuple[Shape, Shape]] = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((17, 33), (33, 9)),
    ((4, 2, 3), (3, 2)),
    ((2, 1, 2, 3), (5, 3, 4)),
    ((2, 0), (0, 3)),
]
#: Shapes of a target and an operand whose product has the shape of the target.
IN_PLACE: list[tuple[Shape, Shape]] = [
    ((3, 3), (3, 3)),
    ((2, 3), (3, 3)),
    ((17, 9), (9, 9)),
    ((3,), (3, 3)),
    ((4, 2, 3), (3, 3)),
    ((4, 2, 3), (4, 3, 3)),
    ((4, 2, 3), (1, 3, 3)),
    ((65, 33), (33, 33)),
    ((0, 3), (3, 3)),
    ((3, 0), (0, 0)),
]


@run_each("dtype", NUMERIC)
def test_matmul_is_its_operator(dtype: str) -> None:
    for left, right in SHAPES:
        x, y = operands(left, right, dtype)
        wanted = xp.matmul(x, y)
        for out in (x @ y, operator.matmul(x, y), x.__matmul__(y), y.__rmatmul__(x)):
            assert isinstance(out, Array) and out.dtype == wanted.dtype
            assert out.shape == wanted.shape and out.tobytes() == wanted.tobytes()


def test_matmul_operators_promote() -> None:
    for (left, right), dtype in PROMOTION.items():
        if "bool" not in (left, right):
            out = xp.ones((2, 3), dtype=left) @ xp.ones((3, 2), dtype=right)
            assert str(out.dtype) == dtype and out.tolist() == [[3, 3], [3, 3]]


@run_each("dtype", NUMERIC)
def test_matmul_in_place_writes_into_its_target(dtype: str) -> None:
    for left, right in IN_PLACE:
        x, y = operands(left, right, dtype)
        expected = text(xp.matmul(x, y))
        target = same = x.copy()
        target @= y
        assert target is same and text(target) == expected, (left, right)
        assert text(y) == text(operands(left, right, dtype)[1])
        other = x.copy()
        assert other.__imatmul__(y) is other and text(other) == expected


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex128", "float16"])
def test_matmul_in_place_writes_into_every_layout(dtype: str) -> None:
    for left, right in (((4, 5), (5, 5)), ((5,), (5, 5)), ((2, 3, 5), (5, 5))):
        x, y = operands(left, right, dtype)
        expected = text(xp.matmul(x, y))
        for layout, view in views(x):
            if not view.readonly:
                target = view
                target @= misaligned(y)
                assert target is view and text(view) == expected, layout


def test_matmul_in_place_leaves_gaps_alone() -> None:
    whole = xp.ones((7, 9), dtype="int64")
    part = whole[1:5:2, 2:8:2]
    part @= xp.full((3, 3), 2, dtype="int64")
    for i in range(7):
        for j in range(9):
            assert int(whole[i, j]) == (6 if i in (1, 3) and j in (2, 4, 6) else 1)


@run_each("dtype", NUMERIC)
@run_each("extent", [3, 40])
def test_matmul_in_place_reads_overlapping_operands_first(dtype: str, extent: int) -> None:
    """The result is that of an operand that was copied before."""
    memory, _ = operands((2 * extent, extent), (1,), dtype)
    pairs = {
        "itself": lambda m: (m[:extent, :], m[:extent, :]),
        "its transpose": lambda m: (m[:extent, :], m[:extent, :].mT),
        "itself reversed": lambda m: (m[:extent, :], xp.flip(m[:extent, :])),
        "shifted up": lambda m: (m[1 : extent + 1, :], m[:extent, :]),
        "shifted down": lambda m: (m[:extent, :], m[1 : extent + 1, :]),
        "a row of it": lambda m: (m[1, :], m[:extent, :]),
        "all its rows": lambda m: (m, m[extent:, :]),
    }
    for label, of in pairs.items():
        x, y = of(memory.copy())
        expected = text(xp.matmul(x.copy(), y.copy()))
        target = x
        target @= y
        assert target is x and text(x) == expected, label


def test_matmul_in_place_keeps_the_shape() -> None:
    for left, right in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2, 3), (3, 4)),
        ((3, 3), (2, 3, 3)),
        ((1, 3, 3), (2, 3, 3)),
        ((3,), (2, 3, 3)),
        ((3,), (1, 3, 3)),
        ((2, 3), (3, 0)),
    ):
        x, y = xp.ones(left), xp.ones(right)
        with refusal(ValueError, left):
            x @= y
        assert x.shape == left and bool(xp.all(x == 1)) and bool(xp.all(y == 1))


def test_matmul_in_place_keeps_the_dtype() -> None:
    for (left, right), dtype in PROMOTION.items():
        if "bool" in (left, right):
            continue
        x, y = xp.ones((2, 2), dtype=left), xp.ones((2, 2), dtype=right)
        if dtype == left:
            x @= y
            assert str(x.dtype) == left and x.tolist() == [[2, 2], [2, 2]]
            continue
        with refusal(TypeError, left, dtype):
            x @= y
        assert str(x.dtype) == left and x.tolist() == [[1, 1], [1, 1]]


def test_matmul_in_place_refuses_what_matmul_refuses() -> None:
    x = xp.ones((2, 2))
    for wrong, error in (
        (xp.ones((3, 3)), ValueError),
        (xp.ones(()), ValueError),
        (xp.ones((2, 2), dtype="int64"), TypeError),
        (xp.ones((2, 2), dtype="bool"), TypeError),
        (2, TypeError),
        (2.0, TypeError),
        ([[1.0, 2.0], [3.0, 4.0]], TypeError),
    ):
        target = x
        with pytest.raises(error):
            target @= wrong
        assert x.tolist() == [[1, 1], [1, 1]]
    point = xp.ones(())
    with pytest.raises(ValueError):
        point @= xp.ones((1, 1))


def test_matmul_in_place_refuses_read_only_targets() -> None:
    x = xp.ones((2, 2))
    for frozen in (x.as_readonly(), xp.broadcast_to(x, (3, 2, 2)), x.as_readonly()[:, 0]):
        with pytest.raises(ValueError, match="read-only"):
            frozen @= x
    assert x.tolist() == [[1, 1], [1, 1]]


@run_each("wrong", [2, 1.5, 2j, True, None, "text", [1.0, 2.0], {}], ids=str)
def test_matmul_operators_refuse_other_objects(wrong: Any) -> None:
    for dtype in ("int32", "float64"):
        x = xp.ones((2, 2), dtype=dtype)
        for pair in ((x, wrong), (wrong, x)):
            with pytest.raises(TypeError):
                operator.matmul(*pair)
        assert x.__matmul__(wrong) is NotImplemented
        assert x.__rmatmul__(wrong) is NotImplemented
        assert x.__imatmul__(wrong) is NotImplemented


class Left:
    """Takes over when it stands on the left."""

    def __matmul__(self, other: Any) -> tuple[str, Any]:
        return "left", other


class Right:
    """Takes over when it stands on the right."""

    def __rmatmul__(self, other: Any) -> tuple[str, Any]:
        return "right", other


def test_other_types_may_take_over_matmul() -> None:
    x = xp.ones((2, 2))
    word, other = Left() @ x
    assert word == "left" and other is x
    word, other = x @ Right()
    assert word == "right" and other is x
    target = x
    target @= Right()
    assert target[0] == "right" and target[1] is x
    for wrong in ((lambda: x @ Left()), (lambda: Right() @ x)):
        with pytest.raises(TypeError):
            wrong()
