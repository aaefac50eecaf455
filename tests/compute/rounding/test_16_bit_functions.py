"""Functions of float16 and bfloat16 are rounded once: exactly, also where float32 would mislead."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import real_functions
from oracles.checks import assert_elements, flat
from oracles.formats import FORMATS, rounded
from oracles.functions import UNARY

import refarray

xp: Any = refarray
FUNCTIONS = [name for name in UNARY if UNARY[name].accepts == "floating" and name != "reciprocal"]
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


def from_codes(codes: list[int], dtype: str) -> Any:
    return xp.asarray(codes, dtype="uint16").view(getattr(xp, dtype))


def nearest(exact: real_functions.Exact, dtype: str) -> float:
    return exact if isinstance(exact, float) else rounded(exact, dtype)


def assert_rounded_once(name: str, codes: list[int], dtype: str) -> None:
    x = from_codes(codes, dtype)
    values = x.tolist()
    wanted = [nearest(real_functions.real_unary(name, v), dtype) for v in values]
    assert_elements(flat(getattr(xp, name)(x)), wanted, values)


@run_each("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_number(name: str, dtype: str) -> None:
    some = random.Random(f"{name} of {dtype}").sample(range(65536), 150)
    assert_rounded_once(name, [*NEAR_MIDPOINTS.get(name, ()), *some], dtype)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_every_number(name: str, dtype: str) -> None:
    assert_rounded_once(name, list(range(65536)), dtype)


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
    x = from_codes([*range(0, 65536, 37)], dtype)
    finite = xp.where(xp.isfinite(x), x, 0.5)
    largest = FORMATS[dtype].largest
    right = xp.exp(finite)
    assert xp.exp(xp.flip(finite)).tolist() == xp.flip(right).tolist()
    assert xp.exp(xp.broadcast_to(finite, (3, finite.size)))[2, :].tolist() == right.tolist()
    powers = xp.pow(xp.abs(finite), 0.5)
    assert powers.tolist() == xp.pow(xp.abs(finite), xp.full_like(finite, 0.5)).tolist()
    assert all(math.isfinite(v) and v <= largest for v in powers.tolist())
