"""take(), take_along_axis() and x[index]: more indices than are used at once, and errors."""

from __future__ import annotations

import random
from math import prod

import pytest
from helpers.cases import run_each
from helpers.index_model import numbered
from oracles.switches import threads

import refarray as xp

PART = 8192  # offsets that are computed at once, see compute/indexing/index_arrays.cpp
COUNTS = [PART - 1, PART, PART + 1, 3 * PART + 5]


def chosen(count: int, extent: int) -> list[int]:
    rng = random.Random(count)
    return [rng.randrange(-extent, extent) for _ in range(count)]


@run_each("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@run_each("count", COUNTS)
def test_vectors(dtype: str, count: int) -> None:
    x = xp.astype(xp.remainder(xp.arange(1000), 251), dtype)
    index = chosen(count, 1000)
    expected = [i % 1000 % 251 for i in index]
    for by in (
        xp.asarray(index),
        xp.flip(xp.asarray(index[::-1])),
        xp.asarray(index, dtype="int16"),
    ):
        for got in (x[by], xp.take(x, by), xp.take_along_axis(x, by)):
            assert got.dtype == dtype and got.shape == (count,)
            assert got.tolist() == expected


@run_each("count", [1, 3])
@run_each("axis", [0, 1, 2])
def test_each_axis(axis: int, count: int) -> None:
    """Three threads share copies of 4 MiB and more."""
    shape = [3, 4, 5]
    x = xp.permute_dims(xp.reshape(xp.arange(60), (5, 4, 3)), (2, 1, 0))
    index = chosen(60_000, shape[axis])
    with threads(count):
        got = xp.take(x, xp.asarray(index), axis=axis)
    rows = xp.moveaxis(x, axis, 0).tolist()
    assert xp.moveaxis(got, axis, 0).tolist() == [rows[i] for i in index]


@run_each("count", [1, 3])
@run_each("axis", [0, 1, 2])
@run_each("shape", [(3, 5000, 4), (30_000, 2, 1), (1, 2, 30_000), (2, 0, 9000)])
def test_along_axis(shape: tuple[int, int, int], axis: int, count: int) -> None:
    extents = list(shape)
    extents[axis] = 7
    x = xp.reshape(xp.arange(prod(extents)), tuple(extents))
    index = xp.reshape(xp.asarray(chosen(prod(shape), 7), dtype="int64"), shape)
    with threads(count):
        got = xp.take_along_axis(x, index, axis=axis)
    places = [
        xp.reshape(xp.arange(n), [n if i == a else 1 for i in range(3)])
        for a, n in enumerate(shape)
    ]
    places[axis] = index % 7
    expected = (places[0] * extents[1] + places[1]) * extents[2] + places[2]
    assert got.shape == shape and bool(xp.all(got == expected))


@run_each("at", [0, PART - 1, PART, 2 * PART])
@run_each("bad", [5, -6])
def test_an_index_out_of_range_in_any_part(at: int, bad: int) -> None:
    index = [0] * (2 * PART + 1)
    index[at] = bad
    x, by = xp.arange(5), xp.asarray(index)
    for call in (lambda: x[by], lambda: xp.take(x, by), lambda: xp.take_along_axis(x, by)):
        with pytest.raises(
            IndexError, match=rf"index {bad} is out of range for axis 0 of extent 5"
        ):
            call()


def test_indices_are_checked_where_nothing_is_selected() -> None:
    by = xp.asarray([0] * PART + [9])
    with pytest.raises(IndexError, match="index 9"):
        xp.zeros((5, 0))[by]
    assert xp.zeros((5, 0))[by[:-1]].shape == (PART, 0)


def test_an_unsigned_index_beyond_int64() -> None:
    with pytest.raises(IndexError, match="18446744073709551615"):
        xp.arange(5)[xp.asarray([0, 2**64 - 1], dtype="uint64")]


# --- errors


def test_take_refuses_bad_arguments() -> None:
    x = numbered((3, 4, 5))
    for bad in (3, -4, 2**40):
        with pytest.raises(IndexError, match=str(bad)):
            xp.take(x, xp.asarray([0, bad]), axis=0)
    for axis in (3, -4):
        with pytest.raises(IndexError, match=str(axis)):
            xp.take(x, xp.asarray([0]), axis=axis)
    with pytest.raises((TypeError, ValueError), match="axis"):
        xp.take(x, xp.asarray([0]))
    with pytest.raises((TypeError, IndexError), match="float64"):
        xp.take(x, xp.asarray([0.0]), axis=0)
    with pytest.raises((TypeError, ValueError, IndexError)):
        xp.take(x, xp.asarray([True, False, True]), axis=0)
    with pytest.raises(ValueError, match=r"ndim 2|\(1, 1\)"):
        xp.take(x, xp.asarray([[0]]), axis=0)
    with pytest.raises(IndexError, match="0"):
        xp.take(xp.zeros((0, 3)), xp.asarray([0]), axis=0)
    for wrong in ([0], 0, None):
        with pytest.raises(TypeError):
            xp.take(x, wrong, axis=0)


def test_take_along_axis_refuses_bad_arguments() -> None:
    x = numbered((3, 4, 5))
    with pytest.raises(ValueError, match="ndim"):
        xp.take_along_axis(x, xp.asarray([0]), axis=0)
    for bad in (3, -4):
        with pytest.raises(IndexError, match=str(bad)):
            xp.take_along_axis(x, xp.asarray([[[bad]]]), axis=0)
        with pytest.raises(IndexError, match=str(bad)):
            xp.take_along_axis(x, xp.asarray([[[0]]]), axis=bad if bad == 3 else -4)
    with pytest.raises((TypeError, IndexError), match="float64"):
        xp.take_along_axis(x, xp.zeros((1, 1, 1)), axis=0)
    with pytest.raises(ValueError, match=r"\(1, 3, 1\)"):
        xp.take_along_axis(x, xp.zeros((1, 3, 1), dtype=xp.int64), axis=0)
