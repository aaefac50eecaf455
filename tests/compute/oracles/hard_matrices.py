"""Matrices for tests of decompositions: random, of low rank, scaled, Hermitian and definite."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import refarray
from oracles.formats import COMPLEX, COMPONENT, rounded

Rows = list[list[Any]]
xp: Any = refarray


def random_rows(m: int, n: int, dtype: str, seed: object = 0) -> Rows:
    """Numbers of the dtype between -1 and 1."""
    source = random.Random(f"{m} {n} {dtype} {seed}")

    def part() -> float:
        return rounded(Fraction(source.uniform(-1, 1)), COMPONENT.get(dtype, dtype))

    if dtype in COMPLEX:
        return [[complex(part(), part()) for _ in range(n)] for _ in range(m)]
    return [[part() for _ in range(n)] for _ in range(m)]


def rank_one(m: int, n: int, dtype: str) -> Rows:
    return [[float((i + 1) * (j % 3 - 1)) for j in range(n)] for i in range(m)]


def rank_two(m: int, n: int, dtype: str) -> Rows:
    return [[float((i + 1) * (j % 3 - 1) + (i % 2) * (j + 1)) for j in range(n)] for i in range(m)]


def scaled(rows: Rows, power: int) -> Rows:
    if any(isinstance(each, complex) for row in rows for each in row):
        return [
            [complex(math.ldexp(e.real, power), math.ldexp(e.imag, power)) for e in row]
            for row in rows
        ]
    return [[math.ldexp(each, power) for each in row] for row in rows]


def hermitian(rows: Rows) -> Rows:
    """The lower triangle, mirrored."""
    n = len(rows)
    out = [[rows[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(n):
            each = complex(out[i][j])
            if each.imag:
                out[i][j] = each.real if i == j else each.conjugate() if j > i else each
    return out


def array(rows: Sequence[Sequence[Any]], dtype: str) -> Any:
    """With the numbers rounded to the dtype."""
    m, n = len(rows), len(rows[0]) if rows else 0
    flat = [each for row in rows for each in row]
    return xp.reshape(xp.asarray(flat, dtype=dtype), (m, n))


def stack(shape: tuple[int, ...], dtype: str, seed: object = 0) -> Any:
    """Random numbers of a shape of at least one axis."""
    rows = random_rows(1, math.prod(shape), dtype, f"{shape} {seed}")
    return xp.reshape(xp.asarray(rows[0], dtype=dtype), shape)


def regular(shape: tuple[int, ...], dtype: str, seed: object = 0) -> Any:
    """Random square matrices with a strong diagonal."""
    n = shape[-1]
    return stack(shape, dtype, seed) + xp.eye(n, dtype=dtype) * (2 * n)


def positive_definite(shape: tuple[int, ...], dtype: str, seed: object = 0) -> Any:
    """Hermitian, up to the bits."""
    x = regular(shape, dtype, seed)
    return xp.tril(x) + xp.conj(xp.tril(x, k=-1)).mT - diagonal_imaginary(x)


def diagonal_imaginary(x: Any) -> Any:
    """The imaginary parts of the diagonal, as a matrix."""
    if str(x.dtype) not in COMPLEX:
        return xp.zeros_like(x)
    eye = xp.eye(x.shape[-1], dtype=x.dtype)
    return x * eye - xp.astype(xp.real(x), x.dtype) * eye
