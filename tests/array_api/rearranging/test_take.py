"""take and take_along_axis, against loops over Python numbers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype
from oracles.formats import ALL
from oracles.layouts import gapless, layouts, text
from oracles.nested import from_array, indices
from oracles.samples import samples

import refarray

xp: Any = refarray
SHAPE = (3, 4, 5)


def numbered(dtype: str = "int64", shape: tuple[int, ...] = SHAPE) -> Any:
    count = 1
    for extent in shape:
        count *= extent
    if dtype == "bool":
        return xp.asarray([i % 3 == 1 for i in range(count)]).reshape(shape)
    return xp.asarray([i % 120 for i in range(count)], dtype=dtype).reshape(shape)


def ints(values: Any, dtype: str = "int64") -> Any:
    return xp.asarray(values, dtype=dtype)


@run_each("dtype", ALL)
def test_take(dtype: str) -> None:
    x = numbered(dtype)
    for axis, chosen in itertools.product((0, 1, 2, -1, -3), ([0], [2, 0, -1, -3, 2], [])):
        out = xp.take(x, ints(chosen), axis=axis)
        key: list[Any] = [slice(None)] * 3
        assert_dtype(out, dtype)
        assert out.shape[axis % 3] == len(chosen)
        for position, each in enumerate(chosen):
            into, source = list(key), list(key)
            into[axis], source[axis] = position, each
            assert out[tuple(into)].tolist() == x[tuple(source)].tolist()
    line = xp.reshape(x, (60,))
    assert xp.take(line, ints([5, -1])).tolist() == [line[5].item(), line[-1].item()]
    for layout, y in layouts(samples(dtype), dtype):
        expected = text(xp.take(gapless(samples(dtype), dtype), ints([1, 0, -1]), axis=1))
        assert text(xp.take(y, ints([1, 0, -1]), axis=1)) == expected, layout


def test_take_refuses_bad_arguments() -> None:
    x = numbered()
    for bad in (3, -4, 2**40):
        with pytest.raises(IndexError, match=str(bad)):
            xp.take(x, ints([0, bad]), axis=0)
    for axis in (3, -4):
        with pytest.raises(IndexError, match=str(axis)):
            xp.take(x, ints([0]), axis=axis)
    with pytest.raises((TypeError, ValueError), match="axis"):
        xp.take(x, ints([0]))
    with pytest.raises((TypeError, IndexError), match="float64"):
        xp.take(x, xp.asarray([0.0]), axis=0)
    with pytest.raises((TypeError, ValueError, IndexError)):
        xp.take(x, xp.asarray([True, False, True]), axis=0)
    with pytest.raises(ValueError, match=r"ndim 2|\(1, 1\)"):
        xp.take(x, ints([[0]]), axis=0)
    with pytest.raises(IndexError, match="0"):
        xp.take(xp.zeros((0, 3)), ints([0]), axis=0)
    for wrong in ([0], 0, None):
        with pytest.raises(TypeError):
            xp.take(x, wrong, axis=0)


@run_each("dtype", ["bool", "uint8", "int64", "float16", "complex64"])
def test_take_along_axis(dtype: str) -> None:
    x = numbered(dtype)
    model = from_array(x)
    for axis in (0, 1, 2, -1, -2):
        shape = list(SHAPE)
        shape[axis] = 6
        count = 1
        for extent in shape:
            count *= extent
        extent = SHAPE[axis]
        chosen = ints([(i * 7) % (2 * extent) - extent for i in range(count)]).reshape(tuple(shape))
        out = xp.take_along_axis(x, chosen, axis=axis)
        assert_dtype(out, dtype)
        assert out.shape == tuple(shape)
        for index in indices(tuple(shape)):
            source = list(index)
            source[axis] = chosen[index].item() % extent
            assert out[index].item() == model.at(source)
    assert text(xp.take_along_axis(x, ints([[[1]], [[0]], [[4]]]))) == text(
        xp.take_along_axis(x, xp.broadcast_to(ints([[[1]], [[0]], [[4]]]), (3, 4, 1)), axis=2)
    )
    order = xp.argsort(numbered("float64") * -1, axis=1)
    assert text(xp.take_along_axis(numbered("float64"), order, axis=1)) == text(
        xp.sort(numbered("float64"), axis=1, descending=True)
    )


def test_take_along_axis_refuses_bad_arguments() -> None:
    x = numbered()
    with pytest.raises(ValueError, match="ndim"):
        xp.take_along_axis(x, ints([0]), axis=0)
    for bad in (3, -4):
        with pytest.raises(IndexError, match=str(bad)):
            xp.take_along_axis(x, ints([[[bad]]]), axis=0)
        with pytest.raises(IndexError, match=str(bad)):
            xp.take_along_axis(x, ints([[[0]]]), axis=bad if bad == 3 else -4)
    with pytest.raises((TypeError, IndexError), match="float64"):
        xp.take_along_axis(x, xp.zeros((1, 1, 1)), axis=0)
    with pytest.raises(ValueError, match=r"\(1, 3, 1\)"):
        xp.take_along_axis(x, xp.zeros((1, 3, 1), dtype=xp.int64), axis=0)
