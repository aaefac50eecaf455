"""Operands stay as they are, and what `copy=True` and the `_like` functions return is new."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from oracles.checks import flat
from oracles.formats import ALL

import refarray

pytestmark = pytest.mark.every_python

xp: Any = refarray


def views(x: Any) -> list[Any]:
    return [x, x.T, xp.flip(x), x[::2, 1:]]


def test_like_functions_take_shape_and_dtype_only() -> None:
    for dtype in ALL:
        for x in views(xp.reshape(xp.asarray([True] * 12, dtype="bool"), (3, 4))):
            y = xp.astype(x, dtype)
            for like, value in ((xp.zeros_like, 0), (xp.ones_like, 1)):
                out = like(y)
                assert out.shape == y.shape and out.dtype == y.dtype
                assert flat(out) == [value] * y.size
            filled = xp.full_like(y, dtype == "bool" or 3)
            assert flat(filled) == [True if dtype == "bool" else 3] * y.size
            other = xp.empty_like(y)
            other[...] = xp.zeros_like(y)
            assert flat(y) == [True if dtype == "bool" else 1] * y.size


def test_copies_are_independent() -> None:
    for make in (
        lambda x: xp.reshape(x, (4, 3), copy=True),
        lambda x: xp.reshape(x, x.shape, copy=True),
        lambda x: xp.asarray(x, copy=True),
        lambda x: xp.astype(x, x.dtype),
        lambda x: xp.from_dlpack(x, copy=True),
        xp.copy,
    ):
        x = xp.reshape(xp.arange(12), (3, 4))
        y = make(x)
        y[...] = 99
        assert flat(x) == list(range(12))


def test_what_need_not_be_copied_is_shared() -> None:
    for make in (
        xp.asarray,
        lambda x: xp.asarray(x, copy=False),
        lambda x: xp.asarray(x, dtype=x.dtype, copy=None),
        lambda x: xp.astype(x, x.dtype, copy=False),
        xp.from_dlpack,
        lambda x: xp.from_dlpack(x, copy=False),
    ):
        for x in views(xp.reshape(xp.arange(12), (3, 4))):
            y = make(x)
            y[...] = y + 1
            assert flat(x) == flat(y)


def test_conversion_copies_where_it_must() -> None:
    x = xp.asarray([1, 2, 3])
    for copy in (True, False):
        y = xp.astype(x, "float32", copy=copy)
        assert y.dtype == xp.float32 and y.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError):
        xp.asarray(x, dtype="float32", copy=False)
    for keywords in ({}, {"copy": None}, {"copy": True}):
        y = xp.asarray(x, dtype="float32", **keywords)
        assert y.dtype == xp.float32 and y.tolist() == [1.0, 2.0, 3.0]


def test_reshape_shares_memory_where_it_can() -> None:
    x = xp.reshape(xp.arange(12), (3, 4))
    for keywords in ({}, {"copy": None}, {"copy": False}):
        y = xp.reshape(x, (2, 6), **keywords)
        y[1, 0] += 1
        assert x[1, 2] == y[1, 0]
    with pytest.raises(ValueError):
        xp.reshape(x.T, (12,), copy=False)
    assert flat(xp.reshape(x.T, (12,))) == flat(x.T)


def test_tile_repeats_the_whole_array() -> None:
    x = xp.asarray([1, 2, 3])
    assert xp.tile(x, (2,)).tolist() == [1, 2, 3, 1, 2, 3]
    assert xp.tile(x, (2, 1)).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert xp.tile(x, (0,)).tolist() == []
    assert xp.tile(xp.asarray([[1, 2], [3, 4]]), (2,)).tolist() == [[1, 2, 1, 2], [3, 4, 3, 4]]
    assert xp.repeat(x, 2).tolist() == [1, 1, 2, 2, 3, 3]


def test_triangles_of_stacked_square_matrices() -> None:
    x = xp.reshape(xp.arange(1, 28), (3, 3, 3))
    for k in range(-3, 4):
        for name, kept in (
            ("tril", lambda i, j, k=k: j - i <= k),
            ("triu", lambda i, j, k=k: j - i >= k),
        ):
            out = getattr(xp, name)(x, k=k)
            wanted = [
                int(x[n, i, j]) if kept(i, j) else 0
                for n, i, j in itertools.product(range(3), repeat=3)
            ]
            assert flat(out) == wanted


@pytest.mark.parametrize("indexing", ["xy", "ij", None])
def test_meshgrid_of_three_equal_sizes(indexing: str | None) -> None:
    lines = [[1, 2, 3], [10, 20, 30], [100, 200, 300]]
    keywords = {"indexing": indexing} if indexing else {}
    grids = xp.meshgrid(*(xp.asarray(line) for line in lines), **keywords)
    for which, (grid, line) in enumerate(zip(grids, lines, strict=True)):
        axis = which if indexing == "ij" or which == 2 else 1 - which
        wanted = [line[index[axis]] for index in itertools.product(range(3), repeat=3)]
        assert grid.shape == (3, 3, 3) and flat(grid) == wanted
