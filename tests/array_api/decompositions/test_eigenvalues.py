"""eig, eigh, eigvals and eigvalsh of matrices whose eigenvalues are known."""

from __future__ import annotations

import cmath
import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.checks import assert_dtype, assert_equal

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
#: General matrices and their eigenvalues.
GENERAL: dict[str, tuple[list[list[Any]], list[complex]]] = {
    "one": ([[7]], [7]),
    "upper": ([[1, 5, 2], [0, 2, 3], [0, 0, 4]], [1, 2, 4]),
    "lower": ([[3, 0], [2, -1]], [3, -1]),
    "rotation": ([[0, -1], [1, 0]], [1j, -1j]),
    "rotation and growth": ([[3, -4], [4, 3]], [3 + 4j, 3 - 4j]),
    "cycle": (
        [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]],
        [1, 1j, -1, -1j],
    ),
    "companion": ([[0, 0, 6], [1, 0, -11], [0, 1, 6]], [1, 2, 3]),
    "symmetric": ([[2, 1], [1, 2]], [1, 3]),
    "zero": ([[0, 0], [0, 0]], [0, 0]),
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


@dtypes
@run_each("kind", GENERAL)
def test_general_matrices(kind: str, dtype: str) -> None:
    rows, wanted = GENERAL[kind]
    a = hard.array(rows, dtype)
    values, vectors = xp.linalg.eig(a)
    alone = xp.linalg.eigvals(a)
    for each in (values, vectors, alone):
        assert_dtype(each, em.complex_dtype(dtype))
    eps = em.epsilon(dtype) if values.dtype == xp.complex128 else em.EPSILON["float32"]
    condition = 200.0 if kind == "companion" else 20.0
    bound = 10 * len(rows) * eps * max(em.norm(rows), 1e-300) * condition
    assert_spectrum(values.tolist(), wanted, bound)
    assert_spectrum(alone.tolist(), wanted, bound)


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


@dtypes
def test_diagonal_matrices_have_exact_eigenvalues(dtype: str) -> None:
    values = [4.0, -1.0, 0.5, 8.0, 0.0]
    a = hard.array([[v * (i == j) for j in range(5)] for i, v in enumerate(values)], dtype)
    assert xp.linalg.eigvalsh(a).tolist() == sorted(values)
    assert xp.linalg.eigh(a).eigenvalues.tolist() == sorted(values)
    vectors = xp.abs(xp.linalg.eigh(a).eigenvectors).tolist()
    assert sorted(vectors) == sorted(xp.eye(5).tolist())
    general = xp.linalg.eig(a)
    assert sorted(e.real for e in general.eigenvalues.tolist()) == sorted(values)
    assert not any(e.imag for e in general.eigenvalues.tolist())
    assert sorted(xp.abs(general.eigenvectors).tolist()) == sorted(xp.eye(5).tolist())


@dtypes
def test_hermitian_functions_read_the_lower_triangle(dtype: str) -> None:
    for n in (1, 2, 3, 6):
        rows = hard.hermitian(hard.random_rows(n, n, dtype))
        wanted = xp.linalg.eigh(hard.array(rows, dtype))
        alone = xp.linalg.eigvalsh(hard.array(rows, dtype))
        for other in (0.0, 5.0, nan, inf):
            low = [[rows[i][j] if j <= i else other for j in range(n)] for i in range(n)]
            a = hard.array(low, dtype)
            for one, right in zip(xp.linalg.eigh(a), wanted, strict=True):
                assert one.tobytes() == right.tobytes(), (n, other)
            assert xp.linalg.eigvalsh(a).tobytes() == alone.tobytes()


@run_each("dtype", ["complex64", "complex128"])
@run_each("part", [1.0, -2.5, inf, nan], ids=str)
def test_imaginary_parts_of_the_diagonal_are_ignored(part: float, dtype: str) -> None:
    for n in (1, 2, 3, 6):
        rows = hard.hermitian(hard.random_rows(n, n, dtype))
        wanted = xp.linalg.eigh(hard.array(rows, dtype))
        for i in range(n):
            rows[i][i] = complex(complex(rows[i][i]).real, part)
        a = hard.array(rows, dtype)
        for one, right in zip(xp.linalg.eigh(a), wanted, strict=True):
            assert one.tobytes() == right.tobytes()
        alone = xp.linalg.eigvalsh(hard.array(hard.hermitian(rows), dtype))
        assert xp.linalg.eigvalsh(a).tobytes() == alone.tobytes()


@dtypes
def test_real_matrices_have_conjugate_pairs(dtype: str) -> None:
    if dtype not in em.REAL:
        return
    for n in (2, 3, 5, 8):
        a = hard.array(hard.random_rows(n, n, dtype, "pairs"), dtype)
        values = xp.linalg.eigvals(a).tolist()
        assert sorted(v.imag for v in values) == sorted(-v.imag for v in values)
        assert_spectrum([v.conjugate() for v in values], values, 0.0)


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


@dtypes
def test_eigenvectors_of_real_matrices_with_real_eigenvalues_are_real(dtype: str) -> None:
    a = hard.array([[1, 5, 2], [0, 2, 3], [0, 0, 4]], dtype)
    values, vectors = xp.linalg.eig(a)
    if dtype in em.REAL:
        assert not xp.any(xp.imag(values)) and not xp.any(xp.imag(vectors))


@dtypes
def test_results_are_those_of_the_wide_dtype_rounded_once(dtype: str) -> None:
    wide = em.wide_dtype(dtype)
    for n in (2, 4, 7):
        a = hard.array(hard.random_rows(n, n, dtype, "once"), dtype)
        h = hard.array(hard.hermitian(hard.random_rows(n, n, dtype, "once")), dtype)
        pairs = [
            *zip(xp.linalg.eig(a), xp.linalg.eig(xp.astype(a, wide)), strict=True),
            *zip(xp.linalg.eigh(h), xp.linalg.eigh(xp.astype(h, wide)), strict=True),
            (xp.linalg.eigvals(a), xp.linalg.eigvals(xp.astype(a, wide))),
            (xp.linalg.eigvalsh(h), xp.linalg.eigvalsh(xp.astype(h, wide))),
        ]
        for narrow, exact in pairs:
            assert_equal(narrow, xp.astype(exact, narrow.dtype))
