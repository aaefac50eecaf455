"""Residuals and orthogonality of decompositions: at most 10 n eps, also of hard matrices."""

from __future__ import annotations

from typing import Any

import pytest
from oracles import exact_matrices as em
from oracles import hard_matrices as hard

import refarray

xp: Any = refarray
LIMIT = 10.0
SQUARE = (1, 2, 3, 6)


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


@pytest.mark.parametrize("power", [-1000, 1000])
def test_cholesky_of_tiny_and_huge_numbers(power: int) -> None:
    for n in SQUARE:
        a = hard.array(hard.scaled(positive("random", n, "float64").tolist(), power), "float64")
        f, whole = em.exact(xp.linalg.cholesky(a).tolist()), em.exact(a.tolist())
        error = em.difference(whole, em.product(f, em.adjoint(f)))
        em.assert_small(error, whole, n, "float64", ("L L^T", n), LIMIT)


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
