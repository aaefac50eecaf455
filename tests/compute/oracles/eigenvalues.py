"""Characteristic polynomials of exact matrices, and where their real roots are.

A polynomial is a list of coefficients, that of the greatest power first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from oracles.matrices import ONE, ZERO, Matrix, Number, adjoint, identity, product, root, scaled


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
