"""Matrices of exact numbers: products and sizes, to measure errors without rounding."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from oracles.formats import COMPONENT

Rows = list[list[int]]
#: The distance from 1 to the next number.
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
#: The dtypes that decompositions take.
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
REAL = DTYPES[:4]


def real_dtype(dtype: str) -> str:
    return COMPONENT.get(dtype, dtype)


def epsilon(dtype: str) -> float:
    return EPSILON[real_dtype(dtype)]


class Exact(NamedTuple):
    """A complex matrix: real and imaginary parts in units of 2**-shift."""

    real: Rows
    imag: Rows
    shift: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.real), len(self.real[0]) if self.real else 0


def exact(rows: Sequence[Sequence[Any]]) -> Exact:
    """The finite numbers of nested lists."""
    numbers = [[complex(each) for each in row] for row in rows]
    parts = [part for row in numbers for each in row for part in (each.real, each.imag)]
    shift = max((part.as_integer_ratio()[1].bit_length() - 1 for part in parts), default=0)

    def units(part: float) -> int:
        top, bottom = part.as_integer_ratio()
        return (top << shift) // bottom

    real = [[units(each.real) for each in row] for row in numbers]
    return Exact(real, [[units(each.imag) for each in row] for row in numbers], shift)


def identity(n: int) -> Exact:
    return exact([[float(i == j) for j in range(n)] for i in range(n)])


def diagonal(values: Sequence[Any]) -> Exact:
    n = len(values)
    return exact([[values[i] if i == j else 0.0 for j in range(n)] for i in range(n)])


def transposed(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows, strict=True)]


def adjoint(a: Exact) -> Exact:
    imag = [[-each for each in row] for row in a.imag]
    return Exact(transposed(a.real), transposed(imag), a.shift)


def has_imaginary_part(a: Exact) -> bool:
    return any(any(row) for row in a.imag)


def combined(a: Rows, b: Rows, sign: int) -> Rows:
    return [[x + sign * y for x, y in zip(*pair, strict=True)] for pair in zip(a, b, strict=True)]


def multiplied(a: Rows, b: Rows) -> Rows:
    columns = list(zip(*b, strict=True))
    return [[sum(map(operator.mul, row, column)) for column in columns] for row in a]


def product(a: Exact, b: Exact) -> Exact:
    real = multiplied(a.real, b.real)
    zeros = [[0] * len(row) for row in real]
    if not has_imaginary_part(a) and not has_imaginary_part(b):
        return Exact(real, zeros, a.shift + b.shift)
    real = combined(real, multiplied(a.imag, b.imag), -1)
    imag = combined(multiplied(a.real, b.imag), multiplied(a.imag, b.real), 1)
    return Exact(real, imag, a.shift + b.shift)


def difference(a: Exact, b: Exact) -> Exact:
    shift = max(a.shift, b.shift)

    def lifted(rows: Rows, by: int) -> Rows:
        return [[each << by for each in row] for row in rows]

    parts = [
        combined(lifted(x, shift - a.shift), lifted(y, shift - b.shift), -1)
        for x, y in ((a.real, b.real), (a.imag, b.imag))
    ]
    return Exact(parts[0], parts[1], shift)


def size2(a: Exact) -> Fraction:
    """The square of the Frobenius norm."""
    total = sum(each * each for rows in (a.real, a.imag) for row in rows for each in row)
    return Fraction(total, 1 << (2 * a.shift))


def ratio(a: Exact, b: Exact) -> float:
    """The quotient of the Frobenius norms; 0 of two zeros."""
    top, bottom = size2(a), size2(b)
    if not bottom:
        return math.inf if top else 0.0
    return math.sqrt(top / bottom)


def assert_small(error: Exact, whole: Exact, n: int, dtype: str, what: object) -> None:
    """The error is at most 10 n eps of the whole."""
    found = ratio(error, whole) / (max(n, 1) * epsilon(dtype))
    assert found <= 10, f"{what}: the error is {found:.3g} n eps, more than 10 n eps"


def assert_orthonormal(q: Exact, dtype: str, what: object) -> None:
    """The columns have norm 1 and are orthogonal, to 10 n eps."""
    n = q.shape[1]
    error = difference(product(adjoint(q), q), identity(n))
    found = math.sqrt(size2(error)) / (max(q.shape[0], 1) * epsilon(dtype))
    assert found <= 10, f"{what}: orthogonal to {found:.3g} n eps only"
