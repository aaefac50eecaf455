"""Masks and integer arrays as indices, take and take_along_axis, against loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oracles.layouts import text

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


def pattern(shape: tuple[int, ...], step: int = 3) -> Any:
    count = 1
    for extent in shape:
        count *= extent
    return xp.asarray([i % step == 1 or i == 0 for i in range(count)], dtype=xp.bool).reshape(shape)


def test_masks_of_the_wrong_shape_raise() -> None:
    x = numbered()
    for shape in ((4,), (3, 3), (3, 4, 5, 1), (2,), (1,), (1, 4), (3, 4, 6)):
        mask = xp.ones(shape, dtype=xp.bool)
        with pytest.raises(IndexError) as caught:
            x[mask]
        if len(shape) > len(SHAPE):
            assert "4" in str(caught.value) and "3" in str(caught.value)
        else:
            assert str(shape) in str(caught.value) and str(SHAPE) in str(caught.value)
        with pytest.raises(IndexError):
            x[mask] = 0
    assert text(x) == text(numbered())
    with pytest.raises(IndexError):
        xp.asarray(1)[xp.asarray([True])]


def test_masks_of_extent_zero_select_nothing() -> None:
    """The standard: an extent of the mask equals the array's or is 0."""
    x = numbered()
    for shape, wanted in (((0,), (0, 4, 5)), ((0, 4), (0, 5)), ((3, 0), (0, 5))):
        try:
            out = x[xp.zeros(shape, dtype=xp.bool)]
        except IndexError:
            pytest.fail(f"a mask of shape {shape} is refused")
        assert out.shape == wanted


def ints(values: Any, dtype: str = "int64") -> Any:
    return xp.asarray(values, dtype=dtype)


def test_integer_arrays_out_of_range_raise() -> None:
    x = numbered()
    for axis, bad in ((0, 3), (0, -4), (1, 4), (2, -6), (2, 2**62), (0, -(2**63))):
        keys = [ints([0, 0]), ints([0, 0]), ints([0, 0])]
        keys[axis] = ints([0, bad])
        work: Callable[..., Any]
        for work in (lambda k: x[k], lambda k: x.__setitem__(k, 5)):
            with pytest.raises(IndexError) as caught:
                work(tuple(keys))
            assert str(bad) in str(caught.value), (axis, bad)
    with pytest.raises(IndexError, match="18446744073709551615"):
        x[xp.asarray([2**64 - 1], dtype="uint64"), ints([0]), ints([0])]
    assert text(x) == text(numbered())  # nothing was written
    with pytest.raises(IndexError):
        x[ints([0]), ints([0]), ints([0]), ints([0])]
    for work in (lambda k: x[k], lambda k: x.__setitem__(k, 5)):
        with pytest.raises((IndexError, ValueError), match=r"\(2,\).*\(3,\)"):
            work((ints([0, 1]), ints([0, 1, 2]), ints([0])))
        with pytest.raises((IndexError, TypeError), match="float64"):
            work(xp.asarray([1.0]))


def test_index_assignment_reads_an_overlapping_source_first() -> None:
    x = xp.arange(50)
    expected = xp.flip(x).tolist()
    x[xp.arange(50)] = xp.flip(x)
    assert x.tolist() == expected
    x = xp.arange(50)
    x[xp.ones(50, dtype=xp.bool)] = xp.flip(x)
    assert x.tolist() == expected
    x = xp.arange(50)
    order = xp.flip(x)
    x[order] = x[10]
    assert x.tolist() == [10] * 50
    x = xp.arange(5)
    x[x] = xp.asarray([4, 3, 2, 1, 0])  # the index is the target
    assert x.tolist() == [4, 3, 2, 1, 0]
    x = xp.arange(5)
    x[x] = xp.flip(x)
    assert x.tolist() == [4, 3, 2, 1, 0]


def test_results_of_index_arrays_are_copies() -> None:
    x = numbered()
    out = x[ints([0, 1])]
    out[...] = -1
    rows = x[xp.ones(3, dtype=xp.bool)]
    rows[...] = -1
    assert text(x) == text(numbered())
    frozen = x.as_readonly()
    assert not frozen[ints([0])].readonly
    for key in (ints([0]), pattern(SHAPE), (ints([0]), ints([0]), ints([0]))):
        with pytest.raises(ValueError, match="read-only"):
            frozen[key] = 0
