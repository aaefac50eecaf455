"""Matrices of exact numbers: products, elimination, pseudoinverses, comparison with results, and
characteristic polynomials with the places of their real roots."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from oracles.formats import COMPONENT, FORMATS, rounded
from oracles.nested import Nested, Shape, indices

EPSILON = {name: Fraction(2) ** (1 - form.precision) for name, form in FORMATS.items()}
WORKING = EPSILON["float64"]


def shown(value: Fraction) -> str:
    return f"{rounded(value, 'float64'):.17g}"


class Cartesian:
    """A complex number with exact parts."""

    __slots__ = ("imag", "real")

    def __init__(self, real: Fraction, imag: Fraction) -> None:
        self.real, self.imag = real, imag

    def __add__(self, other: Number) -> Cartesian:
        return Cartesian(self.real + other.real, self.imag + other.imag)

    def __sub__(self, other: Number) -> Cartesian:
        return Cartesian(self.real - other.real, self.imag - other.imag)

    def __mul__(self, other: Number) -> Cartesian:
        if isinstance(other, Cartesian):
            real = self.real * other.real - self.imag * other.imag
            return Cartesian(real, self.real * other.imag + self.imag * other.real)
        return Cartesian(self.real * other, self.imag * other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Fraction) -> Cartesian:
        return Cartesian(other - self.real, -self.imag)

    def __truediv__(self, other: Number) -> Cartesian:
        inverse = 1 / squared(other)
        return self * Cartesian(other.real * inverse, -other.imag * inverse)

    def __rtruediv__(self, other: Fraction) -> Cartesian:
        return self.conjugate() * (other / squared(self))

    def __bool__(self) -> bool:
        return bool(self.real or self.imag)

    def __repr__(self) -> str:
        return f"{shown(self.real)} + {shown(self.imag)}j"

    def conjugate(self) -> Cartesian:
        return Cartesian(self.real, -self.imag)


Number = Any  # Fraction or Cartesian
Matrix = list[list[Number]]
ZERO, ONE = Fraction(0), Fraction(1)


def exact(value: Any) -> Number:
    """A finite element as it is."""
    if isinstance(value, complex):
        return Cartesian(Fraction(value.real), Fraction(value.imag))
    return Fraction(value)


def squared(value: Number) -> Fraction:
    """The square of the absolute value."""
    real, imag = Fraction(value.real), Fraction(value.imag)
    return real * real + imag * imag


def root(value: Fraction) -> Fraction:
    """The square root, with a relative error below 2**-90."""
    top, bottom = value.numerator, value.denominator
    shift = max(0, 200 - top.bit_length() - bottom.bit_length()) // 2 + 1
    return Fraction(math.isqrt(top * bottom << (2 * shift)), bottom << shift)


def size(value: Number) -> Fraction:
    """The absolute value, exact for real numbers."""
    return root(squared(value)) if isinstance(value, Cartesian) else abs(value)


# --- Stacks.


def matrices(x: Nested) -> list[list[list[Any]]]:
    """The matrices of a stack, in row-major order."""
    m, n = x.shape[-2:]
    rows = [x.values[n * i : n * (i + 1)] for i in range(math.prod(x.shape[:-1]))]
    return [rows[m * i : m * (i + 1)] for i in range(math.prod(x.shape[:-2]))]


def vectors(x: Nested) -> list[list[Any]]:
    """The vectors along the last axis."""
    n = x.shape[-1]
    return [x.values[n * i : n * (i + 1)] for i in range(math.prod(x.shape[:-1]))]


def stacked(each: Iterable[Sequence[Sequence[Any]]], shape: Shape) -> Nested:
    return Nested([value for rows in each for row in rows for value in row], shape)


def places(shape: Shape, whole: Shape) -> list[int]:
    """For every place of `whole`, the number of the place of `shape` that is broadcast to it."""
    out = []
    for index in indices(whole):
        position = 0
        for each, extent in zip(index[len(whole) - len(shape) :], shape, strict=True):
            position = position * extent + (each if extent > 1 else 0)
        out.append(position)
    return out


def is_finite(rows: Iterable[Iterable[Any]]) -> bool:
    values = [value for row in rows for value in row]
    return all(math.isfinite(v.real) and math.isfinite(v.imag) for v in values)


def to_exact(rows: Iterable[Iterable[Any]]) -> Matrix:
    return [[exact(value) for value in row] for row in rows]


# --- Algebra. A matrix without rows has no columns either, and an argument says how many it has.


def identity(n: int) -> Matrix:
    return [[ONE if i == j else ZERO for j in range(n)] for i in range(n)]


def diagonal(values: Sequence[Number], m: int, n: int) -> Matrix:
    return [[values[i] if i == j else ZERO for j in range(n)] for i in range(m)]


def adjoint(a: Matrix, columns: int) -> Matrix:
    return [[row[j].conjugate() for row in a] for j in range(columns)]


def product(a: Matrix, b: Matrix, columns: int) -> Matrix:
    return [
        [sum((x * row[j] for x, row in zip(left, b, strict=True)), ZERO) for j in range(columns)]
        for left in a
    ]


def plus(a: Matrix, b: Matrix) -> Matrix:
    return [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]


def minus(a: Matrix, b: Matrix) -> Matrix:
    return [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]


def scaled(a: Matrix, factor: Number) -> Matrix:
    return [[x * factor for x in row] for row in a]


def norm(a: Matrix) -> Fraction:
    """The Frobenius norm, which is not less than the spectral norm."""
    return root(sum((squared(x) for row in a for x in row), ZERO))


def eliminated(a: Matrix, right: Matrix) -> tuple[Number, Matrix]:
    """The determinant, and the solution for the right side; that has no meaning if it is 0."""
    work = [[*row, *other] for row, other in zip(a, right, strict=True)]
    n = len(a)
    det: Number = ONE
    for k in range(n):
        pivot = next((i for i in range(k, n) if work[i][k]), None)
        if pivot is None:
            return ZERO, right
        if pivot != k:
            work[k], work[pivot], det = work[pivot], work[k], det * -ONE
        det = det * work[k][k]
        top = [x / work[k][k] for x in work[k]]
        for i in range(n):
            if i != k and work[i][k]:
                factor = work[i][k]
                work[i] = [x - factor * y for x, y in zip(work[i], top, strict=True)]
        work[k] = top
    return det, [row[n:] for row in work]


def inverse(a: Matrix) -> Matrix | None:
    """None for a singular matrix."""
    det, out = eliminated(a, identity(len(a)))
    return out if det else None


def power(a: Matrix, n: int) -> Matrix:
    out = identity(len(a))
    for bit in f"{n:b}":
        out = product(out, out, len(a))
        if bit == "1":
            out = product(out, a, len(a))
    return out


def rank_factors(a: Matrix, columns: int) -> tuple[Matrix, Matrix, int]:
    """Matrices F and C of full rank r with A = F C."""
    work = [list(row) for row in a]
    pivots: list[int] = []
    for j in range(columns):
        k = len(pivots)
        pivot = next((i for i in range(k, len(work)) if work[i][j]), None)
        if pivot is None:
            continue
        work[k], work[pivot] = work[pivot], work[k]
        work[k] = [x / work[k][j] for x in work[k]]
        for i in range(len(work)):
            if i != k and work[i][j]:
                factor = work[i][j]
                work[i] = [x - factor * y for x, y in zip(work[i], work[k], strict=True)]
        pivots.append(j)
    return [[row[j] for j in pivots] for row in a], work[: len(pivots)], len(pivots)


def pseudoinverse(a: Matrix, columns: int) -> tuple[Matrix, int]:
    """With the rank."""
    f, c, r = rank_factors(a, columns)
    if not r:
        return [[ZERO] * len(a) for _ in range(columns)], 0
    left, right = adjoint(f, r), adjoint(c, columns)
    inner = [inverse(product(left, f, r)), inverse(product(c, right, r))]
    assert inner[0] is not None and inner[1] is not None
    middle = product(inner[1], product(inner[0], left, len(a)), len(a))
    return product(right, middle, len(a)), r


# --- Comparison.


def smallest(dtype: str) -> Fraction:
    """The smallest positive number of the dtype."""
    return Fraction(FORMATS[COMPONENT.get(dtype, dtype)].smallest)


def unit(dtype: str) -> Fraction:
    """The relative error of rounding to the dtype."""
    return EPSILON[COMPONENT.get(dtype, dtype)] / 2


def is_rounded(got: Any, wanted: Number, bound: Fraction, dtype: str) -> bool:
    """Whether each part is a number within the bound of the exact one, rounded to the dtype."""
    if dtype in COMPONENT:
        part = COMPONENT[dtype]
        return is_rounded(got.real, wanted.real, bound, part) and is_rounded(
            got.imag, wanted.imag, bound, part
        )
    low, high = (rounded(wanted.real + each, dtype) for each in (-bound, bound))
    return bool(low <= got <= high)


def assert_rounded(
    got: list[list[Any]], wanted: Matrix, bound: Callable[[int, int], Fraction], dtype: str
) -> None:
    """Every element is the exact one within a bound, rounded once."""
    for i, rows in enumerate(zip(got, wanted, strict=True)):
        for j, (mine, right) in enumerate(zip(*rows, strict=True)):
            off = bound(i, j)
            assert is_rounded(mine, right, off, dtype), (
                f"element {i}, {j} is {mine!r}, not {right!r} within {shown(off)} ({dtype})"
            )


# --- Characteristic polynomials: lists of coefficients, that of the greatest power first.


def characteristic(a: Matrix) -> list[Number]:
    """det(x I - A)."""
    return leverrier(a)[0]


def leverrier(a: Matrix) -> tuple[list[Number], Matrix]:
    """The characteristic polynomial and the adjugate, by the method of Faddeev and LeVerrier."""
    n = len(a)
    out: list[Number] = [ONE]
    work = before = identity(n)
    for k in range(1, n + 1):
        before, work = work, product(a, work, n)
        out.append(sum((work[i][i] for i in range(n)), ZERO) * Fraction(-1, k))
        for i in range(n):
            work[i][i] = work[i][i] + out[-1]
    return out, scaled(before, Fraction((-1) ** (n - 1)) if n else ONE)


def from_roots(values: Iterable[Number]) -> list[Number]:
    out: list[Number] = [ONE]
    for value in values:
        down = [ZERO, *(x * value for x in out)]
        out = [x - y for x, y in zip([*out, ZERO], down, strict=True)]
    return out


class RealRoots(NamedTuple):
    """The roots of a polynomial whose roots are all real."""

    coefficients: list[Fraction]

    def above(self, t: Fraction) -> int:
        """How many roots are greater than t: the sign changes of the polynomial of x + t."""
        work = list(self.coefficients)
        for last in range(len(work), 1, -1):
            for i in range(1, last):
                work[i] += t * work[i - 1]
        signs = [x > 0 for x in work if x]
        return sum(x != y for x, y in itertools.pairwise(signs))

    def is_near(self, t: Fraction, k: int, bound: Fraction) -> bool:
        """Whether the root number k in descending order, from 0, is within the bound of t."""
        return self.above(t + bound) <= k < self.above(t - bound - bound / 2**40)

    def bisected(self, k: int, low: Fraction, high: Fraction, steps: int) -> Fraction:
        """The root number k in descending order, which is between the two."""
        for _ in range(steps):
            middle = (low + high) / 2
            low, high = (middle, high) if self.above(middle) > k else (low, middle)
        return (low + high) / 2


def of_hermitian(hermitian: Matrix) -> RealRoots:
    return RealRoots([x.real for x in characteristic(hermitian)])


class SingularValues(NamedTuple):
    """The singular values, by the roots of the polynomial of their squares."""

    squares: RealRoots
    number: int

    def above(self, t: Fraction) -> int:
        return self.squares.above(t * t) if t >= 0 else self.number

    def is_near(self, t: Fraction, k: int, bound: Fraction) -> bool:
        return self.above(t + bound) <= k < self.above(t - bound - bound / 2**40)

    def value(self, k: int, limit: Fraction) -> Fraction:
        """The value number k in descending order, none of which exceeds the limit."""
        return root(self.squares.bisected(k, ZERO, limit * limit, 160))


def singular_values(a: Matrix, columns: int) -> SingularValues:
    star = adjoint(a, columns)
    few = len(a) <= columns
    gram = product(a, star, len(a)) if few else product(star, a, columns)
    return SingularValues(of_hermitian(gram), len(gram))
