"""Transforms of single sequences against direct sums, of lengths with every kind of factor, and
those whose results are known: impulses, exponentials, constants, ramps, small integers. NaN,
infinities and signed zeros in transforms, and imaginary parts that are ignored."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import direct_sums as sums
from oracles.checks import assert_dtype, assert_elements, flat
from oracles.formats import COMPLEX
from oracles.nested import Nested

import refarray

xp: Any = refarray
PRIMES = (61, 67, 97, 101, 127, 257, 509)
PRODUCTS = (94, 98, 99, 105, 121, 128, 132, 134, 169, 189, 201, 210, 243, 254, 256, 289, 361)
PRODUCTS += (385, 512, 529, 625, 720, 1000)
#: Two large primes; a power of two; 3 * 5 * 7 * 11.
LONG = (61 * 17, 1024, 1155)
SIZES = {"1 to 40": range(1, 41), "41 to 80": range(41, 81), "primes": PRIMES}
SIZES |= {"products": PRODUCTS, "long": LONG}


def check(name: str, dtype: str, n: int) -> None:
    """Without a factor: the error is that of the sums alone."""
    norm = "backward" if name in sums.FORWARD else "forward"
    values, wanted = sums.case(name, n)
    x = xp.asarray(sums.as_argument(name, values), dtype=dtype)
    keywords = {"n": n} if name in sums.TO_REAL else {}
    out = getattr(xp.fft, name)(x, norm=norm, **keywords)
    sums.assert_close(out, Nested(wanted, (len(wanted),)), sums.result_dtype(name, dtype), n)


@run_each("sizes", SIZES)
@run_each("wide", [False, True], ids=["single", "double"])
@pytest.mark.parametrize("name", sums.ONE_AXIS)
def test_values(name: str, wide: bool, sizes: str) -> None:
    for n in SIZES[sizes]:
        check(name, sums.dtypes(name)[wide], n)


@run_each("wide", [False, True], ids=["single", "double"])
@run_each("name", sums.ONE_AXIS)
def test_sequences_are_cut_or_extended_by_zeros(name: str, wide: bool) -> None:
    dtype = sums.dtypes(name)[wide]
    for extent, n in itertools.product((0, 1, 2, 7, 12), (1, 2, 3, 8, 13, 34)):
        x = Nested(sums.as_argument(name, sums.sample(5 * extent, 6)), (5, extent))
        array = xp.reshape(xp.asarray(x.values, dtype=dtype), x.shape)
        wanted = sums.transformed(name, sums.pairs(x), n, 1)
        for out in (
            getattr(xp.fft, name)(array, n=n),
            getattr(xp.fft, name)(array.T, n=n, axis=0).T,
        ):
            sums.assert_close(out, wanted, sums.result_dtype(name, dtype), n, 1)


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


# --- known results


#: Powers, products, primes, and lengths beside powers of two.
LENGTHS = (
    1,
    2,
    3,
    31,
    67,
    509,
    1000,
    1024,
    2048,
    2187,
    4099,
    8191,
    9973,
    16384,
    30030,
    65536,
    65537,
)


def distance(x: Any, y: Any) -> float:
    """The L2 norm of the difference."""
    return math.sqrt(float(xp.sum(xp.abs(xp.astype(x, "complex128") - y) ** 2)))


@run_each("dtype", COMPLEX)
@run_each("n", LENGTHS)
def test_an_impulse_at_the_start_gives_a_constant(n: int, dtype: str) -> None:
    """Every sum has one term, the number itself: the result is exact, except where a convolution
    takes the place of the sums."""
    x = xp.zeros(n, dtype=dtype)
    x[0] = 2 - 1j
    for name in ("fft", "ifft"):
        norm = "backward" if name == "fft" else "forward"
        out = getattr(xp.fft, name)(x, norm=norm)
        off = float(xp.max(xp.abs(out - (2 - 1j)))) / math.sqrt(5)
        assert off <= sums.bound(dtype, max(n, 2)), off
        if n & (n - 1) == 0 or n == 30:
            assert xp.all(out == 2 - 1j), n


@run_each("dtype", COMPLEX)
@run_each("n", LENGTHS)
def test_a_constant_gives_an_impulse(n: int, dtype: str) -> None:
    x = xp.full(n, 0.5, dtype=dtype)
    for name in ("fft", "ifft"):
        norm = "backward" if name == "fft" else "forward"
        out = getattr(xp.fft, name)(x, norm=norm)
        impulse = xp.zeros(n, dtype="complex128")
        impulse[0] = n / 2
        assert str(out.dtype) == dtype
        assert distance(out, impulse) <= sums.bound(dtype, n) * n / 2
        if n & (n - 1) == 0:
            assert complex(out[0]) == n / 2 and not xp.any(out[1:])


@run_each("n", [n for n in LENGTHS if n > 1])
def test_an_exponential_gives_an_impulse(n: int) -> None:
    """exp(2 pi i p k / n) has one frequency: p in fft(), -p in ifft()."""
    for p in {1, n // 3, n - 1}:
        angles = [2 * math.pi * (p * k % n) / n for k in range(n)]
        x = xp.asarray([complex(math.cos(a), math.sin(a)) for a in angles], dtype="complex128")
        impulse = xp.zeros(n, dtype="complex128")
        impulse[p] = n
        out = xp.fft.fft(x)
        off = distance(out, impulse) / n
        assert off <= 1e-15 + sums.bound("complex128", n)
        mirrored = xp.zeros(n, dtype="complex128")
        mirrored[-p] = 1
        back = xp.fft.ifft(x)
        assert float(xp.max(xp.abs(back - mirrored))) <= 1e-15 + sums.bound("complex128", n)


@run_each("n", LENGTHS)
def test_an_impulse_gives_an_exponential(n: int) -> None:
    for p in {n - 1, n // 2}:
        x = xp.zeros(n, dtype="complex128")
        x[p] = 1
        angles = [-2 * math.pi * (p * j % n) / n for j in range(n)]
        wanted = xp.asarray([complex(math.cos(a), math.sin(a)) for a in angles])
        out = xp.fft.fft(x)
        off = distance(out, wanted) / math.sqrt(n)
        assert off <= 3e-16 + sums.bound("complex128", n)
        real = xp.fft.rfft(xp.real(x))
        off = distance(real, wanted[: n // 2 + 1]) / math.sqrt(n)
        assert off <= 3e-16 + sums.bound("complex128", n)


@run_each("n", [n for n in LENGTHS if n > 3])
def test_half_an_exponential_gives_an_impulse(n: int) -> None:
    """Of the Hermitian sequence exp(-2 pi i p k / n): at p in irfft(), at -p in hfft()."""
    for p in {0, 1, n // 3, n - 1}:
        angles = [-2 * math.pi * (p * k % n) / n for k in range(n // 2 + 1)]
        x = xp.asarray([complex(math.cos(a), math.sin(a)) for a in angles], dtype="complex128")
        limit = 1e-15 + sums.bound("complex128", n)
        for name, place, size in (("irfft", p, 1), ("hfft", -p, n)):
            impulse = xp.zeros(n, dtype="float64")
            impulse[place] = size
            out = getattr(xp.fft, name)(x, n=n)
            assert out.shape == (n,)
            assert float(xp.max(xp.abs(out - impulse))) <= limit * size, (name, p)


@run_each("n", [n for n in LENGTHS if 1 < n < 20000])
def test_a_ramp(n: int) -> None:
    """The sum of k * exp(-2 pi i j k / n) is n / (exp(-2 pi i j / n) - 1) for j > 0."""
    ramp = xp.arange(n, dtype="float64")
    wanted = [complex(n * (n - 1) / 2)]
    below = [complex(-n / 2, n / 2 / math.tan(math.pi * j / n)) for j in range(1, n // 2 + 1)]
    wanted += [*below, *(each.conjugate() for each in below[: (n - 1) // 2][::-1])]
    limit = sums.bound("complex128", n) + 2e-16
    for out, right in (
        (xp.fft.fft(xp.astype(ramp, "complex128")), wanted),
        (xp.fft.rfft(ramp), wanted[: n // 2 + 1]),
    ):
        exact = xp.asarray(right)
        assert distance(out, exact) <= limit * distance(exact, xp.zeros_like(exact))


@pytest.mark.parametrize("name", sums.TRANSFORMS)
@run_each("n", [1, 2, 3, 8, 30, 67, 97])
def test_zeros_give_zeros(name: str, n: int) -> None:
    for dtype in sums.dtypes(name):
        keywords = {"axes": (0,), "s": (n,)} if name in sums.SEVERAL_AXES else {"n": n}
        out = getattr(xp.fft, name)(xp.zeros(n, dtype=dtype), **keywords)
        assert not xp.any(out), (name, dtype)
        assert out.shape == (n // 2 + 1 if name in sums.FROM_REAL else n,)


INTEGERS: list[tuple[list[complex], list[complex]]] = [
    ([3 - 2j], [3 - 2j]),
    ([1 + 2j, 3 - 5j], [4 - 3j, -2 + 7j]),
    ([1, 2, 3, 4], [10, -2 + 2j, -2, -2 - 2j]),
    ([1 + 1j, 2j, -3, 4 - 1j], [2 + 2j, 7 + 5j, -6, 1 - 3j]),
]


@run_each("dtype", COMPLEX)
@run_each("row", INTEGERS, ids=["1", "2", "4, real", "4"])
def test_small_integers(row: tuple[list[complex], list[complex]], dtype: str) -> None:
    """One, two and four elements are added and subtracted only."""
    x, y = (xp.asarray(each, dtype=dtype) for each in row)
    assert xp.all(xp.fft.fft(x) == y)
    assert xp.all(xp.fft.ifft(y) == x)
    assert xp.all(xp.fft.fft(x, norm="forward") == y / x.size)
    assert xp.all(xp.fft.ifft(y, norm="forward") == x * x.size)
    assert xp.all(xp.fft.fftn(x) == y)
    assert xp.all(xp.fft.ifftn(y) == x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_real_integers(dtype: str) -> None:
    n_half: list[tuple[list[float], list[complex]]] = [
        ([5], [5]),
        ([5, 2], [7, 3]),
        ([1, 2, 3, 5], [11, -2 + 3j, -3]),
    ]
    for given, half in n_half:
        n = len(given)
        x = xp.asarray(given, dtype=dtype)
        y = xp.asarray(half, dtype=sums.TO_COMPLEX[dtype])
        assert xp.all(xp.fft.rfft(x) == y)
        assert xp.all(xp.fft.rfftn(x) == y)
        assert xp.all(xp.fft.irfft(y, n=n) == x)
        assert xp.all(xp.fft.irfftn(y, s=(n,), axes=(0,)) == x)
        assert xp.all(xp.fft.ihfft(x) == xp.conj(y) / n)
        assert xp.all(xp.fft.hfft(xp.conj(y) / n, n=n) == x)


@pytest.mark.parametrize("name", ["fft", "ifft"])
def test_a_hypercube_of_signs(name: str) -> None:
    """Axes of two elements: sums and differences along each of them, exactly."""
    x = xp.reshape(xp.arange(64, dtype="float64"), (2,) * 6)
    out = getattr(xp.fft, f"{name}n")(xp.astype(x, "complex128"), norm="backward")
    if name == "ifft":
        out = out * 64
    wanted = [0.0] * 64
    wanted[0] = 2016.0
    for bit in range(6):
        wanted[1 << bit] = -32.0 * (1 << bit)
    assert_elements([each.real for each in flat(out)], [v + 0.0 for v in wanted])
    assert not xp.any(xp.imag(out))


# --- NaN, infinities and signed zeros


inf, nan = float("inf"), float("nan")
SHORT = (1, 2, 3, 4, 5, 8, 12, 31, 64, 67, 97)
names = pytest.mark.parametrize("name", sums.ONE_AXIS)


def argument(name: str, n: int, dtype: str) -> Any:
    values, _ = sums.case(name, n, 21)
    return xp.asarray(sums.as_argument(name, values), dtype=dtype)


@run_each("special", [nan, inf, -inf], ids=["nan", "inf", "-inf"])
@names
def test_no_element_of_the_result_is_finite(name: str, special: float) -> None:
    """Every element depends on every element of the sequence."""
    for dtype, n in itertools.product(sums.dtypes(name), SHORT):
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
