"""cumulative_sum, cumulative_prod and diff: one element after another, on every instruction set."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype
from oracles.formats import INTEGERS, NUMERIC, REAL_FLOATS, wrapped
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


SCANS = ("cumulative_sum", "cumulative_prod")


@pytest.mark.parametrize("name", SCANS)
def test_scans_with_a_dtype_convert_first(name: str) -> None:
    x = xp.asarray([100, 100, 100], dtype="int8")
    for target in ("int8", "int16", "uint64", "float32", "complex128"):
        out = getattr(xp, name)(x, dtype=getattr(xp, target))
        assert_dtype(out, target)
        wanted = [100, 200, 300] if name == "cumulative_sum" else [100, 10_000, 1_000_000]
        assert out.tolist() == [wrapped(v, target) if target in INTEGERS else v for v in wanted]


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_scans_of_special_numbers(dtype: str) -> None:
    values = [1.0, math.inf, 2.0, -math.inf, 3.0]
    sums = xp.cumulative_sum(xp.asarray(values, dtype=dtype)).tolist()
    assert sums[:3] == [1.0, math.inf, math.inf] and all(map(math.isnan, sums[3:]))
    values = [1.0, math.nan, 2.0]
    for name in SCANS:
        out = getattr(xp, name)(xp.asarray(values, dtype=dtype)).tolist()
        assert out[0] == 1.0 and all(map(math.isnan, out[1:]))


def test_diff_prepends_and_appends() -> None:
    for dtype in NUMERIC:
        numbers = xp.asarray([(i * 5 + i // 4) % 5 for i in range(21)], dtype=dtype)
        x, before = xp.reshape(numbers[:12], (3, 4)), xp.reshape(numbers[12:18], (3, 2))
        after = xp.reshape(numbers[18:], (3, 1))
        whole = xp.concat([before, x, after], axis=1)
        assert xp.diff(x, prepend=before, append=after).tolist() == xp.diff(whole).tolist()
        assert xp.diff(x, prepend=before, n=2).tolist() == (
            xp.diff(xp.concat([before, x], axis=1), n=2).tolist()
        )
        down = xp.diff(x, axis=0, append=x[:1])
        assert down.shape == (3, 4)
    with pytest.raises(ValueError, match=r"\(2, 1\)"):
        xp.diff(x, prepend=xp.zeros((2, 1), dtype=x.dtype))


def test_scans_refuse_bool() -> None:
    for name in SCANS:
        with pytest.raises(TypeError, match="bool"):
            getattr(xp, name)(xp.asarray([True, False]))
    with pytest.raises(TypeError, match="bool"):
        xp.diff(xp.asarray([True, False]))
