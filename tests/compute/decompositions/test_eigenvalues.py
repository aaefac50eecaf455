"""eig, eigh, eigvals and eigvalsh of matrices whose eigenvalues are known."""

from __future__ import annotations

import cmath
import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.checks import assert_dtype

import refarray

xp: Any = refarray
nan, inf = math.nan, math.inf
dtypes = run_each("dtype", em.DTYPES)
#: Symmetric matrices and their eigenvalues.
SYMMETRIC: dict[str, tuple[list[list[Any]], list[float]]] = {
    "one": ([[-3]], [-3]),
    "two": ([[2, 1], [1, 2]], [1, 3]),
    "swap": ([[0, 1], [1, 0]], [-1, 1]),
    "diagonal": ([[4, 0, 0], [0, -2, 0], [0, 0, 1]], [-2, 1, 4]),
    "ones": ([[1, 1, 1], [1, 1, 1], [1, 1, 1]], [0, 0, 3]),
    "path": ([[2, -1, 0], [-1, 2, -1], [0, -1, 2]], [2 - 2**0.5, 2, 2 + 2**0.5]),
    "equal": ([[5, 0], [0, 5]], [5, 5]),
    "zero": ([[0, 0], [0, 0]], [0, 0]),
}
HERMITIAN: dict[str, tuple[list[list[Any]], list[float]]] = {
    "Pauli y": ([[0, -1j], [1j, 0]], [-1, 1]),
    "two": ([[2, 1 - 1j], [1 + 1j, 3]], [1, 4]),
    "three": ([[1, 1j, 0], [-1j, 1, 1j], [0, -1j, 1]], [1 - 2**0.5, 1, 1 + 2**0.5]),
}


def assert_spectrum(got: list[complex], wanted: list[complex], bound: float) -> None:
    """In any order."""
    rest = list(got)
    assert len(got) == len(wanted)
    for each in wanted:
        nearest = min(rest, key=lambda value, each=each: abs(value - each))  # type: ignore[misc]
        assert abs(nearest - each) <= bound, (got, wanted)
        rest.remove(nearest)


def bound_of(rows: list[list[Any]], dtype: str, condition: float = 1) -> float:
    return 10 * len(rows) * em.epsilon(dtype) * max(em.norm(rows), 1e-300) * condition


def check_hermitian(rows: list[list[Any]], wanted: list[float], dtype: str) -> None:
    a = hard.array(rows, dtype)
    values, vectors = xp.linalg.eigh(a)
    alone = xp.linalg.eigvalsh(a)
    assert_dtype(values, em.real_dtype(dtype))
    assert_dtype(alone, em.real_dtype(dtype))
    assert_dtype(vectors, dtype)
    bound = bound_of(rows, dtype)
    for each in (values, alone):
        pairs = zip(each.tolist(), wanted, strict=True)
        assert all(abs(got - right) <= bound for got, right in pairs), (each, wanted)
        assert each.tolist() == sorted(each.tolist())


@dtypes
@run_each("kind", SYMMETRIC)
def test_symmetric_matrices(kind: str, dtype: str) -> None:
    check_hermitian(*SYMMETRIC[kind], dtype)


@run_each("dtype", ["complex64", "complex128"])
@run_each("kind", HERMITIAN)
def test_hermitian_matrices(kind: str, dtype: str) -> None:
    check_hermitian(*HERMITIAN[kind], dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_circulant_matrices(dtype: str) -> None:
    """Their eigenvalues are the discrete Fourier transform of the first column."""
    for n in (2, 3, 5, 8, 12):
        column = [complex(1 + i % 3, (i * i) % 5 - 2) for i in range(n)]
        rows = [[column[(i - j) % n] for j in range(n)] for i in range(n)]
        wanted = [
            sum(column[j] * cmath.exp(-2j * math.pi * j * k / n) for j in range(n))
            for k in range(n)
        ]
        a = hard.array(rows, dtype)
        bound = bound_of(rows, dtype, 2)
        assert_spectrum(xp.linalg.eigvals(a).tolist(), wanted, bound)
        assert_spectrum(xp.linalg.eig(a).eigenvalues.tolist(), wanted, bound)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvectors_of_a_symmetric_matrix_agree(dtype: str) -> None:
    """eig() and eigh() find the same lines."""
    rows = hard.hermitian(hard.random_rows(6, 6, dtype, "lines"))
    a = hard.array(rows, dtype)
    values, vectors = xp.linalg.eigh(a)
    others, lines = xp.linalg.eig(a)
    order = sorted(range(6), key=lambda i: complex(others[i]).real)
    for i, j in enumerate(order):
        assert abs(complex(others[j]) - float(values[i])) < 1e-13
        column = [complex(each) for each in vectors[:, i].tolist()]
        line = lines[:, j].tolist()
        inner = sum(x.conjugate() * y for x, y in zip(column, line, strict=True))
        assert abs(abs(inner) - 1) < 1e-12
