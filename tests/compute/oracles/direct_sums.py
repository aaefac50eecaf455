"""Discrete Fourier transforms as direct sums of integers that count units of 2**-160."""

from __future__ import annotations

import functools
import math
import operator
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import mpmath

from oracles.checks import assert_dtype, flat
from oracles.formats import COMPONENT
from oracles.nested import Nested, scanned

BITS = 160
ONE = 1 << BITS
WIDTH = 4 * BITS
HALF = 1 << (WIDTH - 1)
#: A complex number: its parts in units of 2**-BITS.
Pair = tuple[int, int]
ZERO: Pair = (0, 0)
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}
#: The result's dtype, by the dtype of the argument of fft(), rfft() or irfft().
TO_COMPLEX = {"float32": "complex64", "float64": "complex128"}
FORWARD = ("fft", "rfft", "hfft", "fftn", "rfftn")
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL_AXES = ("fftn", "ifftn", "rfftn", "irfftn")
TRANSFORMS = (*ONE_AXIS, *SEVERAL_AXES)
SHIFTS = ("fftshift", "ifftshift")
FREQUENCIES = ("fftfreq", "rfftfreq")
NAMES = (*TRANSFORMS, *SHIFTS, *FREQUENCIES)
#: Functions of real arrays, and functions with real results.
FROM_REAL = ("rfft", "ihfft", "rfftn")
TO_REAL = ("irfft", "hfft", "irfftn")
NORMS = ("backward", "ortho", "forward")


def dtypes(name: str) -> tuple[str, str]:
    """The dtypes that the function takes."""
    return ("float32", "float64") if name in FROM_REAL else ("complex64", "complex128")


def result_dtype(name: str, dtype: str) -> str:
    if name in FROM_REAL:
        return TO_COMPLEX[dtype]
    return COMPONENT[dtype] if name in TO_REAL else dtype


def default_extent(name: str, extent: int) -> int:
    """What n is if it is None."""
    return 2 * (extent - 1) if name in TO_REAL else extent


def fixed(value: complex) -> Pair:
    """A finite number in units of 2**-BITS."""
    number = complex(value)
    return round(Fraction(number.real) * ONE), round(Fraction(number.imag) * ONE)


def pairs(x: Nested) -> Nested:
    return Nested([fixed(each) for each in x.values], x.shape)


@functools.cache
def roots(n: int) -> list[Pair]:
    """exp(2 pi i k / n) for every k."""
    with mpmath.workprec(BITS + 20):
        angles = [mpmath.mpf(2 * k) / n for k in range(n)]
        parts = [
            [int(mpmath.nint(f(a) * ONE)) for a in angles] for f in (mpmath.cospi, mpmath.sinpi)
        ]
        return list(zip(*parts, strict=True))


def resized(line: Sequence[Pair], n: int) -> list[Pair]:
    """Cut at the end, or extended by zeros."""
    return [*line[:n], *[ZERO] * (n - len(line))]


@functools.cache
def packed_roots(n: int) -> list[int]:
    """The roots, with both parts in one integer, so that one product multiplies both."""
    return [a + (b << WIDTH) for a, b in roots(n)]


def unpacked(number: int) -> Pair:
    low = (number + HALF) % (2 * HALF) - HALF
    return low, (number - low) >> WIDTH


def direct(line: Sequence[Pair], sign: int) -> list[Pair]:
    """The sums of the elements times the powers of a root, without a factor."""
    n = len(line)
    root = packed_roots(n)
    every = functools.reduce(operator.or_, (a | b for a, b in line), 0)
    zeros = (every & -every).bit_length() - 1 if every else 0  # small factors are fast
    reals, imags = ([part >> zeros for part in parts] for parts in zip(*line, strict=True))
    out = []
    for j in range(n):
        row = [root[k % n] for k in range(0, j * n, j)] if j else root[:1] * n
        real, cross = unpacked(sum(map(operator.mul, reals, row)))
        turned, imag = unpacked(sum(map(operator.mul, imags, row)))
        pair = (real - imag, cross + turned)
        out.append((pair[0] << zeros >> BITS, pair[1] << zeros >> BITS))
    return out if sign > 0 else [out[-j % n] for j in range(n)]


def whole(half: Sequence[Pair], n: int) -> list[Pair]:
    """The Hermitian sequence of n elements, of which the first n // 2 + 1 are given."""
    given = resized(half, n // 2 + 1)
    out = []
    for k in range(n):
        if k in (0, n - k):
            out.append((given[k][0], 0))
        elif k < n - k:
            out.append(given[k])
        else:
            out.append((given[n - k][0], -given[n - k][1]))
    return out


def factor(name: str, norm: str, n: int) -> int:
    """What the sums are multiplied by, in units of 2**-BITS."""
    if norm == "ortho":
        return ONE * ONE // math.isqrt(n * ONE * ONE)
    return ONE // n if (norm == "backward") != (name in FORWARD) else ONE


def line_transformed(name: str, line: Sequence[Pair], n: int, norm: str) -> list[Pair]:
    """What a function of one axis returns for one sequence."""
    given = whole(line, n) if name in TO_REAL else resized(line, n)
    out = direct(given, -1 if name in FORWARD else 1)
    if name in FROM_REAL:
        out = out[: n // 2 + 1]
    return scaled(out, factor(name, norm, n))


def transformed(name: str, x: Nested, n: int, axis: int, norm: str = "backward") -> Nested:
    """What a function of one axis returns, of pairs."""
    length = n // 2 + 1 if name in FROM_REAL else n
    return scanned(x, axis, lambda line: line_transformed(name, line, n, norm), length)


def several(
    name: str, x: Nested, s: Sequence[int], axes: Sequence[int], norm: str = "backward"
) -> Nested:
    """What a function of several axes returns; s has a number for each of them, 1 or more."""
    steps = list(zip(s, axes, strict=True))
    kind = "fft" if name in FORWARD else "ifft"
    if name in FROM_REAL:
        n, axis = steps.pop()
        x = transformed("rfft", x, n, axis, norm)
    last = [steps.pop()] if name in TO_REAL else []
    for n, axis in steps:
        x = transformed(kind, x, n, axis, norm)
    for n, axis in last:
        x = transformed("irfft", x, n, axis, norm)
    return x


def relative_error(got: Iterable[complex], wanted: Iterable[Pair]) -> float:
    """The L2 norm of the difference by that of the exact numbers; 0 if both are zero."""
    distance = size = 0
    for value, (a, b) in zip(got, wanted, strict=True):
        real, imag = fixed(value)
        distance += (real - a) ** 2 + (imag - b) ** 2
        size += a * a + b * b
    tiny = 2 ** (2 * BITS - 260)  # errors of the direct sums
    if size <= tiny:
        return 0.0 if distance <= tiny else math.inf
    return math.sqrt(Fraction(distance, size))


def bound(dtype: str, n: int, factors: int = 0) -> float:
    """The largest relative error of a transform of n elements. A factor is rounded, and so is the
    product with it."""
    return EPSILON[COMPONENT.get(dtype, dtype)] * (0.6 * max(1.0, math.log2(n)) + factors)


def assert_close(out: Any, wanted: Nested, dtype: str, n: int, factors: int = 0) -> None:
    """The error of the whole array is within the bound of n elements."""
    assert_dtype(out, dtype)
    assert out.shape == wanted.shape
    off = relative_error(flat(out), wanted.values) if wanted.values else 0.0
    limit = bound(dtype, n, factors)
    assert off <= limit, f"relative error {off:.3g}, more than {limit:.3g} ({dtype}, n = {n})"


def is_scaled(name: str, norm: str) -> bool:
    """Whether the sums are multiplied by a factor other than 1."""
    return factor(name, norm, 2) != ONE


# --- Samples of single sequences, whose transforms follow from one sum.


def sample(n: int, seed: int) -> list[complex]:
    """Multiples of 2**-20 in [-1, 1]: every dtype holds them and half of the sums of two."""
    rng = random.Random(f"{n} {seed}")
    return [complex(*(rng.randint(-(2**20), 2**20) / 2**20 for _ in range(2))) for _ in range(n)]


def fine_sample(n: int, seed: int) -> list[complex]:
    """Numbers with as many bits as float64 has."""
    rng = random.Random(f"fine {n} {seed}")
    return [complex(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(n)]


@functools.cache
def known(n: int, seed: int) -> tuple[list[complex], list[Pair]]:
    """A sample, and its sums with the forward sign."""
    values = sample(n, seed)
    return values, direct([fixed(each) for each in values], -1)


def case(name: str, n: int, seed: int = 0) -> tuple[list[complex], list[Pair]]:
    """n elements, or n // 2 + 1 of a Hermitian sequence, and the sums without a factor."""
    values, sums = known(n, seed)
    if name not in FORWARD:  # the other sign
        sums = [sums[-j % n] for j in range(n)]
    if name in TO_REAL:
        values = [(values[k] + values[-k % n].conjugate()) / 2 for k in range(n // 2 + 1)]
        return values, [(a, 0) for a, _ in sums]
    if name in FROM_REAL:
        mirrored = [sums[-j % n] for j in range(n // 2 + 1)]
        pairs_ = zip(sums, mirrored, strict=False)
        return [complex(each.real) for each in values], [
            ((a + c) >> 1, (b - d) >> 1) for (a, b), (c, d) in pairs_
        ]
    return values, sums


def scaled(line: Iterable[Pair], by: int) -> list[Pair]:
    return [(a * by >> BITS, b * by >> BITS) for a, b in line]


def as_argument(name: str, values: Sequence[complex]) -> list[Any]:
    """The values as Python numbers of the kind that the function takes."""
    return [each.real for each in values] if name in FROM_REAL else list(values)
