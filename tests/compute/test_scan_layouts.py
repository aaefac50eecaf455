"""Running sums and products: one element after the other, in every layout and instruction set."""

from __future__ import annotations

import itertools
import operator
from typing import Any

from helpers.cases import run_each
from test_reduction_order import isa, multiply, rounding, samples

import refarray

xp: Any = refarray
__all__ = ["isa"]


def running(values: list[Any], dtype: str, product: bool) -> list[Any]:
    rounded = rounding(dtype)
    if product:
        return list(itertools.accumulate(values, lambda x, y: multiply(x, y, rounded)))
    return list(itertools.accumulate(values, lambda x, y: rounded(x + y)))


@run_each("product", [False, True])
@run_each("dtype", ["float32", "float64", "complex64", "complex128"])
def test_one_element_after_the_other(isa: str, dtype: str, product: bool) -> None:
    function = xp.cumulative_prod if product else xp.cumulative_sum
    for count in (1, 2, 17, 300, 20_000):
        values = samples(dtype, count)
        x = xp.asarray(values, dtype=dtype)
        right = running(values, dtype, product)
        assert function(x).tolist() == right, (isa, count)
        start = 1 if product else 0
        assert function(x, include_initial=True).tolist() == [start, *right], (isa, count)


def test_integers_wrap_around() -> None:
    values = [2**62, 2**62, 2**62, -(2**63), 7]
    sums = list(itertools.accumulate(values, operator.add))
    wrapped = [(v + 2**63) % 2**64 - 2**63 for v in sums]
    assert xp.cumulative_sum(xp.asarray(values, dtype="int64")).tolist() == wrapped
    small = xp.asarray([100, 100, 100], dtype="int8")
    assert xp.cumulative_sum(small).tolist() == [100, 200, 300]
    assert xp.cumulative_sum(small, dtype=xp.int8).tolist() == [100, -56, 44]
    assert xp.cumulative_prod(small, dtype=xp.uint8).tolist() == [100, 16, 64]
    assert xp.diff(xp.asarray([0, 1], dtype="uint8")[::-1]).tolist() == [255]


def test_long_sequences_keep_their_carry() -> None:
    x = xp.ones(700_001, dtype="float32")
    sums = xp.cumulative_sum(x)
    assert sums[-1].item() == 700_001 and sums[262_144].item() == 262_145
    assert xp.cumulative_sum(xp.ones(70_001, dtype="int8"))[-1].item() == 70_001
    assert xp.cumulative_sum(xp.ones((50_000, 3)), axis=0).tolist()[-1] == [50_000.0] * 3


def test_empty_axes() -> None:
    assert xp.cumulative_sum(xp.zeros((2, 0)), axis=1).shape == (2, 0)
    assert xp.cumulative_sum(xp.zeros((2, 0)), axis=1, include_initial=True).tolist() == [[0.0]] * 2
    assert xp.cumulative_prod(xp.zeros((0, 2)), axis=0, include_initial=True).tolist() == [
        [1.0] * 2
    ]
    assert xp.diff(xp.zeros((2, 0)), axis=1).shape == (2, 0)
    assert xp.diff(xp.zeros((2, 3)), n=5).shape == (2, 0)
    assert xp.diff(xp.asarray([1, 4, 9]), n=0).tolist() == [1, 4, 9]
    joined = xp.diff(xp.asarray([1, 4]), prepend=xp.asarray([0]), append=xp.asarray([9, 10]))
    assert joined.tolist() == [1, 3, 5, 1]
