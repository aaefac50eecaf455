"""diagonal and matrix_transpose, which are views, and trace: offsets, stacks and dtypes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype
from oracles.formats import COMPLEX, INTEGERS, NUMERIC, REAL_FLOATS
from oracles.layouts import views
from oracles.nested import Nested, Shape, from_array, indices, made, size_of

import refarray

xp: Any = refarray


def places(shape: Shape, offset: int) -> list[tuple[int, int]]:
    """Row and column of the elements of a diagonal, from the top."""
    rows, columns = shape[-2:]
    return [(i, i + offset) for i in range(rows) if 0 <= i + offset < columns]


def wanted(x: Nested, offset: int) -> Nested:
    there = places(x.shape, offset)
    return made((*x.shape[:-2], len(there)), lambda i: x.at((*i[:-1], *there[i[-1]])))


def numbers(shape: Shape, dtype: str = "int64") -> tuple[Any, Nested]:
    """Different integers."""
    x = xp.reshape(xp.arange(1, size_of(shape) + 1, dtype=dtype), shape)
    return x, Nested(list(range(1, size_of(shape) + 1)), shape)


def assert_nested(out: Any, right: Nested) -> None:
    assert out.shape == right.shape
    if out.size:
        assert from_array(out).values == right.values


def test_diagonals_are_views() -> None:
    for offset in (0, 1, -1, 2):
        x, model = numbers((2, 3, 4))
        view = xp.linalg.diagonal(x, offset=offset)
        assert not view.readonly
        view[...] = -1
        there = places((3, 4), offset)
        marked = [-1 if i[1:] in there else model.at(i) for i in indices((2, 3, 4))]
        assert from_array(x).values == marked
        x[1, there[0][0], there[0][1]] = 77
        assert view[1, 0].tolist() == 77


def test_diagonals_of_views_are_views_of_the_same_memory() -> None:
    for shape in ((3, 4), (2, 3, 3)):
        x, model = numbers(shape)
        for layout, view in views(x):
            for offset in (0, 1, -2):
                out = xp.linalg.diagonal(view, offset=offset)
                assert_nested(out, wanted(model, offset))
                assert out.readonly == view.readonly, layout
                if not view.readonly:
                    before = view.tobytes()
                    out[...] = 0
                    assert not xp.any(xp.linalg.diagonal(view, offset=offset)), layout
                    out[...] = xp.linalg.diagonal(x, offset=offset)
                    assert view.tobytes() == before


def test_diagonals_of_read_only_arrays_are_read_only() -> None:
    x, _ = numbers((3, 3))
    for source in (x.as_readonly(), xp.broadcast_to(x, (2, 3, 3))):
        out = xp.linalg.diagonal(source)
        assert out.readonly
        with pytest.raises((ValueError, TypeError, BufferError)):
            out[0] = 1
    assert x[0, 0].tolist() == 1


def test_the_diagonal_keeps_the_memory() -> None:
    out = xp.linalg.diagonal(xp.ones((50, 50), dtype="int64"), offset=3)
    other = [xp.zeros((50, 50), dtype="int64") for _ in range(5)]
    assert out.tolist() == [1] * 47 and len(other) == 5


# --- trace


@run_each("dtype", NUMERIC)
def test_the_dtype_of_traces(dtype: str) -> None:
    """By default that of sum()."""
    x = xp.ones((3, 3), dtype=dtype)
    default = {"i": "int64", "u": "uint64"}.get(dtype[0], dtype)
    assert_dtype(xp.linalg.trace(x), default)
    assert_dtype(xp.linalg.trace(x, dtype=None), default)
    for other in (*INTEGERS, *REAL_FLOATS, *COMPLEX):
        try:
            right = xp.sum(xp.ones(3, dtype=dtype), dtype=other)
        except (TypeError, ValueError) as refused:
            with pytest.raises(type(refused)):
                xp.linalg.trace(x, dtype=other)
            continue
        for given in (other, getattr(xp, other)):
            out = xp.linalg.trace(x, dtype=given)
            assert_dtype(out, other)
            assert out.tobytes() == right.tobytes()


@pytest.mark.parametrize("name", ["diagonal", "trace"])
def test_wrong_arguments(name: str) -> None:
    function = getattr(xp.linalg, name)
    for shape in ((), (3,)):
        with pytest.raises(ValueError, match=rf"{name}\(\).*\({'3,' if shape else ''}\)"):
            function(xp.ones(shape))
    for offset in (None, 1.0, "1", 1j, [1], (0,)):
        with pytest.raises(TypeError, match=f"offset.*{type(offset).__name__}"):
            function(xp.ones((2, 2)), offset=offset)
    for offset in (2**63, -(2**63) - 1, 2**100):
        with pytest.raises(OverflowError, match=f"offset is {offset}"):
            function(xp.ones((2, 2)), offset=offset)


# --- matrix_transpose


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
