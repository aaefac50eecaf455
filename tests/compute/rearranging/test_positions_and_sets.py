"""Indices, sets and searching where sizes, dtypes or shapes of the operands agree or differ."""

from __future__ import annotations

from typing import Any

from helpers.cases import run_each
from oracles.formats import INTEGERS, SIGNED, UNSIGNED, limits

import refarray

xp: Any = refarray
INDEX = xp.int64  # the default dtype of indices


@run_each("dtype", INTEGERS)
def test_take_reaches_as_far_as_the_dtype_of_indices(dtype: str) -> None:
    size = min(70_000, limits(dtype)[1] + 1)
    x = xp.arange(size)
    low = -size if limits(dtype)[0] < 0 else 0
    wanted = [i for i in (0, 127, 128, 255, 256, 32768, size - 1, low) if -size <= i < size]
    indices = xp.asarray(wanted, dtype=dtype)
    assert xp.take(x, indices).tolist() == [i % size for i in wanted]
    assert xp.take_along_axis(x, indices).tolist() == [i % size for i in wanted]
    assert x[indices].tolist() == [i % size for i in wanted]


def test_take_along_axis_takes_the_last_axis_by_default() -> None:
    x = xp.asarray([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    order = xp.asarray([[2, 0, 1], [0, 0, -1], [1, 2, 0]])
    assert xp.take_along_axis(x, order).tolist() == [[3, 1, 2], [4, 4, 6], [8, 9, 7]]
    assert xp.take_along_axis(x, order, axis=0).tolist() == [[7, 2, 6], [1, 2, 9], [4, 8, 3]]
    assert xp.sort(x[::-1, ::-1]).tolist() == [[7, 8, 9], [4, 5, 6], [1, 2, 3]]


@run_each("left", INTEGERS)
def test_isin_compares_the_numbers_of_different_integers(left: str) -> None:
    for right in INTEGERS:
        if "uint64" in (left, right) and not {left, right} <= set(UNSIGNED):
            continue
        values = [*limits(left), 0, 1]
        # The bits of each limit of one dtype as a number of the other.
        bits = limits(right)[1] - limits(right)[0] + 1
        wrapped = [(each - limits(right)[0]) % bits + limits(right)[0] for each in values[:2]]
        others = [*limits(right), *wrapped, 1]
        x, y = xp.asarray(values, dtype=left), xp.asarray(others, dtype=right)
        assert xp.isin(x, y).tolist() == [each in others for each in values]


def test_isin_of_negative_and_unsigned_numbers() -> None:
    for signed, unsigned in zip(SIGNED[:3], UNSIGNED[:3], strict=True):
        x = xp.asarray([-1, 1], dtype=signed)
        y = xp.asarray([limits(unsigned)[1], 1], dtype=unsigned)
        assert xp.isin(x, y).tolist() == [False, True]
        assert xp.isin(y, x).tolist() == [False, True]


def test_indices_and_counts_have_the_default_dtype() -> None:
    for x in (xp.asarray([3.0, 1.0, 3.0]), xp.asarray([], dtype="int8"), xp.asarray([[True]])):
        every = xp.unique_all(x)
        assert every.indices.dtype == every.inverse_indices.dtype == every.counts.dtype == INDEX
        assert xp.unique_counts(x).counts.dtype == INDEX
        assert xp.unique_inverse(x).inverse_indices.dtype == INDEX
        assert all(each.dtype == INDEX for each in xp.nonzero(x))
        assert xp.argsort(x).dtype == xp.searchsorted(xp.sort(flat_array(x)), x).dtype == INDEX
        assert xp.count_nonzero(x).dtype == INDEX
    assert xp.argmax(xp.asarray([1, 2])).dtype == xp.argmin(xp.asarray([1.5])).dtype == INDEX


def flat_array(x: Any) -> Any:
    return xp.reshape(x, (-1,))
