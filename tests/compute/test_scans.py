"""cumulative_sum, cumulative_prod and diff, against loops over Python numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from oracles.checks import assert_dtype
from oracles.formats import COMPLEX, INTEGERS, NUMERIC, REAL_FLOATS, wrapped

import refarray

xp: Any = refarray
SCANS = ("cumulative_sum", "cumulative_prod")


def filling(dtype: str, count: int) -> list[Any]:
    low = 0 if dtype.startswith("u") else -2
    numbers: list[Any] = [low + (i * 5 + i // 4) % 5 for i in range(count)]
    if dtype in COMPLEX:
        return [complex(n, (n * 3) % 4 - 1) for n in numbers]
    return [n / 2 for n in numbers] if dtype in REAL_FLOATS else numbers


def running(name: str, dtype: str, initial: bool) -> Callable[[list[Any]], list[Any]]:
    def work(line: list[Any]) -> list[Any]:
        start: Any = 0 if name == "cumulative_sum" else 1
        total, out = start, [start] if initial else []
        for value in line:
            total = total + value if name == "cumulative_sum" else total * value
            if dtype in INTEGERS:
                total = wrapped(total, dtype)
            out.append(total)
        return out

    return work


@pytest.mark.parametrize("name", SCANS)
def test_scans_with_a_dtype_convert_first(name: str) -> None:
    x = xp.asarray([100, 100, 100], dtype="int8")
    for target in ("int8", "int16", "uint64", "float32", "complex128"):
        out = getattr(xp, name)(x, dtype=getattr(xp, target))
        assert_dtype(out, target)
        wanted = running(name, target, False)([100, 100, 100])
        assert out.tolist() == wanted


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_scans_of_special_numbers(dtype: str) -> None:
    values = [1.0, math.inf, 2.0, -math.inf, 3.0]
    sums = xp.cumulative_sum(xp.asarray(values, dtype=dtype)).tolist()
    assert sums[:3] == [1.0, math.inf, math.inf] and all(map(math.isnan, sums[3:]))
    values = [1.0, math.nan, 2.0]
    for name in SCANS:
        out = getattr(xp, name)(xp.asarray(values, dtype=dtype)).tolist()
        assert out[0] == 1.0 and all(map(math.isnan, out[1:]))


def test_long_scans_are_accurate() -> None:
    for dtype, eps in (("float32", 2.0**-23), ("float64", 2.0**-52)):
        values = [float((i * 7919) % 1000 - 300) / 1024 for i in range(3000)]
        x = xp.asarray(values, dtype=dtype)
        total, size = Fraction(), Fraction()
        for value, got in zip(values, xp.cumulative_sum(x).tolist(), strict=True):
            total, size = total + Fraction(value), size + abs(Fraction(value))
            assert abs(Fraction(got) - total) <= size * Fraction(eps) * 3000


def test_diff_prepends_and_appends() -> None:
    for dtype in NUMERIC:
        x = xp.asarray(filling(dtype, 12), dtype=dtype).reshape((3, 4))
        before = xp.asarray(filling(dtype, 9)[3:], dtype=dtype).reshape((3, 2))
        after = xp.asarray(filling(dtype, 6)[3:], dtype=dtype).reshape((3, 1))
        whole = xp.concat([before, x, after], axis=1)
        assert xp.diff(x, prepend=before, append=after).tolist() == xp.diff(whole).tolist()
        assert xp.diff(x, prepend=before, n=2).tolist() == (
            xp.diff(xp.concat([before, x], axis=1), n=2).tolist()
        )
        down = xp.diff(x, axis=0, append=x[:1])
        assert down.shape == (3, 4)
    with pytest.raises(ValueError, match=r"\(2, 1\)"):
        xp.diff(x, prepend=xp.zeros((2, 1), dtype=x.dtype))
    with pytest.raises(ValueError, match="-1"):
        xp.diff(x, n=-1)
    for bad in (2, -3):
        with pytest.raises(IndexError, match=str(bad)):
            xp.diff(x, axis=bad)


def test_scans_refuse_other_dtypes_and_axes() -> None:
    for name in SCANS:
        with pytest.raises(TypeError, match="bool"):
            getattr(xp, name)(xp.asarray([True, False]))
        for bad in (1, -2):
            with pytest.raises(IndexError, match=str(bad)):
                getattr(xp, name)(xp.ones(3), axis=bad)
        for wrong in (0.0, "0", (0,)):
            with pytest.raises(TypeError):
                getattr(xp, name)(xp.ones(3), axis=wrong)
    with pytest.raises(TypeError, match="bool"):
        xp.diff(xp.asarray([True, False]))
