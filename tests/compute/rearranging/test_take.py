"""take and take_along_axis, against loops over Python numbers."""

from __future__ import annotations

from typing import Any

import pytest

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
