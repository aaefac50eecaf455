"""Elementwise functions give the same bits for every layout, length and way of broadcasting."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import run_each
from oracles.formats import ALL
from oracles.functions import BINARY, UNARY
from oracles.layouts import gapless, layouts, misaligned, text
from oracles.samples import pairs, samples

import refarray
from refarray import Array


def function(name: str) -> Any:
    return getattr(refarray, name)


def assert_fresh(out: Array) -> None:
    assert out.is_contiguous() and not out.readonly


def check_lengths(work: Any, whole: tuple[Array, ...], dtype: str) -> None:
    """The first elements of a result do not depend on how many follow."""
    full = work(*whole)
    elements = full.tolist()
    for length in range(41):
        parts = [each[:length] for each in whole]
        expected = repr(elements[:length])
        assert text(work(*parts)) == expected, (dtype, length)
        assert text(work(*(misaligned(part) for part in parts))) == expected, (dtype, length)
        shifted = [each[3 : 3 + length] for each in whole]
        assert text(work(*shifted)) == repr(elements[3 : 3 + length]), (dtype, length)
        back = [refarray.flip(part) for part in parts]
        assert text(work(*back)) == repr(elements[:length][::-1]), (dtype, length)


def repeated(values: list[Any], count: int) -> list[Any]:
    return (values * (count // len(values) + 1))[:count]


@run_each("name", UNARY)
def test_unary_functions_of_short_vectors(name: str) -> None:
    for dtype in UNARY[name].dtypes:
        values = repeated(samples(dtype), 44)
        check_lengths(function(name), (refarray.asarray(values, dtype=dtype),), dtype)


@run_each("name", BINARY)
def test_binary_functions_of_short_vectors(name: str) -> None:
    for dtype in BINARY[name].dtypes:
        a, b = pairs(dtype)
        start = len(a) // 3
        left, right = (repeated(each[start:], 44) for each in (a, b))
        whole = (refarray.asarray(left, dtype=dtype), refarray.asarray(right, dtype=dtype))
        check_lengths(function(name), whole, dtype)


@run_each("name", [*UNARY, *BINARY])
def test_results_are_new_arrays(name: str) -> None:
    """A function that gives its operand back, such as positive, may share its memory."""
    table = UNARY if name in UNARY else BINARY
    count = 1 if name in UNARY else 2
    for dtype in table[name].dtypes:
        x = refarray.zeros((3, 4), dtype=dtype)
        out = function(name)(*[x] * count)
        assert out.shape == (3, 4) and out.device == x.device
        if name not in ("positive", "conj", "real", "imag"):
            assert_fresh(out)


@run_each("dtype", ALL)
def test_three_layouts_of_clip(dtype: str) -> None:
    if dtype not in BINARY["maximum"].dtypes:
        with pytest.raises(TypeError, match=dtype):
            refarray.clip(refarray.zeros(3, dtype=dtype), None, None)
        return
    values = samples(dtype)
    low = gapless([1] * len(values), dtype)
    high = gapless([5] * len(values), dtype)
    expected = text(refarray.clip(gapless(values, dtype), low, high))
    for layout, x in layouts(values, dtype):
        assert text(refarray.clip(x, low, high)) == expected, layout
        assert text(refarray.clip(x, misaligned(low), high[:, :1])) == expected, layout
        assert text(refarray.clip(x, 1, 5)) == expected, layout
