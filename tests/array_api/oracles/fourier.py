"""Exact discrete Fourier transforms: sums of products of integers."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import mpmath

#: Bits after the binary point of the roots of unity.
BITS = 128
#: Samples are multiples of 2**-SAMPLE_BITS, so that every dtype holds them.
SAMPLE_BITS = 20
EPSILON = {"complex64": 2.0**-23, "complex128": 2.0**-52, "float32": 2.0**-23, "float64": 2.0**-52}


class Exact(NamedTuple):
    """A complex number in units of 2**-(BITS + SAMPLE_BITS)."""

    real: int
    imag: int


@cache
def roots(n: int) -> list[Exact]:
    """exp(-2 pi i k / n), in units of 2**-BITS."""
    with mpmath.workprec(BITS + 32):
        angles = [-2 * mpmath.mpf(k) / n for k in range(n)]
        scale = mpmath.mpf(2) ** BITS
        return [
            Exact(
                int(mpmath.nint(mpmath.cospi(a) * scale)), int(mpmath.nint(mpmath.sinpi(a) * scale))
            )
            for a in angles
        ]


def dft(x: Sequence[complex], n: int, sign: int = -1) -> list[Exact]:
    """The transform of x, cut or extended by zeros to n. `sign` is that of the exponent."""
    scale = 2**SAMPLE_BITS
    numbers = [(int(v.real * scale), int(v.imag * scale)) for v in map(complex, x[:n])]
    table = roots(n)
    out = []
    for j in range(n):
        real = imag = 0
        for k, (a, b) in enumerate(numbers):
            c, s = table[j * k % n]
            s = -s if sign > 0 else s
            real += a * c - b * s
            imag += a * s + b * c
        out.append(Exact(real, imag))
    return out


def hermitian(x: Sequence[complex], n: int) -> list[complex]:
    """The sequence of n numbers of which x is the first half."""
    half = [complex(v) for v in x[: n // 2 + 1]]
    half += [0j] * (n // 2 + 1 - len(half))
    half[0] = complex(half[0].real)
    if n % 2 == 0:
        half[n // 2] = complex(half[n // 2].real)
    return half + [half[n - k].conjugate() for k in range(n // 2 + 1, n)]


def scaled(x: Iterable[Exact], factor: float) -> list[complex]:
    """As numbers of double precision. Enough for bounds of single precision."""
    unit = math.ldexp(factor, -(BITS + SAMPLE_BITS))
    return [complex(v.real * unit, v.imag * unit) for v in x]


def relative_error(got: Sequence[complex], exact: Sequence[Exact], factor: Any = 1) -> float:
    """|got - factor * exact| / |factor * exact| in the L2 norm. `factor` is a number of mpmath."""
    with mpmath.workprec(BITS):
        unit = mpmath.mpf(factor) / mpmath.mpf(2) ** (BITS + SAMPLE_BITS)
        error = size = mpmath.mpf(0)
        for value, (real, imag) in zip(got, exact, strict=True):
            a, b = real * unit, imag * unit
            number = complex(value)
            error += (number.real - a) ** 2 + (number.imag - b) ** 2
            size += a * a + b * b
        return float(mpmath.sqrt(error / size)) if size else float(error)


def bound(n: int, dtype: str) -> float:
    """The relative error that a transform of n elements may have."""
    return 0.6 * EPSILON[dtype] * max(1.0, math.log2(n))


def samples(count: int, seed: int, is_complex: bool = True) -> list[complex]:
    """Random numbers of both signs that every dtype holds."""
    source = random.Random(f"{count} {seed}")
    parts = (source.randint(-(2**SAMPLE_BITS), 2**SAMPLE_BITS) for _ in itertools.count())
    unit = 2.0**-SAMPLE_BITS
    return [complex(next(parts) * unit, next(parts) * unit * is_complex) for _ in range(count)]
