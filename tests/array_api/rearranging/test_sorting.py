"""sort, argsort and searchsorted, with ties, NaN, both orders and every axis and layout."""

from __future__ import annotations

import bisect
import itertools
import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype, flat
from oracles.formats import COMPLEX, INTEGERS, REAL, REAL_FLOATS
from oracles.layouts import gapless, layouts, text
from oracles.nested import from_array, scanned
from oracles.samples import samples

import refarray

xp: Any = refarray
COUNTS = (0, 1, 2, 3, 7, 16, 17, 33, 100, 257, 1000)


def key(value: Any) -> tuple[bool, Any]:
    """NaN is larger than every number."""
    return (True, 0) if value != value else (False, value)


def ordered(values: list[Any], descending: bool) -> list[int]:
    """The positions that sort the values; equal ones stay in their order."""
    return (
        sorted(range(len(values)), key=lambda i: key(values[i]), reverse=False)
        if (not descending)
        else sorted(range(len(values)), key=lambda i: Reversed(values[i]))
    )


class Reversed:
    """Compares the other way round, so that a stable sort descends and keeps equal elements."""

    def __init__(self, value: Any) -> None:
        self.key = key(value)

    def __lt__(self, other: Reversed) -> bool:
        return bool(other.key < self.key)


def scattered(dtype: str, count: int) -> list[Any]:
    """Many ties, the dtype's limits, and NaN where there is one."""
    known = samples(dtype)
    return [known[(i * 31 + i // 7) % len(known)] for i in range(count)]


def same_values(got: list[Any], wanted: list[Any]) -> bool:
    """Equal numbers; the order of the two zeros is free, NaN equals NaN."""
    return len(got) == len(wanted) and all(
        a == b or (a != a and b != b) for a, b in zip(got, wanted, strict=True)
    )


@run_each("dtype", REAL)
@run_each("descending", [False, True])
def test_sorting_of_vectors(dtype: str, descending: bool) -> None:
    for count in COUNTS:
        values = scattered(dtype, count)
        x = xp.asarray(values, dtype=dtype)
        order = ordered(values, descending)
        for stable in (True, False):
            out = xp.sort(x, descending=descending, stable=stable)
            assert_dtype(out, dtype)
            assert same_values(out.tolist(), [values[i] for i in order]), count
        positions = xp.argsort(x, descending=descending)
        assert_dtype(positions, "int64")
        assert positions.tolist() == order, count
        loose = xp.argsort(x, descending=descending, stable=False).tolist()
        assert sorted(loose) == list(range(count))
        assert same_values([values[i] for i in loose], [values[i] for i in order])
        assert text(x) == text(xp.asarray(values, dtype=dtype))  # a copy was sorted


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_along_every_axis(descending: bool) -> None:
    for dtype in REAL:
        x = xp.asarray(scattered(dtype, 60), dtype=dtype).reshape((3, 4, 5))
        model = from_array(x)
        for axis in (0, 1, 2, -1, -2, -3):
            out = xp.argsort(x, axis=axis, descending=descending)
            wanted = scanned(model, axis, lambda line: ordered(line, descending))
            assert (out.shape, flat(out)) == (x.shape, wanted.values), (dtype, axis)
            lines = scanned(model, axis, lambda line: [line[i] for i in ordered(line, descending)])
            got = flat(xp.sort(x, axis=axis, descending=descending))
            assert same_values(got, lines.values), (dtype, axis)
        assert text(xp.sort(x)) == text(xp.sort(x, axis=2))


def test_sorting_reads_every_layout() -> None:
    for dtype in REAL:
        values = scattered(dtype, 80)
        for axis, descending in itertools.product((0, 1), (False, True)):
            plain = gapless(values, dtype)
            for function in (xp.sort, xp.argsort):
                expected = text(function(plain, axis=axis, descending=descending))
                for layout, x in layouts(values, dtype):
                    out = function(x, axis=axis, descending=descending)
                    assert text(out) == expected, (dtype, layout, axis)


def test_sorting_of_empty_and_point_arrays() -> None:
    for shape in ((0,), (0, 3), (3, 0)):
        for function in (xp.sort, xp.argsort):
            assert function(xp.zeros(shape)).shape == shape
            assert function(xp.zeros(shape), axis=0).shape == shape
    for function in (xp.sort, xp.argsort):
        for bad in (1, -2, 5):
            with pytest.raises(IndexError, match=str(bad)):
                function(xp.ones(3), axis=bad)
        for wrong in (None, 0.5, "0", (0,)):
            with pytest.raises(TypeError):
                function(xp.ones(3), axis=wrong)
        for dtype in COMPLEX:
            with pytest.raises(TypeError, match=dtype):
                function(xp.ones(3, dtype=dtype))


@run_each("dtype", REAL)
def test_searchsorted(dtype: str) -> None:
    for count in (0, 1, 2, 5, 31, 100):
        values = sorted(scattered(dtype, count), key=key)
        sought = scattered(dtype, 53)
        x1, x2 = xp.asarray(values, dtype=dtype), xp.asarray(sought, dtype=dtype)
        keys = [key(v) for v in values]
        left = [bisect.bisect_left(keys, key(v)) for v in sought]
        right = [bisect.bisect_right(keys, key(v)) for v in sought]
        for side, wanted in (("left", left), ("right", right)):
            out = xp.searchsorted(x1, x2, side=side)
            assert_dtype(out, "int64")
            assert out.tolist() == wanted, (count, side)
            assert xp.searchsorted(x1, x2[:52].reshape((4, 13)), side=side).shape == (4, 13)
            assert flat(xp.searchsorted(x1, xp.flip(x2), side=side)) == wanted[::-1]
            for i in (0, 7, 20):
                assert xp.searchsorted(x1, x2[i], side=side).item() == wanted[i]
        assert xp.searchsorted(x1, x2).tolist() == left


@run_each("dtype", REAL)
def test_searchsorted_with_a_sorter(dtype: str) -> None:
    values = scattered(dtype, 40)
    order = ordered(values, False)
    x1, x2 = xp.asarray(values, dtype=dtype), xp.asarray(scattered(dtype, 17), dtype=dtype)
    ascending = xp.asarray([values[i] for i in order], dtype=dtype)
    for side in ("left", "right"):
        wanted = xp.searchsorted(ascending, x2, side=side).tolist()
        for index_dtype in ("int64", "int8", "uint32"):
            sorter = xp.asarray(order, dtype=index_dtype)
            assert xp.searchsorted(x1, x2, side=side, sorter=sorter).tolist() == wanted
        spread = xp.asarray([v for i in order for v in (i, 0)])[::2]
        assert xp.searchsorted(x1, x2, side=side, sorter=spread).tolist() == wanted


def test_searchsorted_takes_scalars() -> None:
    x = xp.asarray([1.0, 2.0, 2.0, 3.0])
    assert xp.searchsorted(x, 2).item() == 1 and xp.searchsorted(x, 2.0, side="right").item() == 3
    assert xp.searchsorted(x, 2).shape == ()
    ints = xp.asarray([1, 5], dtype="uint8")
    assert xp.searchsorted(ints, 5, side="right").item() == 2
    with pytest.raises(TypeError):
        xp.searchsorted(ints, 2.5)


def test_searchsorted_refuses_bad_arguments() -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="middle"):
        xp.searchsorted(x, x, side="middle")
    with pytest.raises(ValueError, match=r"\(1, 3\)|ndim 2"):
        xp.searchsorted(x.reshape((1, 3)), x)
    with pytest.raises(ValueError, match=r"\(2,\)"):
        xp.searchsorted(x, x, sorter=xp.asarray([0, 1]))
    with pytest.raises(TypeError, match="float64"):
        xp.searchsorted(x, x, sorter=x)
    for bad in (3, -4, 2**62):
        with pytest.raises(IndexError, match=str(bad)):
            xp.searchsorted(x, x, sorter=xp.asarray([0, bad, 1]))
    with pytest.raises(TypeError):
        xp.searchsorted(x, xp.asarray([1]))
    with pytest.raises(TypeError):
        xp.searchsorted(x, [1.0])


def test_a_sorter_of_negative_positions_counts_from_the_end_or_raises() -> None:
    x = xp.asarray([3.0, 1.0, 2.0])
    try:
        got = xp.searchsorted(x, x, sorter=xp.asarray([-2, -1, 0])).tolist()
    except IndexError:
        return
    assert got == [2, 0, 1]


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_nan_is_sorted_last(dtype: str) -> None:
    values = [math.nan, 1.0, math.inf, math.nan, -1.0]
    x = xp.asarray(values, dtype=dtype)
    assert [v == v for v in xp.sort(x).tolist()] == [True, True, True, False, False]
    assert xp.argsort(x).tolist() == [4, 1, 2, 0, 3]
    assert xp.argsort(x, descending=True).tolist() == [0, 3, 2, 1, 4]


@run_each("dtype", ["bool", *INTEGERS])
def test_long_runs_of_ties_stay_in_order(dtype: str) -> None:
    values = [(i // 3) % 2 for i in range(5000)]
    elements: list[Any] = [v == 1 for v in values] if dtype == "bool" else values
    x = xp.asarray(elements, dtype=dtype)
    if dtype == "bool":
        try:
            got = xp.argsort(x).tolist()
        except TypeError:  # the standard promises real dtypes only
            return
        assert got == ordered(elements, False)
        return
    assert xp.argsort(x).tolist() == ordered(values, False)
    assert xp.argsort(x, descending=True).tolist() == ordered(values, True)
