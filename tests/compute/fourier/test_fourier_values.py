"""Transforms of single sequences against direct sums: lengths with every kind of factor."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import run_each
from oracles import direct_sums as sums
from oracles.checks import assert_dtype
from oracles.nested import Nested

import refarray

xp: Any = refarray
PRIMES = (61, 67, 97, 101, 127, 257, 509)
PRODUCTS = (128, 132, 134, 169, 189, 201, 243, 254, 289, 361, 385, 512, 529, 625, 720, 1000)
#: Two large primes; a power of two; 3 * 5 * 7 * 11.
LONG = (61 * 17, 1024, 1155)
SIZES = {"1 to 40": range(1, 41), "41 to 80": range(41, 81), "primes": PRIMES}
SIZES |= {"products": PRODUCTS, "long": LONG}


def check(name: str, dtype: str, n: int, norm: str = "backward", seed: int = 0) -> None:
    values, wanted = sums.case(name, n, seed)
    x = xp.asarray(sums.as_argument(name, values), dtype=dtype)
    keywords = {"n": n} if name in sums.TO_REAL else {}
    out = getattr(xp.fft, name)(x, norm=norm, **keywords)
    exact = sums.scaled(wanted, sums.factor(name, norm, n))
    factors = int(sums.is_scaled(name, norm) and n > 1)
    result = sums.result_dtype(name, dtype)
    sums.assert_close(out, Nested(exact, (len(exact),)), result, n, factors)


@run_each("sizes", SIZES)
@run_each("wide", [False, True], ids=["single", "double"])
@pytest.mark.parametrize("name", sums.ONE_AXIS)
def test_values(name: str, wide: bool, sizes: str) -> None:
    """Without a factor: the error is that of the sums alone."""
    norm = "backward" if name in sums.FORWARD else "forward"
    for n in SIZES[sizes]:
        check(name, sums.dtypes(name)[wide], n, norm)


@run_each("name", sums.ONE_AXIS)
def test_numbers_of_double_precision(name: str) -> None:
    """All bits of the argument count."""
    for n in (2, 3, 4, 7, 15, 16, 22, 35, 61, 64, 67, 90):
        values = sums.fine_sample(n, 2)
        if name in sums.FROM_REAL:
            values = [complex(each.real) for each in values]
        line = [sums.fixed(each) for each in values]
        wanted = sums.line_transformed(name, line, n, "backward")
        x = xp.asarray(sums.as_argument(name, values), dtype=sums.dtypes(name)[1])
        out = getattr(xp.fft, name)(x, n=n)
        exact = Nested(wanted, (len(wanted),))
        sums.assert_close(out, exact, sums.result_dtype(name, str(x.dtype)), n, 1)


@run_each("name", sums.ONE_AXIS)
def test_single_precision_is_single(name: str) -> None:
    """The result of 32-bit numbers is not that of 64-bit ones, rounded: it has their dtype."""
    narrow, wide = sums.dtypes(name)
    values = sums.as_argument(name, sums.sample(30, 3))
    for dtype in (narrow, wide):
        assert_dtype(
            getattr(xp.fft, name)(xp.asarray(values, dtype=dtype)), sums.result_dtype(name, dtype)
        )


@run_each("scale", [2.0**-140, 2.0**-60, 2.0**60, 2.0**110])
@pytest.mark.parametrize("name", sums.ONE_AXIS)
def test_powers_of_two_scale_the_result(name: str, scale: float) -> None:
    """The algorithm adds and multiplies only: a power of two changes no bit of the fraction."""
    dtype = sums.dtypes(name)[1]
    for n in (5, 16, 45, 67):
        x = xp.asarray(sums.as_argument(name, sums.sample(n, 4)), dtype=dtype)
        function = getattr(xp.fft, name)
        scaled = xp.asarray(sums.as_argument(name, [v * scale for v in sums.sample(n, 4)]))
        wanted = function(x) * scale
        assert xp.all(function(xp.astype(scaled, dtype)) == wanted), n


@run_each("name", sums.ONE_AXIS)
def test_large_and_small_numbers_of_single_precision(name: str) -> None:
    """Results near the limits of float32 neither overflow nor vanish on the way."""
    dtype = sums.dtypes(name)[0]
    function = getattr(xp.fft, name)
    for n in (4, 12, 67, 100):
        values = sums.as_argument(name, sums.sample(n, 5))
        plain = function(xp.asarray(values, dtype=dtype))
        for power in (100, -80):
            x = xp.asarray([v * 2.0**power for v in values], dtype=dtype)
            assert xp.all(function(x) == plain * 2.0**power), (n, power)
