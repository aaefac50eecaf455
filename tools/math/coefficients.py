#!/usr/bin/env python3
"""Derives the constants of mathematics and prints src/compute/math/levels/coefficients.hpp, or with
the argument `tables` src/compute/math/float64_tables.cpp.

Each polynomial interpolates its function at Chebyshev nodes, in 60 digits, and is then rounded to
double. The error beside it is the largest one of the rounded polynomial, relative to the result
that is made of it.
"""

from __future__ import annotations

import struct
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import NamedTuple

import mpmath as mp

mp.mp.dps = 60
LEAST_EXPONENT = 2  # of the last bit of 2^25
Real = Callable[[mp.mpf], mp.mpf]


class Polynomial(NamedTuple):
    name: str
    text: str
    function: Real  # of z in [least, limit]
    limit: mp.mpf
    terms: int
    weight: Real  # the share of the polynomial in the result
    least: mp.mpf = mp.mpf(0)


def of_series(series: Callable[[int], mp.mpf]) -> Real:
    """The sum of a power series in z, whose closed form loses digits near 0."""
    return lambda z: mp.nsum(lambda n: series(int(n)) * z ** int(n), [0, mp.inf], method="d")


def interpolate(polynomial: Polynomial) -> list[float]:
    terms, half = polynomial.terms, (polynomial.limit - polynomial.least) / 2
    nodes = [
        polynomial.least + half * (1 + mp.cos(mp.pi * (i + 0.5) / terms)) for i in range(terms)
    ]
    matrix = mp.matrix(terms, terms)
    values = mp.matrix([polynomial.function(z) for z in nodes])
    for i, z in enumerate(nodes):
        for j in range(terms):
            matrix[i, j] = z**j
    return [float(c) for c in mp.lu_solve(matrix, values)]


def error(polynomial: Polynomial, coefficients: list[float]) -> mp.mpf:
    worst = mp.mpf(0)
    for i in range(51):
        z = polynomial.least + (polynomial.limit - polynomial.least) * i / 50
        value = mp.polyval([mp.mpf(c) for c in reversed(coefficients)], z)
        worst = max(worst, abs(value - polynomial.function(z)) * polynomial.weight(z))
    return worst


def sign(n: int) -> int:
    return -1 if n % 2 else 1


def tangent(n: int) -> mp.mpf:
    """The coefficient of x^(2n + 3)."""
    power = mp.mpf(4) ** (n + 2)
    return power * (power - 1) * abs(mp.bernoulli(2 * n + 4)) / mp.factorial(2 * n + 4)


QUARTER, HALF, STEP = mp.pi / 4, mp.pi / 2, mp.pi / 64
HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.0001")
MOST_S = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mp.mpf("1.0001")
ODD = "(f(x) / x - 1) / x^2 at z = x^2 of f = "
POLYNOMIALS = [
    Polynomial(
        "kSinh",
        ODD + "sinh, |x| <= ln(2) / 2",
        of_series(lambda n: 1 / mp.factorial(2 * n + 3)),
        HALF_LN2**2,
        5,
        lambda z: z,
    ),
    Polynomial(
        "kCosh",
        "(cosh(x) - 1) / x^2 at z = x^2, |x| <= ln(2) / 2",
        of_series(lambda n: 1 / mp.factorial(2 * n + 2)),
        HALF_LN2**2,
        5,
        lambda z: z,
    ),
    Polynomial(
        "kAtanh",
        "2 " + ODD + "atanh, |x| <= (sqrt(2) - 1) / (sqrt(2) + 1)",
        of_series(lambda n: mp.mpf(2) / (2 * n + 3)),
        MOST_S**2,
        7,
        lambda z: z / 2,
    ),
    Polynomial(
        "kSin",
        ODD + "sin, |x| <= pi / 2",
        of_series(lambda n: -sign(n) / mp.factorial(2 * n + 3)),
        HALF**2,
        8,
        lambda z: z,
    ),
    Polynomial(
        "kSinQuarter",
        ODD + "sin, |x| <= pi / 4",
        of_series(lambda n: -sign(n) / mp.factorial(2 * n + 3)),
        QUARTER**2,
        6,
        lambda z: z,
    ),
    Polynomial(
        "kCosQuarter",
        "(cos(x) - 1) / x^2 at z = x^2, |x| <= pi / 4",
        of_series(lambda n: -sign(n) / mp.factorial(2 * n + 2)),
        QUARTER**2,
        7,
        lambda z: z,
    ),
    Polynomial(
        "kAtan",
        ODD + "atan, |x| <= sqrt(2) - 1",
        of_series(lambda n: -sign(n) * mp.mpf(1) / (2 * n + 3)),
        (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.0001"),
        11,
        lambda z: z,
    ),
    Polynomial(
        "kAsin",
        ODD + "asin, |x| <= 1 / 2",
        of_series(lambda n: mp.binomial(2 * n + 2, n + 1) / (mp.mpf(4) ** (n + 1) * (2 * n + 3))),
        mp.mpf(1) / 4,
        12,
        lambda z: z,
    ),
    # of float64, beside a table
    Polynomial(
        "kExpPart",
        "(exp(x) - 1 - x) / x^2, |x| <= ln(2) / 64",
        of_series(lambda n: 1 / mp.factorial(n + 2)),
        HALF_LN2 / 32,
        6,
        lambda x: x**2,
        -HALF_LN2 / 32,
    ),
    Polynomial(
        "kSinhPart",
        ODD + "sinh, |x| <= ln(2) / 64",
        of_series(lambda n: 1 / mp.factorial(2 * n + 3)),
        (HALF_LN2 / 32) ** 2,
        3,
        lambda z: z,
    ),
    Polynomial(
        "kCoshPart",
        "(cosh(x) - 1) / x^2 at z = x^2, |x| <= ln(2) / 64",
        of_series(lambda n: 1 / mp.factorial(2 * n + 2)),
        (HALF_LN2 / 32) ** 2,
        3,
        lambda z: z,
    ),
    Polynomial(
        "kLogPart",
        "(log(1 + x) - x + x^2 / 2) / x^3, |x| <= 1 / 128",
        of_series(lambda n: sign(n) * mp.mpf(1) / (n + 3)),
        mp.mpf(1) / 128,
        6,
        lambda x: x**2,
        mp.mpf(-1) / 128,
    ),
    Polynomial(
        "kLogLong",
        "(log(1 + x) - x + x^2 / 2) / x^3, |x| <= 1 / 128",
        of_series(lambda n: sign(n) * mp.mpf(1) / (n + 3)),
        mp.mpf(1) / 128,
        7,
        lambda x: x**2,
        mp.mpf(-1) / 128,
    ),
    Polynomial(
        "kSinPart",
        ODD + "sin, |x| <= pi / 64",
        of_series(lambda n: -sign(n) / mp.factorial(2 * n + 3)),
        STEP**2,
        4,
        lambda z: z,
    ),
    Polynomial(
        "kCosPart",
        "(cos(x) - 1) / x^2 at z = x^2, |x| <= pi / 64",
        of_series(lambda n: -sign(n) / mp.factorial(2 * n + 2)),
        STEP**2,
        4,
        lambda z: z,
    ),
    Polynomial(
        "kTanPart",
        ODD + "tan, |x| <= pi / 64",
        of_series(tangent),
        STEP**2,
        5,
        lambda z: z,
    ),
    Polynomial(
        "kAsinRest",
        "(asin(x) / x - 1 - x^2 / 6) / x^4 at z = x^2, |x| <= 1 / 2",
        of_series(lambda n: mp.binomial(2 * n + 4, n + 2) / (mp.mpf(4) ** (n + 2) * (2 * n + 5))),
        mp.mpf(1) / 4,
        13,
        lambda z: z**2,
    ),
    Polynomial(
        "kAtanPart",
        ODD + "atan, |x| <= 1 / 60",
        of_series(lambda n: -sign(n) * mp.mpf(1) / (2 * n + 3)),
        mp.mpf(1) / 3600,
        4,
        lambda z: z,
    ),
    Polynomial(
        "kAsinhPart",
        ODD + "asinh, |x| <= 1 / 32",
        of_series(
            lambda n: (
                -sign(n) * mp.binomial(2 * n + 2, n + 1) / (mp.mpf(4) ** (n + 1) * (2 * n + 3))
            )
        ),
        mp.mpf(1) / 1024,
        5,
        lambda z: z,
    ),
    Polynomial(
        "kAtanhPart",
        ODD + "atanh, |x| <= 1 / 32",
        of_series(lambda n: mp.mpf(1) / (2 * n + 3)),
        mp.mpf(1) / 1024,
        5,
        lambda z: z,
    ),
]


def quadrants() -> list[str]:
    """2^e 2 / pi modulo 4, for the exponents e of the last bit of large float32 numbers."""
    rows = []
    for exponent in range(LEAST_EXPONENT, 105):
        left = mp.fmod(mp.ldexp(2 / mp.pi, exponent), 4)
        parts = []
        for bits in (26, 55):  # behind the point: 28 and 29 bits of the number
            parts.append(mp.ldexp(mp.floor(mp.ldexp(left, bits)), -bits))
            left -= parts[-1]
        rows.append(", ".join(float(part).hex() for part in (*parts, left)))
    return [
        f"/// 2^e 2 / pi modulo 4 in three parts, for e from {LEAST_EXPONENT} on.",
        f"[[maybe_unused]] constexpr int kLeastExponent = {LEAST_EXPONENT};",
        "[[maybe_unused]] constexpr double kQuadrants[][3] = {",
        *(f"    {{{row}}}," for row in rows),
        "};",
    ]


def in_two(x: mp.mpf) -> tuple[float, float]:
    high = float(x)
    return high, float(x - high)


def logarithms() -> list[tuple[float, float, float]]:
    """Of each cell of [sqrt(1/2), sqrt(2)): 1 / z in 25 bits, and its -log in two doubles.

    The first of these is a multiple of 2^-43.
    """
    rows = []
    for i in range(64):
        bits = 0x3FE6A00000000000 + (i << 46)
        ends = struct.unpack("<2d", struct.pack("<2q", bits, bits + (1 << 46)))
        inverse = mp.nint(mp.ldexp(2 / (mp.mpf(ends[0]) + ends[1]), 24)) / 2**24
        if ends[0] < 1 < ends[1]:  # log(1) is 0
            inverse = mp.mpf(1)
        value = -mp.log(inverse)
        high = mp.nint(mp.ldexp(value, 43)) / mp.mpf(2) ** 43
        rows.append((float(inverse), float(high), float(value - high)))
    return rows


def words_of(x: mp.mpf, which: range) -> list[int]:
    """Words of 32 bits behind the point; that before it is 0."""
    return [int(mp.floor(mp.ldexp(x, 32 * i))) % 2**32 for i in which]


def tables() -> str:
    inverses, high, low = zip(*logarithms(), strict=True)
    columns = {"kInverses": inverses, "kLogarithms.high": high, "kLogarithms.low": low}
    for name, function in {
        "kPowers": lambda i: mp.mpf(2) ** (mp.mpf(i) / 32),
        "kSines": lambda i: mp.sin(2 * mp.pi * i / 64),
        "kAngles": lambda i: mp.atan(mp.mpf(i) / 32),
    }.items():
        rows = [in_two(function(i)) for i in range(32)]
        columns[name + ".high"], columns[name + ".low"] = zip(*rows, strict=True)
    with mp.workdps(500):
        words = {
            "kInverseOfStep[40]": words_of(32 / mp.pi, range(-1, 39)),
            "kWordsOfLn2[8]": words_of(mp.log(2), range(8)),
        }
    pairs = [
        f"const PairTable<{len(columns[name + '.high'])}> {name} = {{{{\n"
        f"{lines_of(columns[name + '.high'])}\n}}, {{\n{lines_of(columns[name + '.low'])}\n}}}};"
        for name in ("kLogarithms", "kPowers", "kSines", "kAngles")
    ]
    integers = [
        f"const std::uint32_t {name} = {{\n{lines_of(row)}\n}};" for name, row in words.items()
    ]
    return "\n".join(
        [
            "// Tables of float64 functions, made by tools/math/coefficients.py.",
            '#include "compute/math/float64_tables.hpp"',
            "",
            "// clang-format off",
            "namespace refarray::core::math {",
            "",
            f"alignas(64) const double kInverses[64] = {{\n{lines_of(inverses)}\n}};",
            *pairs,
            *integers,
            "",
            "}  // namespace refarray::core::math",
            "",
        ]
    )


def lines_of(numbers: Iterable[float | int]) -> str:
    words = [x.hex() if isinstance(x, float) else hex(x) for x in numbers]
    return textwrap.fill(", ".join(words), 96, initial_indent="    ", subsequent_indent="    ")


def header() -> str:
    out = [
        "// Constants, made by tools/math/coefficients.py. Polynomials: lowest power first.",
        "#pragma once",
        "",
        "// clang-format off",
        "namespace refarray::core::math {",
        "namespace {",
        "",
    ]
    for polynomial in POLYNOMIALS:
        coefficients = interpolate(polynomial)
        bits = mp.log(error(polynomial, coefficients), 2)
        out += [
            f"/// {polynomial.text}: 2^{float(bits):.1f}.",
            f"[[maybe_unused]] constexpr double {polynomial.name}[] = {{",
            lines_of(coefficients),
            "};",
            "",
        ]
    out += [*quadrants(), "", "}  // namespace", "}  // namespace refarray::core::math", ""]
    return "\n".join(out)


if __name__ == "__main__":
    print(tables() if sys.argv[1:] == ["tables"] else header(), end="")
