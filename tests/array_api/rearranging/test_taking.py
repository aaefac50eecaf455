"""take(), take_along_axis() and nonzero() compared with a model in plain Python."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.index_model import DTYPES, LAYOUTS, at, nested, numbered, positions_of

import refarray as xp


@run_each("layout", LAYOUTS)
@run_each("axis", [0, 1, 2, -1])
def test_take(axis: int, layout: Any) -> None:
    x = layout(numbered((3, 4, 5), "float32"))
    index = [2, -1, 0, 2]
    key: list[Any] = [slice(None)] * 3
    key[axis] = xp.asarray(index)
    shape, positions = positions_of((3, 4, 5), tuple(key))
    got = xp.take(x, xp.asarray(index), axis=axis)
    assert got.tolist() == nested(shape, [at(x.tolist(), p) for p in positions])


@run_each("layout", LAYOUTS)
@run_each("axis", [0, 1, -1])
@run_each("broadcast", [None, 0, 1])
def test_take_along_axis(axis: int, broadcast: int | None, layout: Any) -> None:
    rng = random.Random(1)
    shape = [3, 4]
    shape[axis] = 6
    if broadcast is not None and broadcast != axis % 2:
        shape[broadcast] = 1
    x = layout(numbered((3, 4), "int16"))
    extent = x.shape[axis]
    index = [[rng.randrange(-extent, extent) for _ in range(shape[1])] for _ in range(shape[0])]
    got = xp.take_along_axis(x, xp.asarray(index), axis=axis)
    values = x.tolist()
    for i, j in itertools.product(range(got.shape[0]), range(got.shape[1])):
        k = index[i if shape[0] > 1 else 0][j if shape[1] > 1 else 0]
        expected = values[k][j] if axis % 2 == 0 else values[i][k]
        assert got[i, j].item() == expected


@run_each("dtype", DTYPES)
@run_each("layout", LAYOUTS)
def test_nonzero(dtype: str, layout: Any) -> None:
    x = layout(xp.reshape(xp.astype(xp.asarray([0, 1, 0, 1, 1, 0]), dtype), (2, 3)))
    values = x.tolist()
    found = [(i, j) for i in range(2) for j in range(3) if values[i][j]]
    rows, columns = xp.nonzero(x)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == found
    assert rows.dtype == columns.dtype == xp.int64


def test_nonzero_of_nan_and_signed_zeros() -> None:
    assert xp.nonzero(xp.asarray([0.0, -0.0, float("nan"), 1e-300]))[0].tolist() == [2, 3]
    assert xp.nonzero(xp.asarray([0j, 1j, 1 + 0j]))[0].tolist() == [1, 2]


def test_arguments_of_the_functions() -> None:
    x = numbered((2, 3))
    index = xp.asarray([0])
    for call, error in (
        (lambda: xp.take(x, index), ValueError),
        (lambda: xp.take(x, xp.asarray([[0]]), axis=0), ValueError),
        (lambda: xp.take(x, xp.asarray([0.0]), axis=0), TypeError),
        (lambda: xp.take(x, index, axis=2), IndexError),
        (lambda: xp.take(x, xp.asarray([3]), axis=1), IndexError),
        (lambda: xp.take_along_axis(x, index), ValueError),
        (lambda: xp.take_along_axis(x, xp.zeros((3, 3), dtype="int64"), axis=1), ValueError),
        (lambda: xp.nonzero(xp.asarray(1)), ValueError),
    ):
        with pytest.raises(error):
            call()
