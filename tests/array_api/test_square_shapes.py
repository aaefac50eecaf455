"""Operands of square shapes, whose axes cannot be told apart by the shape of the result."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from helpers.cases import run_each
from oracles.checks import flat
from oracles.functions import BINARY, COMPARING, OPERATORS

import refarray as xp

N = 3
SHAPES = [(), (N,), (1, N), (N, 1), (N, N), (N, N, N), (N, 1, N), (1, N, 1), (N, N, 1)]


def numbers(shape: tuple[int, ...], first: int, dtype: str) -> Any:
    """An array of different numbers; of both truth values for bool."""
    size = N ** sum(extent == N for extent in shape)
    values = [first + 2 * i for i in range(size)]
    if dtype == "bool":
        values = [value // 2 % 3 == 0 for value in values]
    return xp.reshape(xp.asarray(values, dtype=dtype), shape)


def broadcast_elements(x: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    """The elements of x at every index of a shape that it is broadcast to."""
    values = flat(x)
    for position in range(N ** len(shape)):
        offset, step, rest = 0, 1, position
        for extent in reversed((1,) * (len(shape) - x.ndim) + x.shape):
            rest, index = divmod(rest, N)
            offset += index * step if extent > 1 else 0
            step *= extent
        yield values[offset]


def spread(x: Any, shape: tuple[int, ...]) -> Any:
    return xp.asarray(list(broadcast_elements(x, shape)), dtype=x.dtype)


def dtype_of(name: str) -> str:
    dtypes = BINARY[name].dtypes
    return next(each for each in ("float64", "int64", "bool") if each in dtypes)


def operands(dtype: str) -> Iterator[tuple[Any, Any, tuple[int, ...]]]:
    """Pairs of arrays and the shape of their result, which has no dimension of size 1."""
    for left in SHAPES:
        for right in SHAPES:
            shape = xp.broadcast_shapes(left, right)
            x, y = numbers(left, 1, dtype), numbers(right, 2, dtype)
            if 1 not in shape:
                yield x, y, shape
                yield x, xp.permute_dims(y, tuple(range(y.ndim))[::-1]), shape


def named(name: str) -> list[Any]:
    """A function, and its operators, which change nothing."""
    methods = [m for m, function in {**OPERATORS, **COMPARING}.items() if function == name]
    return [getattr(xp, name), *(getattr(operator, method) for method in methods)]


@run_each("name", BINARY)
def test_shapes_are_aligned_at_the_right(name: str) -> None:
    for x, y, shape in operands(dtype_of(name)):
        if xp.broadcast_shapes(x.shape, y.shape) != shape:
            continue
        wanted = getattr(xp, name)(spread(x, shape), spread(y, shape))
        for function in named(name):
            got = function(x, y)
            assert got.shape == shape
            assert repr(flat(got)) == repr(wanted.tolist())


def test_where_aligns_three_shapes_at_the_right() -> None:
    for x, y, _ in operands("int64"):
        for condition_shape in SHAPES:
            condition = numbers(condition_shape, 0, "bool")
            shape = xp.broadcast_shapes(condition_shape, x.shape, y.shape)
            if 1 in shape:
                continue
            parts = (broadcast_elements(each, shape) for each in (condition, x, y))
            wanted = [a if chosen else b for chosen, a, b in zip(*parts, strict=True)]
            assert flat(xp.where(condition, x, y)) == wanted


@run_each("method", OPERATORS)
def test_operators_in_place_align_at_the_right(method: str) -> None:
    name = OPERATORS[method]
    dtype = dtype_of(name)
    for shape in [(N, N), (N, N, N)]:
        for other in SHAPES:
            if len(other) > len(shape):
                continue
            x, y = numbers(shape, 1, dtype), numbers(other, 2, dtype)
            wanted = getattr(xp, name)(spread(x, shape), spread(y, shape))
            changed = x
            changed = getattr(operator, f"i{method.strip('_')}")(changed, y)
            assert changed is x
            assert repr(flat(x)) == repr(wanted.tolist())


def test_broadcast_to_aligns_at_the_right() -> None:
    for own in SHAPES:
        for shape in [(N, N), (N, N, N)]:
            if len(own) <= len(shape):
                x = numbers(own, 1, "int64")
                assert flat(xp.broadcast_to(x, shape)) == list(broadcast_elements(x, shape))


def test_masks_select_in_row_major_order() -> None:
    x = numbers((N, N), 1, "int64")
    for matrix in (x, x.T, xp.flip(x, axis=0), xp.copy(x.T)):
        values = flat(matrix)
        for limit in (0, 4, 9, 100):
            mask = matrix > limit
            assert matrix[mask].tolist() == [each for each in values if each > limit]
            changed = xp.copy(matrix)
            changed[mask] = xp.arange(sum(each > limit for each in values))
            count = iter(range(N * N))
            assert flat(changed) == [next(count) if each > limit else each for each in values]


def test_positions_count_in_row_major_order() -> None:
    x = xp.asarray([[5, 3, 9], [1, 7, 9], [8, 1, 2]])
    for matrix in (x, x.T, xp.copy(x.T), xp.flip(x, axis=1), xp.astype(x.T, "float64")):
        values = flat(matrix)
        assert int(xp.argmin(matrix)) == values.index(min(values))
        assert int(xp.argmax(matrix)) == values.index(max(values))
        rows, columns = xp.nonzero(matrix == 9)
        places = [divmod(i, N) for i, each in enumerate(values) if each == 9]
        assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == places
