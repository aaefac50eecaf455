"""Products, quotients and reciprocals of complex numbers by parts: digits that products of parts
have in common, and the signs of zeros."""

from __future__ import annotations

import cmath
import math
import random
from fractions import Fraction
from typing import Any

import pytest
from oracles.checks import assert_elements, same
from oracles.formats import COMPLEX, rounded
from oracles.switches import ISAS, instruction_set

import refarray

xp: Any = refarray
Pair = tuple[Fraction, Fraction]


def single(value: float) -> float:
    return rounded(Fraction(value), "float32")


def numbers(seed: str) -> list[complex]:
    source = random.Random(seed)
    sizes = [2.0 ** source.randint(-20, 20) for _ in range(400)]
    return [
        complex(single(size * source.uniform(-1, 1)), single(size * source.uniform(-1, 1)))
        for size in sizes
    ]


def beside(z: complex, source: random.Random) -> complex:
    """A factor whose product with z almost has no real, or no imaginary part."""
    near = [complex(z.imag, z.real), complex(z.real, -z.imag), complex(-z.real, z.imag)]
    near_one = 1 + source.randint(-3, 3) * 2.0**-23
    found = source.choice(near)
    return complex(single(found.real * near_one), found.imag)


def product(x: complex, y: complex) -> Pair:
    a, b, c, d = (Fraction(v) for v in (x.real, x.imag, y.real, y.imag))
    return a * c - b * d, a * d + b * c


def assert_parts_are_rounded(got: list[complex], exact: list[Pair], *operands: Any) -> None:
    for part, which in ((0, "real"), (1, "imag")):
        wanted = [rounded(each[part], "float32") if each[part] else 0.0 for each in exact]
        mine = [abs(v) if v == 0 else v for v in (getattr(each, which) for each in got)]
        assert_elements(mine, [abs(v) if v == 0 else v for v in wanted], *operands)


@pytest.mark.parametrize("isa", ISAS)
def test_parts_of_complex64_products_keep_their_digits_when_products_cancel(isa: str) -> None:
    source = random.Random(11)
    a = numbers("products")
    b = [beside(z, source) if i % 4 else z for i, z in enumerate(a)]
    x, y = xp.asarray(a, dtype="complex64"), xp.asarray(b, dtype="complex64")
    exact = [product(u, v) for u, v in zip(a, b, strict=True)]
    with instruction_set(isa):
        assert_parts_are_rounded((x * y).tolist(), exact, a, b)
        squares = [product(u, u) for u in a]
        assert_parts_are_rounded(xp.square(x).tolist(), squares, a)
        pairs = xp.stack([x, y])
        assert_parts_are_rounded(xp.prod(pairs, axis=0).tolist(), exact, a, b)
        assert_parts_are_rounded(xp.cumulative_prod(pairs, axis=0)[1, :].tolist(), exact, a, b)
        single_products = xp.vecdot(xp.conj(x)[:, None], y[:, None])
        assert_parts_are_rounded(single_products.tolist(), exact, a, b)
        assert_parts_are_rounded(xp.pow(x, 2).tolist(), squares, a)


@pytest.mark.parametrize("isa", ISAS)
def test_parts_of_complex64_quotients_keep_their_digits_when_products_cancel(isa: str) -> None:
    source = random.Random(12)
    a = numbers("quotients")
    b = [beside(z, source).conjugate() if i % 4 else z for i, z in enumerate(a)]
    exact = []
    for u, v in zip(a, b, strict=True):
        square = Fraction(v.real) ** 2 + Fraction(v.imag) ** 2
        real, imag = product(u, v.conjugate())
        exact.append((real / square, imag / square))
    with instruction_set(isa):
        out = xp.asarray(a, dtype="complex64") / xp.asarray(b, dtype="complex64")
    assert_parts_are_rounded(out.tolist(), exact, a, b)


ZEROS = [complex(a, b) for a in (0.0, -0.0) for b in (2.0, -2.0)]
BESIDE_CUTS = [*ZEROS, *(complex(z.imag, z.real) for z in ZEROS)]
INFINITE = [complex(a, b) for a in (math.inf, -math.inf) for b in (0.0, -0.0, 1.5, -1.5)]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_reciprocals_keep_the_side_of_a_branch_cut(dtype: str) -> None:
    """1 / z has the signs of the conjugate's parts, as z.conjugate() / abs(z)**2 has."""
    values = [*BESIDE_CUTS, *INFINITE, *(complex(z.imag, z.real) for z in INFINITE)]
    out = xp.reciprocal(xp.asarray(values, dtype=dtype)).tolist()
    for z, got in zip(values, out, strict=True):
        size = 4.0 if cmath.isfinite(z) else math.inf
        real = z.real / size if math.isfinite(z.real) else math.copysign(0.0, z.real)
        imag = -z.imag / size if math.isfinite(z.imag) else math.copysign(0.0, -z.imag)
        assert same(got, complex(real, imag)), (z, got)
    for cut in (xp.sqrt, xp.log, xp.atan, xp.asinh, xp.acos, xp.atanh):
        x = xp.asarray(BESIDE_CUTS, dtype=dtype)
        sides = cut(xp.reciprocal(x)).tolist()
        twins = xp.conj(cut(xp.reciprocal(xp.conj(x)))).tolist()
        assert all(same(*pair) for pair in zip(sides, twins, strict=True)), cut


@pytest.mark.parametrize("dtype", COMPLEX)
def test_powers_keep_the_side_of_a_branch_cut(dtype: str) -> None:
    x = xp.asarray(BESIDE_CUTS, dtype=dtype)
    assert_elements((x**1).tolist(), BESIDE_CUTS)
    assert_elements((x**-1).tolist(), xp.reciprocal(x).tolist(), BESIDE_CUTS)
    assert_elements((x**3).tolist(), (x * (x * x)).tolist(), BESIDE_CUTS)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_reciprocals_of_zero_are_infinite(dtype: str) -> None:
    for got in xp.reciprocal(xp.asarray([0j, complex(-0.0, -0.0)], dtype=dtype)).tolist():
        assert got.real == math.inf and math.isnan(got.imag)
