"""Elementwise functions give the same bits for every layout, length and way of broadcasting."""

from __future__ import annotations

from typing import Any

from helpers.cases import run_each
from oracles.functions import BINARY, UNARY
from oracles.layouts import misaligned, text
from oracles.samples import pairs, samples

import refarray
from refarray import Array


def function(name: str) -> Any:
    return getattr(refarray, name)


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
