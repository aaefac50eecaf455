"""Elementwise functions of random numbers, of long arrays and of 16-bit numbers, which are rounded
once: exactly, also where float32 would mislead."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import arithmetic, real_functions
from oracles.checks import NARROW, assert_elements, assert_within, error, flat
from oracles.formats import FORMATS, INTEGERS, REAL_FLOATS, limits, rounded
from oracles.functions import BINARY, INEXACT
from oracles.samples import pairs, samples
from oracles.switches import threads as copy_threads

import refarray

xp: Any = refarray
COUNT = 120


def random_floats(dtype: str, count: int, seed: str) -> list[float]:
    """Numbers of every size, and as many around 1."""
    source = random.Random(seed)
    form = FORMATS[dtype]
    found = []
    for i in range(count):
        power = source.uniform(form.emin - 3, form.emax) if i % 2 else source.uniform(-4, 7)
        number = Fraction(source.uniform(1, 2)) * Fraction(2) ** round(power)
        found.append(source.choice((1, -1)) * rounded(number, dtype))
    return [v for v in found if math.isfinite(v)]


def random_integers(dtype: str, count: int, seed: str) -> list[int]:
    source = random.Random(seed)
    low, high = limits(dtype)
    bits = [source.randrange(1, 65) for _ in range(count)]
    return [max(low, min(high, source.choice((1, -1)) * source.getrandbits(each))) for each in bits]


@run_each("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", INEXACT)
def test_functions_of_random_numbers(name: str, dtype: str) -> None:
    values = random_floats(dtype, COUNT, name)
    if name in ("acos", "asin", "atanh"):
        values = [v if abs(v) <= 1 else rounded(1 / Fraction(v), dtype) for v in values]
    if name in ("log", "log2", "log10", "sqrt", "acosh"):
        values = [abs(v) for v in values]
    exact = [real_functions.real_unary(name, v) for v in values]
    assert_within(
        getattr(xp, name)(xp.asarray(values, dtype=dtype)).tolist(), exact, dtype, name, values
    )


@run_each("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_functions_of_random_pairs(name: str, dtype: str) -> None:
    a, b = (random_floats(dtype, 2 * COUNT, f"{name}{side}") for side in "ab")
    count = min(len(a), len(b))
    a, b = a[:count], b[:count]
    if name == "pow":
        a = [abs(v) if i % 3 else v for i, v in enumerate(a)]
        b = [math.fmod(v, 64) if i % 2 else v for i, v in enumerate(b)]
        b = [float(round(v)) if i % 3 == 0 and abs(v) < 2**24 else v for i, v in enumerate(b)]
        b = [rounded(Fraction(v), dtype) for v in b]
    exact = [real_functions.REAL_BINARY[name](x, y) for x, y in zip(a, b, strict=True)]
    out = getattr(xp, name)(xp.asarray(a, dtype=dtype), xp.asarray(b, dtype=dtype))
    assert_within(out.tolist(), exact, dtype, name, a, b)


@run_each("dtype", REAL_FLOATS)
@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "nextafter"]
)
def test_arithmetic_of_random_pairs(name: str, dtype: str) -> None:
    a, b = (random_floats(dtype, 600, f"{name}{side}") for side in "ab")
    count = min(len(a), len(b))
    a, b = a[:count], b[:count]
    for i in range(0, count - 1, 5):  # close pairs: the quotient is near an integer
        b[i] = rounded(Fraction(a[i]) / (1 + i % 40), dtype)
    a, b = ([v for v, w in zip(each, b, strict=True) if w] for each in (a, b))
    work = arithmetic.FLOAT_BINARY[name]
    wanted = [work(x, y, dtype) for x, y in zip(a, b, strict=True)]
    out = getattr(xp, name)(xp.asarray(a, dtype=dtype), xp.asarray(b, dtype=dtype))
    assert_elements(out.tolist(), wanted, a, b)


@run_each("dtype", INTEGERS)
@pytest.mark.parametrize("name", arithmetic.INTEGER_BINARY)
def test_arithmetic_of_random_integers(name: str, dtype: str) -> None:
    a, b = (random_integers(dtype, 800, f"{name}{side}") for side in "ab")
    if name == "pow" or "shift" in name:
        b = [v % 70 if i % 4 else v for i, v in enumerate(b)]
        high = limits(dtype)[1]
        b = [min(v, high) for v in b]
        b = [v if abs(v) < 10**6 else v % 1000 % high for v in b]
    work = arithmetic.INTEGER_BINARY[name]
    wanted = [work(x, y, dtype) for x, y in zip(a, b, strict=True)]
    left, right = xp.asarray(a, dtype=dtype), xp.asarray(b, dtype=dtype)
    assert_elements(getattr(xp, name)(left, right).tolist(), wanted, a, b)
    point = [work(x, b[3], dtype) for x in a]
    assert_elements(getattr(xp, name)(left, b[3]).tolist(), point, a)
    assert_elements(getattr(xp, name)(left, right[3]).tolist(), point, a)
    mirrored = [work(a[3], y, dtype) for y in b]
    assert_elements(getattr(xp, name)(a[3], right).tolist(), mirrored, b)


@run_each("threads", [1, 3])
@run_each("dtype", ["bool", "int8", "int64", "float32", "float64", "complex64"])
def test_long_arrays_are_like_short_ones(dtype: str, threads: int) -> None:
    """Above 64 KiB the lock is released, above another limit threads share the work."""
    with copy_threads(threads):
        for name in ("add", "equal", "multiply", "bitwise_xor", "floor_divide", "maximum"):
            if dtype not in BINARY[name].dtypes:
                continue
            a, b = pairs(dtype)
            count = len(a)
            x, y = xp.asarray(a, dtype=dtype), xp.asarray(b, dtype=dtype)
            expected = getattr(xp, name)(x, y)
            times = 400_000 // count + 1
            wide = [xp.broadcast_to(v, (times, count)).copy() for v in (x, y)]
            for left, right in (wide, (wide[0], y), (x, wide[1]), (wide[0].T.copy().T, wide[1])):
                out = getattr(xp, name)(left, right)
                assert_rows(out, expected, times)
            target = wide[0]
            if str(expected.dtype) == dtype and name == "add":
                target += wide[1]
                assert_rows(target, expected, times)


def assert_rows(out: Any, expected: Any, times: int) -> None:
    """Some rows are the expected ones, and all rows are equal (NaN counts as equal)."""
    assert out.shape == (times, expected.shape[0])
    for row in (0, 1, times // 2, times - 2, times - 1):
        assert repr(out[row].tolist()) == repr(expected.tolist())
    data = out.copy().tobytes()
    width = len(data) // times
    first = data[:width]
    differing = [i for i in range(times) if data[i * width : (i + 1) * width] != first]
    for row in differing[:3]:  # only NaNs may have other bits
        assert repr(out[row].tolist()) == repr(expected.tolist())


@run_each("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", ["exp", "sin", "log", "tanh", "sqrt"])
def test_functions_of_long_arrays(name: str, dtype: str) -> None:
    values = samples(dtype)
    x = xp.asarray(values, dtype=dtype)
    expected = getattr(xp, name)(x)
    times = 70_000 // len(values)
    assert_rows(getattr(xp, name)(xp.broadcast_to(x, (times, len(values)))), expected, times)
    assert_rows(getattr(xp, name)(xp.broadcast_to(x, (times, len(values))).copy()), expected, times)


@run_each("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", arithmetic.FLOAT_UNARY)
def test_exact_functions_of_every_16_bit_number(name: str, dtype: str) -> None:
    x = from_codes(range(65536), dtype)
    values = x.tolist()
    if name in ("square", "reciprocal"):
        x, values = x[::7], values[::7]
    work = arithmetic.FLOAT_UNARY[name]
    out = getattr(xp, name)(x).tolist()
    if name != "signbit":  # whose answer for NaN is that of its sign bit, which Python hides
        assert_elements(out, [work(v, dtype) for v in values], values)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_square_roots_of_every_16_bit_number(dtype: str) -> None:
    values = from_codes(range(65536), dtype)
    for x, got in zip(values.tolist(), xp.sqrt(values).tolist(), strict=True):
        if x > 0 and math.isfinite(x):
            nearest = rounded(Fraction(math.sqrt(x)), dtype)  # 53 bits are more than twice as many
            assert got == nearest, x


def test_signbit_reads_the_bit_of_nan() -> None:
    for dtype, bits in (("float16", 16), ("bfloat16", 16), ("float32", 32), ("float64", 64)):
        width = {16: "uint16", 32: "uint32", 64: "uint64"}[bits]
        nan = xp.full((), math.nan, dtype=getattr(xp, dtype)).view(getattr(xp, width)).item()
        quiet = nan & ~(1 << (bits - 1))
        x = xp.asarray([quiet, quiet | 1 << (bits - 1)] * 9, dtype=width).view(getattr(xp, dtype))
        assert xp.signbit(x).tolist() == [False, True] * 9
        assert xp.signbit(xp.copysign(x, -1.0)).tolist() == [True] * 18
        assert xp.signbit(xp.copysign(x, 1.0)).tolist() == [False] * 18
        ones = xp.ones(18, dtype=getattr(xp, dtype))
        assert xp.copysign(ones, x).tolist() == [1.0, -1.0] * 9
        assert xp.signbit(xp.abs(x)).tolist() == [False] * 18


def test_the_bounds_are_those_of_the_manual() -> None:
    """The checks of this folder notice an error of one unit in the last place."""
    for dtype in REAL_FLOATS:
        right = Fraction(1, 3)
        near = rounded(right, dtype)
        step = 2.0 ** (-2 - FORMATS[dtype].precision + 1)
        assert error(near, right, dtype) <= 0.5
        for wrong in (near + step, near - step):
            assert error(wrong, right, dtype) > NARROW
    assert all(math.isinf(error(v, Fraction(1), "float32")) for v in (math.nan, math.inf, -0.0))
    for a, b in itertools.pairwise((0.0, -0.0, 1.0, math.nan)):
        assert error(a, b, "float32") == math.inf


# --- float16 and bfloat16


#: Codes of float16 whose result lies so near a midpoint that float32 rounds it there.
NEAR_MIDPOINTS = {
    "acos": (0x804B, 0xACAF, 0xB874),
    "acosh": (0x3CE4,),
    "asinh": (0x32BD, 0x4B1F, 0xB2BD, 0xCB1F),
    "atan": (0x2745, 0x32B5, 0x466E, 0xA745, 0xB2B5, 0xC66E),
    "cos": (0x2B7C, 0xAB7C),
    "cosh": (0x2800, 0xA800),
    "exp": (0x1F79, 0x25CF),
    "expm1": (0x11A8,),
    "log": (0x1D78,),
    "log10": (0x338F, 0x33F8, 0x57E1, 0x69D0, 0x719D),
    "log1p": (0x1E03, 0x9DFD),
    "sin": (0x32B3, 0x5CB0, 0xB2B3, 0xDCB0),
    "sinh": (0x40F2, 0xC0F2),
    "tan": (0x2894, 0x55ED, 0x774A, 0xA894, 0xD5ED, 0xF74A),
}
PAIRS_NEAR_MIDPOINTS = {
    "atan2": ((0x5290, 0x8BAE), (0x5BB5, 0x9485), (0x6831, 0xA0F2), (0x07F8, 0x6550)),
    "hypot": ((0x1B3B, 0xA64E), (0x222E, 0x33A2), (0x1B23, 0x8CD2)),
    "logaddexp": ((0x2FBA, 0x305A), (0xA0FD, 0x8736), (0x1730, 0x2DB3), (0x0541, 0x88B9)),
    "pow": ((0x4D0E, 0x0952), (0x0FA6, 0x8F4A), (0x0F11, 0x8421)),
}


def from_codes(codes: Iterable[int], dtype: str) -> Any:
    return xp.asarray(list(codes), dtype="uint16").view(getattr(xp, dtype))


def nearest(exact: real_functions.Exact, dtype: str) -> float:
    return exact if isinstance(exact, float) else rounded(exact, dtype)


def assert_rounded_once(name: str, codes: Iterable[int], dtype: str) -> None:
    x = from_codes(codes, dtype)
    values = x.tolist()
    wanted = [nearest(real_functions.real_unary(name, v), dtype) for v in values]
    assert_elements(flat(getattr(xp, name)(x)), wanted, values)


@run_each("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", INEXACT)
def test_functions_of_one_number(name: str, dtype: str) -> None:
    some = random.Random(f"{name} of {dtype}").sample(range(65536), 150)
    assert_rounded_once(name, [*NEAR_MIDPOINTS.get(name, ()), *some], dtype)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", INEXACT)
def test_functions_of_every_number(name: str, dtype: str) -> None:
    assert_rounded_once(name, range(65536), dtype)


@run_each("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", PAIRS_NEAR_MIDPOINTS)
def test_functions_of_two_numbers(name: str, dtype: str) -> None:
    source = random.Random(f"{name} of {dtype}")
    pairs = [*PAIRS_NEAR_MIDPOINTS[name]]
    pairs += [(source.getrandbits(16), source.getrandbits(16)) for _ in range(300)]
    a, b = (from_codes([pair[side] for pair in pairs], dtype) for side in (0, 1))
    work = real_functions.REAL_BINARY[name]
    operands = list(zip(a.tolist(), b.tolist(), strict=True))
    wanted = [nearest(work(x, y), dtype) for x, y in operands]
    assert_elements(getattr(xp, name)(a, b).tolist(), wanted, a.tolist(), b.tolist())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_layouts_and_numbers_beside_arrays_change_nothing(dtype: str) -> None:
    """Blocks, strides and scalars go through conversions of their own."""
    x = from_codes(range(0, 65536, 37), dtype)
    finite = xp.where(xp.isfinite(x), x, 0.5)
    largest = FORMATS[dtype].largest
    right = xp.exp(finite)
    assert xp.exp(xp.flip(finite)).tolist() == xp.flip(right).tolist()
    assert xp.exp(xp.broadcast_to(finite, (3, finite.size)))[2, :].tolist() == right.tolist()
    powers = xp.pow(xp.abs(finite), 0.5)
    assert powers.tolist() == xp.pow(xp.abs(finite), xp.full_like(finite, 0.5)).tolist()
    assert all(math.isfinite(v) and v <= largest for v in powers.tolist())
