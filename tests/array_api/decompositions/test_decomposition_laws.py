"""Residuals and orthogonality of decompositions: at most 10 n eps, also of hard matrices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard

import refarray

xp: Any = refarray
LIMIT = 10.0
SQUARE = (1, 2, 3, 6)
OBLONG = ((6, 4), (4, 6), (5, 1), (1, 5))
kinds = run_each("kind", hard.MATRICES)
dtypes = run_each("dtype", em.DTYPES)


def drawn(kind: str, m: int, n: int, dtype: str) -> Any:
    return hard.array(hard.MATRICES[kind](m, n, dtype), dtype)


def check_qr(a: Any, mode: str, dtype: str) -> None:
    m, n = a.shape
    result = xp.linalg.qr(a, mode=mode)
    k = m if mode == "complete" else min(m, n)
    assert result.Q.shape == (m, k) and result.R.shape == (k, n)
    assert str(result.Q.dtype) == str(result.R.dtype) == dtype
    q, r, whole = (em.exact(each.tolist()) for each in (result.Q, result.R, a))
    em.assert_orthonormal(q, dtype, ("Q", m, n))
    error = em.difference(whole, em.product(q, r))
    em.assert_small(error, whole, max(m, n), dtype, ("QR", m, n), LIMIT)
    rows = result.R.tolist()
    assert not any(rows[i][j] for i in range(k) for j in range(min(i, n))), "R is not triangular"


@dtypes
@kinds
def test_qr(kind: str, dtype: str) -> None:
    for m, n in (*zip(SQUARE, SQUARE, strict=True), *OBLONG):
        for mode in ("reduced", "complete"):
            check_qr(drawn(kind, m, n, dtype), mode, dtype)


def check_svd(a: Any, full: bool, dtype: str) -> None:
    m, n = a.shape
    k = min(m, n)
    u, s, vh = xp.linalg.svd(a, full_matrices=full)
    assert u.shape == (m, m if full else k) and vh.shape == (n if full else k, n)
    assert s.shape == (k,) and str(s.dtype) == em.real_dtype(dtype)
    assert str(u.dtype) == str(vh.dtype) == dtype
    values = s.tolist()
    assert values == sorted(values, reverse=True) and values[-1] >= 0
    left, right, whole = (em.exact(each.tolist()) for each in (u, vh, a))
    em.assert_orthonormal(left, dtype, ("U", m, n))
    em.assert_orthonormal(em.adjoint(right), dtype, ("Vh", m, n))
    first = em.exact(u[:, :k].tolist())
    product = em.product(em.product(first, em.diagonal(values)), em.exact(vh[:k, :].tolist()))
    error = em.difference(whole, product)
    em.assert_small(error, whole, max(m, n), dtype, ("U S Vh", m, n), LIMIT)
    alone = em.difference(em.diagonal(xp.linalg.svdvals(a).tolist()), em.diagonal(values))
    em.assert_small(alone, whole, max(m, n), dtype, ("svdvals", m, n), 2 * LIMIT)


@dtypes
@kinds
def test_svd(kind: str, dtype: str) -> None:
    for m, n in (*zip(SQUARE, SQUARE, strict=True), *OBLONG):
        check_svd(drawn(kind, m, n, dtype), True, dtype)
        check_svd(drawn(kind, m, n, dtype), False, dtype)


@dtypes
@kinds
def test_eigh(kind: str, dtype: str) -> None:
    for n in SQUARE:
        a = hard.array(hard.hermitian(hard.MATRICES[kind](n, n, dtype)), dtype)
        values, vectors = xp.linalg.eigh(a)
        assert values.shape == (n,) and vectors.shape == (n, n)
        assert str(values.dtype) == em.real_dtype(dtype) and str(vectors.dtype) == dtype
        assert values.tolist() == sorted(values.tolist())
        v, whole = em.exact(vectors.tolist()), em.exact(a.tolist())
        spectrum = em.diagonal(values.tolist())
        em.assert_orthonormal(v, dtype, ("V", n))
        error = em.difference(em.product(whole, v), em.product(v, spectrum))
        em.assert_small(error, whole, n, dtype, ("A V - V L", n), LIMIT)
        alone = em.difference(em.diagonal(xp.linalg.eigvalsh(a).tolist()), spectrum)
        em.assert_small(alone, whole, n, dtype, ("eigvalsh", n), 2 * LIMIT)


def check_normalized(vectors: Any, dtype: str) -> None:
    """Columns have norm 1, and their greatest component is real and positive."""
    columns = list(zip(*vectors.tolist(), strict=True))
    eps = em.epsilon(dtype) if str(vectors.dtype) == "complex128" else em.EPSILON["float32"]
    for column in columns:
        size = sum(abs(each) ** 2 for each in column) ** 0.5
        assert abs(size - 1) <= 4 * len(columns) * eps, size
        largest = max(map(abs, column))
        great = [each for each in column if abs(each) >= largest * (1 - 8 * eps)]
        assert any(each.imag == 0 and each.real > 0 for each in great), great


@dtypes
@kinds
def test_eig(kind: str, dtype: str) -> None:
    for n in SQUARE:
        a = drawn(kind, n, n, dtype)
        values, vectors = xp.linalg.eig(a)
        assert values.shape == (n,) and vectors.shape == (n, n)
        assert str(values.dtype) == str(vectors.dtype) == em.complex_dtype(dtype)
        v, whole = em.exact(vectors.tolist()), em.exact(a.tolist())
        error = em.difference(em.product(whole, v), em.product(v, em.diagonal(values.tolist())))
        em.assert_small(error, whole, n, dtype, ("A V - V L", n), LIMIT)
        check_normalized(vectors, dtype)


@run_each("dtype", ["float64", "complex128"])
@run_each("kind", ["random", "graded", "huge", "tiny", "signs"])
def test_the_trace_is_the_sum_of_the_eigenvalues(kind: str, dtype: str) -> None:
    """Of eig() and of eigvals(); eigenvalues of real matrices are real, or pairs."""
    for n in SQUARE:
        a = drawn(kind, n, n, dtype)
        trace = sum(map(complex, (a.tolist()[i][i] for i in range(n))))
        size = em.norm(hard.scaled(a.tolist(), {"huge": -960, "tiny": 960}.get(kind, 0)))
        unit = {"huge": 2.0**960, "tiny": 2.0**-960}.get(kind, 1.0)
        for values in (xp.linalg.eigvals(a).tolist(), xp.linalg.eig(a).eigenvalues.tolist()):
            assert abs(sum(values) - trace) <= 20 * n * n * em.epsilon(dtype) * size * unit
            if dtype == "float64":
                total = sum(each.imag for each in values)
                assert abs(total) <= 20 * n * em.epsilon(dtype) * size * unit


def positive(kind: str, n: int, dtype: str) -> Any:
    """A A^H + c I, which is positive definite in every dtype."""
    rows = hard.MATRICES[kind](n, n, dtype)
    whole = em.exact(rows)
    scale = 1.0 if em.size2(whole) == 0 else max(abs(e) for row in rows for e in row)
    small = [[each / scale for each in row] for row in rows]
    adjoint = [
        [complex(each).conjugate() for each in column] for column in zip(*small, strict=True)
    ]
    out = em.times(small, adjoint)
    out = [[out[i][j] + 2 * n * (i == j) for j in range(n)] for i in range(n)]
    if dtype in em.REAL:
        out = [[each.real for each in row] for row in out]
    return hard.array(hard.hermitian(out), dtype)


@dtypes
@kinds
def test_cholesky(kind: str, dtype: str) -> None:
    for n in SQUARE:
        a = positive(kind, n, dtype)
        whole = em.exact(a.tolist())
        for upper in (False, True):
            factor = xp.linalg.cholesky(a, upper=upper)
            assert factor.shape == (n, n) and str(factor.dtype) == dtype
            lower = factor.mT.tolist() if upper else factor.tolist()
            assert not any(lower[i][j] for i in range(n) for j in range(i + 1, n))
            assert all(complex(lower[i][i]).imag == 0 for i in range(n))
            assert all(complex(lower[i][i]).real > 0 for i in range(n))
            f = em.exact(factor.tolist())
            g = em.adjoint(f)
            error = em.difference(whole, em.product(g, f) if upper else em.product(f, g))
            em.assert_small(error, whole, n, dtype, ("L L^H", n), LIMIT)


@pytest.mark.parametrize("power", [-1000, 1000])
def test_cholesky_of_tiny_and_huge_numbers(power: int) -> None:
    for n in SQUARE:
        a = hard.array(hard.scaled(positive("random", n, "float64").tolist(), power), "float64")
        f, whole = em.exact(xp.linalg.cholesky(a).tolist()), em.exact(a.tolist())
        error = em.difference(whole, em.product(f, em.adjoint(f)))
        em.assert_small(error, whole, n, "float64", ("L L^T", n), LIMIT)


@dtypes
@run_each("kind", ["random", "graded", "defective", "huge", "tiny", "mixed"])
def test_solve_has_a_small_residual(kind: str, dtype: str) -> None:
    """|B - A X| is at most 10 n eps |A| |X|."""
    for n in SQUARE:
        a = drawn(kind, n, n, dtype)
        low, high = hard.SCALES[em.real_dtype(dtype)]
        power = {"huge": high, "tiny": low}.get(kind, 0)
        b = hard.array(hard.scaled(hard.random_rows(n, 3, dtype, "b"), power), dtype)
        x = xp.linalg.solve(a, b)
        assert x.shape == (n, 3) and str(x.dtype) == dtype
        e, f, g = (em.exact(each.tolist()) for each in (a, x, b))
        error = em.difference(em.product(e, f), g)
        bound = Fraction(LIMIT * n * em.epsilon(dtype))
        assert em.size2(error) <= em.size2(e) * em.size2(f) * bound**2, (n, kind)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_large_matrices(dtype: str) -> None:
    """Larger than the blocks of the algorithms."""
    for n in (17, 40):
        a = hard.array(hard.random_rows(n, n, dtype), dtype)
        check_qr(a, "complete", dtype)
        check_svd(a, True, dtype)
        whole = em.exact(a.tolist())
        values, vectors = xp.linalg.eig(a)
        v = em.exact(vectors.tolist())
        error = em.difference(em.product(whole, v), em.product(v, em.diagonal(values.tolist())))
        em.assert_small(error, whole, n, dtype, "eig", LIMIT)
        h = hard.array(hard.hermitian(a.tolist()), dtype)
        values, vectors = xp.linalg.eigh(h)
        v, whole = em.exact(vectors.tolist()), em.exact(h.tolist())
        error = em.difference(em.product(whole, v), em.product(v, em.diagonal(values.tolist())))
        em.assert_small(error, whole, n, dtype, "eigh", LIMIT)
        em.assert_orthonormal(v, dtype, "eigh")
