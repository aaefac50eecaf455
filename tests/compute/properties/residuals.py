"""Residuals and orthogonality of factors, in exact arithmetic.

Decompositions are computed in float64 or complex128 and rounded once, so that a residual is within
10 n eps |A| with the eps of float64, and what rounding the factors to their dtype adds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from oracles import matrices as exact
from oracles.checks import assert_dtype
from oracles.formats import FORMATS
from oracles.matrices import Matrix
from oracles.nested import Shape, from_array

TINY = exact.smallest("float64")
#: Beyond this, a result or an intermediate number may overflow.
LARGE = Fraction(FORMATS["float64"].largest) / 2**10
#: With a larger condition number, a result has no meaning.
WORST = Fraction(2) ** 34


def backward(a: Matrix, n: int) -> Fraction:
    """The norm of the error in the matrix that explains the error of the result."""
    return 10 * n * (exact.WORKING * exact.norm(a) + TINY)


def bound(n: int, dtype: str, size: Fraction, factors: int = 1) -> Fraction:
    """Of the residual of a matrix of this size and norm from factors of the dtype; tiny numbers are
    rounded to multiples of the smallest."""
    relative = 10 * exact.WORKING + factors * exact.unit(dtype)
    return max(1, n) * (relative * size + n * factors * exact.smallest(dtype))


def assert_small(a: Matrix, limit: Fraction, what: str) -> None:
    size = exact.norm(a)
    assert size <= limit, f"{what}: {exact.shown(size)}, more than {exact.shown(limit)}"


def assert_unitary(q: Matrix, rows: int, columns: int, dtype: str, what: str) -> None:
    """The columns are orthonormal."""
    gram = exact.product(exact.adjoint(q, columns), q, columns)
    limit = bound(rows, dtype, Fraction(1), 2) * max(1, math.isqrt(columns) + 1)
    assert_small(exact.minus(gram, exact.identity(columns)), limit, f"{what}^H {what} - I")


def assert_product(factors: Sequence[Matrix], a: Matrix, n: int, dtype: str, what: str) -> None:
    """The product of the factors is the matrix of n columns."""
    out = factors[0]
    for factor in factors[1:]:
        out = exact.product(out, factor, len(factor[0]) if factor else n)
    limit = bound(max(len(a), n), dtype, exact.norm(a), len(factors))
    assert_small(exact.minus(out, a), limit, f"{what} - A")


def assert_nan(*parts: Any) -> None:
    """Every element has a part that is NaN."""
    values = [value for part in parts for value in (part if isinstance(part, list) else [part])]
    values = [v for each in values for v in (each if isinstance(each, list) else [each])]
    assert all(v != v for v in values), f"{values} are not all NaN"


def pieces(out: Any, dtype: str, shape: Shape, ndim: int = 2) -> list[Any]:
    """The matrices, vectors or numbers of a result."""
    assert_dtype(out, dtype)
    assert out.shape == shape
    split = {0: lambda x: x.values, 1: exact.vectors, 2: exact.matrices}[ndim]
    parts: list[Any] = split(from_array(out))
    return parts
