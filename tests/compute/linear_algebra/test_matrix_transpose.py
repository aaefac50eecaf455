"""matrix_transpose: a view of the same memory whose last two axes have changed places."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.nested import Shape

import refarray

xp: Any = refarray
SHAPES: list[Shape] = [(2, 3), (3, 3), (1, 4), (4, 1), (2, 3, 4), (3, 3, 3), (2, 1, 3, 4)]


def counted(shape: Shape) -> Any:
    return xp.reshape(xp.arange(math.prod(shape)), shape)


def address(x: Any) -> int:
    return int(x.__array_interface__["data"][0])


@run_each("shape", SHAPES, ids=str)
def test_matrix_transpose_shares_its_memory(shape: Shape) -> None:
    x = counted(shape)
    out = xp.matrix_transpose(x)
    assert address(out) == address(x)
    assert out.strides == (*x.strides[:-2], x.strides[-1], x.strides[-2])
    last = tuple(n - 1 for n in out.shape)
    out[last] = -5
    assert int(x[tuple(n - 1 for n in shape)]) == -5
    x[...] = 7
    assert bool(xp.all(out == 7))


def test_matrix_transpose_keeps_read_only_memory_read_only() -> None:
    x = xp.ones((2, 3))
    assert not xp.matrix_transpose(x).readonly
    for frozen in (x.as_readonly(), xp.broadcast_to(x, (4, 2, 3))):
        assert xp.matrix_transpose(frozen).readonly == frozen.readonly
        with pytest.raises(ValueError, match="read-only"):
            xp.matrix_transpose(frozen)[...] = 0.0


def test_matrix_transpose_outlives_its_operand() -> None:
    x = counted((3, 4))
    out = xp.matrix_transpose(x)
    del x
    assert out.tolist() == [[i + 4 * j for j in range(3)] for i in range(4)]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,)], ids=str)
def test_matrix_transpose_needs_two_axes(shape: Shape) -> None:
    for dtype in ("bool", "int32", "complex64"):
        with pytest.raises(ValueError, match="ndim|dimension|axes") as caught:
            xp.matrix_transpose(xp.zeros(shape, dtype=dtype))
        assert str(len(shape)) in str(caught.value)
