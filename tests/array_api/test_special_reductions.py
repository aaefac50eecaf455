"""Reductions of NaN, infinities, zeros and the limits of every dtype."""

from __future__ import annotations

import math
from typing import Any

import pytest
from oracles.checks import flat
from oracles.formats import ALL, INTEGERS, REAL_FLOATS
from oracles.samples import samples

import refarray

xp: Any = refarray
REAL = (*INTEGERS, *REAL_FLOATS)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "min", "max"])
def test_nan_propagates_from_every_place(name: str) -> None:
    for dtype in REAL_FLOATS:
        for count in (1, 2, 7, 16, 33, 70):
            for place in {0, 1 % count, count // 2, count - 1}:
                values = [1.0 + i % 5 for i in range(count)]
                values[place] = math.nan
                x = xp.asarray(values, dtype=dtype)
                assert math.isnan(getattr(xp, name)(x).item()), (dtype, count, place)
                rows = xp.asarray([values, [1.0] * count], dtype=dtype)
                out = getattr(xp, name)(rows, axis=1).tolist()
                assert math.isnan(out[0]) and not math.isnan(out[1])
                assert math.isnan(getattr(xp, name)(rows, axis=0).tolist()[place])


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_position_of_nan_is_that_of_the_extreme(name: str) -> None:
    """max and min of an array with NaN are NaN: the position is the first NaN's."""
    for dtype in REAL_FLOATS:
        for count in (1, 5, 40, 70):
            values = [float(i % 7) for i in range(count)]
            for place in range(0, count, 3):
                with_nan = [*values[:place], math.nan, *values[place + 1 :]]
                with_nan[-1] = math.nan
                x = xp.asarray(with_nan, dtype=dtype)
                assert getattr(xp, name)(x).item() == place, (dtype, count)


@pytest.mark.parametrize("dtype", ALL)
def test_nan_infinity_and_zeros_count_as_the_standard_says(dtype: str) -> None:
    values = samples(dtype)
    x = xp.asarray(values, dtype=dtype)
    truths = [bool(v) for v in values]
    assert xp.count_nonzero(x).item() == sum(truths)
    for i, truth in enumerate(truths):
        assert xp.all(x[i : i + 1]).item() is truth and xp.any(x[i]).item() is truth
    rows = x.reshape((-1, 4))
    assert flat(xp.any(rows, axis=1)) == [any(truths[i : i + 4]) for i in range(0, len(truths), 4)]
    assert flat(xp.all(rows, axis=1)) == [all(truths[i : i + 4]) for i in range(0, len(truths), 4)]


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_all_numbers_of_a_dtype(name: str) -> None:
    choose = min if name == "min" else max
    for dtype in REAL:
        values = [v for v in samples(dtype) if v == v]
        for count in range(1, len(values)):
            for part in (values[:count], values[-count:], values[:count][::-1]):
                got = getattr(xp, name)(xp.asarray(part, dtype=dtype)).item()
                assert got == choose(part), (dtype, part)


def test_mean_of_complex_components_is_independent() -> None:
    x = xp.asarray([complex(math.nan, 1), complex(2, 3)], dtype="complex128")
    got = xp.mean(x).item()
    assert math.isnan(got.real) and got.imag == 2.0
