#!/usr/bin/env python3
"""Derives the constants of src/compute/math/levels/coefficients.hpp and prints the header:
`coefficients.py > src/compute/math/levels/coefficients.hpp`.

Each polynomial interpolates its function at Chebyshev nodes, in 60 digits, and is then rounded to
double. The error beside it is the largest one of the rounded polynomial, relative to the result
that is made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import mpmath as mp

mp.mp.dps = 60
LEAST_EXPONENT = 2  # of the last bit of 2^25
Real = Callable[[mp.mpf], mp.mpf]


class Polynomial(NamedTuple):
    name: str
    text: str
    function: Real  # of z in [0, limit]
    limit: mp.mpf
    terms: int
    weight: Real  # the share of the polynomial in the result


def of_series(series: Callable[[int], mp.mpf]) -> Real:
    """The sum of a power series in z, whose closed form loses digits near 0."""
    return lambda z: mp.nsum(lambda n: series(int(n)) * z ** int(n), [0, mp.inf], method="d")


def interpolate(function: Real, limit: mp.mpf, terms: int) -> list[float]:
    nodes = [limit / 2 * (1 + mp.cos(mp.pi * (i + 0.5) / terms)) for i in range(terms)]
    matrix = mp.matrix(terms, terms)
    values = mp.matrix([function(z) for z in nodes])
    for i, z in enumerate(nodes):
        for j in range(terms):
            matrix[i, j] = z**j
    return [float(c) for c in mp.lu_solve(matrix, values)]


def error(polynomial: Polynomial, coefficients: list[float]) -> mp.mpf:
    worst = mp.mpf(0)
    for i in range(201):
        z = polynomial.limit * i / 200
        value = mp.polyval([mp.mpf(c) for c in reversed(coefficients)], z)
        worst = max(worst, abs(value - polynomial.function(z)) * polynomial.weight(z))
    return worst


def sign(n: int) -> int:
    return -1 if n % 2 else 1


QUARTER, HALF = mp.pi / 4, mp.pi / 2
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


def header() -> str:
    out = [
        "// Constants, made by tools/math/coefficients.py. Polynomials: lowest power first.",
        "// clang-format off",
        "#pragma once",
        "",
        "namespace refarray::core::math {",
        "namespace {",
        "",
    ]
    for polynomial in POLYNOMIALS:
        coefficients = interpolate(polynomial.function, polynomial.limit, polynomial.terms)
        bits = mp.log(error(polynomial, coefficients), 2)
        out += [
            f"/// {polynomial.text}: 2^{float(bits):.1f}.",
            f"[[maybe_unused]] constexpr double {polynomial.name}[] = {{",
            *(f"    {c.hex()}," for c in coefficients),
            "};",
            "",
        ]
    out += [*quadrants(), "", "}  // namespace", "}  // namespace refarray::core::math", ""]
    return "\n".join(out)


if __name__ == "__main__":
    print(header(), end="")
