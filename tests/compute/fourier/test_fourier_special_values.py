"""NaN, infinities and signed zeros in transforms, and imaginary parts that are ignored."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import direct_sums as sums

import refarray

xp: Any = refarray
inf, nan = float("inf"), float("nan")
LENGTHS = (1, 2, 3, 4, 5, 8, 12, 31, 64, 67, 97)
names = pytest.mark.parametrize("name", sums.ONE_AXIS)


def argument(name: str, n: int, dtype: str) -> Any:
    values, _ = sums.case(name, n, 21)
    return xp.asarray(sums.as_argument(name, values), dtype=dtype)


@run_each("special", [nan, inf, -inf], ids=["nan", "inf", "-inf"])
@names
def test_no_element_of_the_result_is_finite(name: str, special: float) -> None:
    """Every element depends on every element of the sequence."""
    for dtype, n in itertools.product(sums.dtypes(name), LENGTHS):
        x = argument(name, n, dtype)
        for place in {0, x.size // 2, x.size - 1}:
            y = x.copy()
            y[place] = special
            out = getattr(xp.fft, name)(y, n=n)
            assert not xp.any(xp.isfinite(out)), (dtype, n, place)


@names
def test_other_sequences_stay_finite(name: str) -> None:
    """A NaN in one of the sequences that are transformed side by side changes no other one."""
    function = getattr(xp.fft, name)
    for dtype, n in itertools.product(sums.dtypes(name), (5, 16, 67)):
        row = argument(name, n, dtype)
        x = xp.broadcast_to(row, (19, row.size)).copy()
        wanted = function(row, n=n)
        x[7, row.size // 2] = nan
        rows = function(x, n=n)
        columns = function(x.T.copy(), n=n, axis=0).T
        for out in (rows, columns):
            assert not xp.any(xp.isfinite(out[7, :]))
            for i in (*range(7), *range(8, 19)):
                assert out[i, :].tobytes() == wanted.tobytes(), i


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_not_a_number_over_several_axes(name: str) -> None:
    for dtype in sums.dtypes(name):
        x = xp.ones((3, 4, 5), dtype=dtype)
        x[1, 2, 3] = nan
        assert not xp.any(xp.isfinite(getattr(xp.fft, name)(x)))
        out = getattr(xp.fft, name)(x, axes=(1, 2))
        assert not xp.any(xp.isfinite(out[1, ...]))
        assert xp.all(xp.isfinite(out[0, ...])) and xp.all(xp.isfinite(out[2, ...]))


@run_each("part", [1.0, -3.5, inf, nan], ids=str)
@pytest.mark.parametrize("name", ["irfft", "hfft"])
def test_imaginary_parts_that_are_ignored(name: str, part: float) -> None:
    """Those of element 0 and, if n is even, of element n / 2: the same bits."""
    function = getattr(xp.fft, name)
    for dtype, n in itertools.product(("complex64", "complex128"), range(1, 70)):
        x = argument(name, n, dtype)
        wanted = function(x, n=n)
        values = x.tolist()
        for place in {0, n // 2} if n % 2 == 0 else {0}:
            values[place] = complex(values[place].real, part)
        changed = xp.asarray(values, dtype=dtype)
        assert function(changed, n=n).tobytes() == wanted.tobytes(), (dtype, n)


def test_imaginary_parts_that_irfftn_ignores() -> None:
    """Those that are left after the transforms along the other axes."""
    x = xp.reshape(xp.asarray(sums.sample(24, 22), dtype="complex128"), (4, 6))
    for n in (9, 10):
        inner = xp.fft.ifft(x, axis=0)
        inner[:, 0] = xp.astype(xp.real(inner[:, 0]), "complex128")
        if n == 10:
            inner[:, 5] = xp.astype(xp.real(inner[:, 5]), "complex128")
        wanted = xp.fft.irfft(inner, n=n)
        out = xp.fft.irfftn(x, s=(4, n), axes=(0, 1))
        assert float(xp.max(xp.abs(out - wanted))) < 1e-15
        y = x.copy()
        y[:, 0] = y[:, 0] + 0.5j  # a constant: an impulse at the first row, which is ignored
        assert float(xp.max(xp.abs(xp.fft.irfftn(y, s=(4, n), axes=(0, 1)) - out))) < 1e-15


@pytest.mark.parametrize("name", ["irfft", "hfft"])
def test_other_imaginary_parts_count(name: str) -> None:
    for n in (3, 4, 5, 8, 67):
        x = argument(name, n, "complex128")
        places = range(1, (n + 1) // 2)
        for place in places:
            y = x.copy()
            y[place] = y[place] + 1j
            out = getattr(xp.fft, name)(y, n=n)
            assert float(xp.max(xp.abs(out - getattr(xp.fft, name)(x, n=n)))) > 0.01, (n, place)


@pytest.mark.parametrize("name", ["rfft", "ihfft"])
def test_imaginary_parts_of_real_transforms_vanish(name: str) -> None:
    """Of element 0 and, if n is even, of element n / 2: exactly, without a convolution."""
    for dtype, n in itertools.product(("float32", "float64"), range(1, 80)):
        out = getattr(xp.fft, name)(argument(name, n, dtype)).tolist()
        size = sum(abs(each) ** 2 for each in out) ** 0.5
        limit = 0.0 if n % 2 == 0 or n < 32 else sums.bound(dtype, n) * size
        assert abs(out[0].imag) <= limit, (dtype, n)
        if n % 2 == 0:
            assert out[n // 2].imag == 0.0, (dtype, n)


@names
def test_overflow_gives_no_finite_number(name: str) -> None:
    """The first element is the sum."""
    for dtype in sums.dtypes(name):
        largest = float(xp.finfo(dtype).max)
        x = xp.full(4, largest, dtype=dtype)
        norm = "backward" if name in sums.FORWARD else "forward"
        first = getattr(xp.fft, name)(x, n=4, norm=norm)[0]
        assert not xp.isfinite(first)


@names
def test_subnormal_numbers(name: str) -> None:
    """They are neither taken for zero nor made zero."""
    for dtype in sums.dtypes(name):
        smallest = float(xp.finfo(dtype).smallest_normal) / 8
        norm = "backward" if name in sums.FORWARD else "forward"
        x = xp.full(4, smallest, dtype=dtype)
        first = complex(getattr(xp.fft, name)(x, n=4, norm=norm)[0])
        assert first.real == 4 * smallest
