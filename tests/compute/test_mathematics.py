"""Mathematics of float32 is correctly rounded, with and without fused multiply-adds: results are
compared with the C library's in double, and by mpmath where that lies near the middle of two
floats. `make gate G=test-long` takes all 2^32 inputs of functions of one number."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
import random
import runpy
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from native.build import build_rounding
from oracles import real_functions
from oracles.checks import same
from oracles.formats import rounded
from oracles.functions import INEXACT
from oracles.switches import ISAS, instruction_set

import refarray

xp: Any = refarray
ROOT = Path(__file__).resolve().parents[2]
UNARY = [name for name in INEXACT if name != "sqrt"]
BINARY = sorted(real_functions.REAL_BINARY)
INPUTS = 1 << 32
MOST = 4096  # doubtful results of a block


@pytest.fixture(scope="module")
def reference() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build_rounding()))
    library.find_doubtful.restype = library.find_doubtful2.restype = ctypes.c_int64
    return library


def address(x: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(x.__array_interface__["data"][0])


def exact(name: str, *operands: float) -> float:
    of = real_functions.REAL_BINARY.get(name)
    value = of(*operands) if of else real_functions.real_unary(name, *operands)
    return value if isinstance(value, float) else rounded(value, "float32")


def assert_rounded(library: ctypes.CDLL, name: str, *operands: Any) -> None:
    """Of arrays of float32 with one axis."""
    of = getattr(library, f"reference_{name}", None)
    of = of or getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    find = library.find_doubtful if len(operands) == 1 else library.find_doubtful2
    found = (ctypes.c_int64 * MOST)()
    for level in (ISAS[0], ISAS[-1]):
        with instruction_set(level):
            got = getattr(xp, name)(*operands)
        size = ctypes.c_int64(got.size)
        count = find(of, *map(address, (*operands, got)), size, found, ctypes.c_int64(MOST))
        assert count < MOST, f"{name}: more than {MOST} of {got.size} results are doubtful"
        for i in found[:count]:
            values = [float(operand[i]) for operand in operands]
            wanted = exact(name, *values)
            assert same(float(got[i]), wanted), (name, level, [v.hex() for v in values], wanted)


def blocks(size: int, every: int) -> Iterator[Any]:
    """Every so manieth block of all float32 numbers in the order of their bits."""
    for start in range(0, INPUTS, size * every):
        yield xp.arange(start, start + size, dtype="uint32").view(xp.float32)


@pytest.mark.repository
def test_the_constants_are_those_of_the_script() -> None:
    script = runpy.run_path(str(ROOT / "tools" / "math" / "coefficients.py"))
    folder = ROOT / "src" / "compute" / "math"
    made = {"levels/coefficients.hpp": script["header"], "float64_tables.cpp": script["tables"]}
    for name, text in made.items():
        assert (folder / name).read_text(encoding="utf-8") == text(), name


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_some_numbers(name: str, reference: ctypes.CDLL) -> None:
    for x in blocks(4096, 2053):
        assert_rounded(reference, name, x)


@pytest.mark.long
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_all_numbers(name: str, reference: ctypes.CDLL) -> None:
    for x in blocks(1 << 18, 1):
        assert_rounded(reference, name, x)


def of_bits(bits: list[int]) -> list[float]:
    return [struct.unpack("f", struct.pack("I", each))[0] for each in bits]


#: Bits of the inputs whose doubles lie on the wrong side of the middle of two floats, or on it.
HARD = {
    "acos": [0x328885A3, 0x39826222],
    "acosh": [0x655890D3, 0x6EB1A8EC],
    "asinh": [0x4BDD65A5, 0x655890D3, 0x6EB1A8EC],
    "atan": [0x3D8D6B23],
    "cos": [0x5F18B878, 0x6115CB11, 0x7908CD73],
    "log": [0x3C413D3A, 0x41178FEB, 0x4C5D65A5, 0x65D890D3, 0x6F31A8EC],
    "log10": [0x0EFEEE7A],
    "log1p": [
        0x35400003,
        0x3710001B,
        0x3EFD81AD,
        0x41078FEB,
        0x65D890D3,
        0x6F31A8EC,
        0xB53FFFFD,
        0xB70FFFE5,
        0xBB0EC8C4,
    ],
    "sin": [0x46199998],
    "sinh": [0x3A1285FF],
}


@pytest.mark.parametrize("name", HARD)
def test_inputs_in_the_middle_of_two_floats(name: str) -> None:
    values = of_bits([*HARD[name], *(bits ^ 1 << 31 for bits in HARD[name])])
    wanted = [exact(name, value) for value in values]
    for level in ISAS:
        with instruction_set(level):
            got = getattr(xp, name)(xp.asarray(values, dtype="float32")).tolist()
        assert all(map(same, got, wanted)), (level, got, wanted)


SPECIAL = of_bits([0, 1, 2, 0x7FFFFF, 0x800000, 0x3F7FFFFF, 0x3F800001, 0x7F7FFFFF])
SPECIAL += [1.0, 0.5, 2.0, 3.0, 1.5, 2.0**24, 2.0**25 + 4, 2.0**127, math.inf]
SPECIAL = [sign * each for each in SPECIAL for sign in (1, -1)] + [math.nan]
#: Exact powers in the middle of two floats, quotients in the middle of two subnormal ones, lengths
#: in the middle, and sums that cancel.
MIDDLE = {
    "pow": [(4789.0, 2.0), (4789.5, 2.0), (2394.5, 2.0), (-2899.0, 3.0), (2.0**24 + 2, 1.5)],
    "atan2": [(3 * 2.0**-149, 2.0), (-5 * 2.0**-149, 2.0), (3 * 2.0**-149, 2.0**127)],
    "hypot": [(2.0**24 + 2, 2.0**12), (3.0, 4.0), (2.0**-149, 2.0**-149), (3e38, 2e38)],
    "logaddexp": [(-0.6931472, -0.6931472), (-1.0, -0.4586751), (-0.1, -2.3521685)],
}


@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_special_numbers(name: str) -> None:
    pairs = [*itertools.product(SPECIAL, SPECIAL), *MIDDLE[name]]
    x, y = (xp.asarray([pair[side] for pair in pairs], dtype="float32") for side in (0, 1))
    wanted = [exact(name, *pair) for pair in zip(x.tolist(), y.tolist(), strict=True)]
    for level in ISAS:
        with instruction_set(level):
            got = getattr(xp, name)(x, y).tolist()
        wrong = [row for row in zip(pairs, got, wanted, strict=True) if not same(*row[1:])]
        assert not wrong, (name, level, wrong[:5])


def draw(source: random.Random, count: int, is_usual: bool) -> Any:
    """Numbers of every size and sign, or positive ones between 2^-8 and 2^8."""
    bits = xp.asarray(memoryview(source.randbytes(4 * count)).cast("I"))
    if is_usual:
        bits = (bits & 0x7FFFFF) + (((bits >> 23) & 15) + 119 << 23)
    return bits.view(xp.float32)


def assert_pairs_rounded(library: ctypes.CDLL, name: str, rounds: int) -> None:
    source = random.Random(name)
    for number in range(rounds):
        x, y = (draw(source, 1 << 18, number % 4 != 0) for _ in range(2))
        if number % 2:
            y = -y
        assert_rounded(library, name, x, y)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_random_pairs(name: str, reference: ctypes.CDLL) -> None:
    assert_pairs_rounded(reference, name, 4)


@pytest.mark.long
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_a_billion_pairs(name: str, reference: ctypes.CDLL) -> None:
    assert_pairs_rounded(reference, name, 4000)
