"""Elementwise functions give the same bits for every layout, length and way of broadcasting, also
of operands that share memory."""

from __future__ import annotations

import operator
from typing import Any

from helpers.cases import run_each
from oracles.formats import COMPLEX, INTEGERS, REAL_FLOATS
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


xp: Any = refarray
INDEX = xp.asarray([2, 0, 1])


@run_each(
    ("wide", "narrow"),
    [
        *(("int16", "int8"), ("int32", "int8"), ("int64", "int32"), ("int16", "uint8")),
        *(("float64", "float32"), ("float32", "float16"), ("complex128", "float64")),
    ],
)
def test_in_place_operands_may_be_views_of_other_dtypes(wide: str, narrow: str) -> None:
    """x += y reads y first, also where y shows the bytes of x as elements of another dtype."""
    for count in (7, 40, 1000, 20_000):
        for start in (0, 1, 3):
            for name in ("iadd", "isub", "imul"):
                whole = xp.asarray([i % 50 for i in range(count)], dtype="int64").astype(wide)
                y = whole.view(getattr(xp, narrow))[start : start + count - 2]
                x = whole[: count - 2]
                expected = text(getattr(operator, name[1:])(x.copy(), y.copy()))
                x = getattr(operator, name)(x, y)
                assert text(x) == expected, (count, start, name)


@run_each("dtype", [*INTEGERS, *REAL_FLOATS, *COMPLEX])
def test_results_of_shared_operands_are_whole_arrays(dtype: str) -> None:
    x = xp.broadcast_to(xp.ones((), dtype=dtype), (3, 4))
    for out in (x + x, -x, xp.where(x == x, x, x), xp.concat([x]), x[INDEX]):
        assert out.is_contiguous() and not out.readonly
        out[0, 0] = 5
        assert sorted({repr(v) for row in out.tolist() for v in row}) == sorted(
            {repr(out[0, 0].item()), repr(out[1, 1].item())}
        )
        assert out[0, 1].item() == out[1, 1].item() != 5
