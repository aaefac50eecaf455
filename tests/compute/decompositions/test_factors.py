"""cholesky and qr of matrices whose factors are known, and the triangles that cholesky reads."""

from __future__ import annotations

import math
from typing import Any

from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.checks import assert_dtype, assert_equal

import refarray

xp: Any = refarray
nan, inf = math.nan, math.inf
dtypes = run_each("dtype", em.DTYPES)
#: Lower factors: all steps of every algorithm are exact.
FACTORS: dict[str, list[list[Any]]] = {
    "one": [[3]],
    "two": [[2, 0], [1, 2]],
    "three": [[1, 0, 0], [2, 1, 0], [-1, 3, 2]],
    "four": [[2, 0, 0, 0], [0, 1, 0, 0], [1, 2, 4, 0], [-1, 1, 0.5, 1]],
    "diagonal": [[4, 0], [0, 0.5]],
}
#: The same, complex.
COMPLEX_FACTORS: dict[str, list[list[Any]]] = {
    "two": [[2, 0], [1 + 1j, 1]],
    "three": [[1, 0, 0], [2j, 2, 0], [1 - 1j, 0.5j, 4]],
    "imaginary": [[1, 0], [1j, 1]],
}


def squared(factor: list[list[Any]]) -> list[list[Any]]:
    return em.times(factor, adjoint(factor))


def adjoint(rows: list[list[Any]]) -> list[list[Any]]:
    return [[each.conjugate() for each in column] for column in zip(*rows, strict=True)]


def check_cholesky(factor: list[list[Any]], dtype: str) -> None:
    a = hard.array(squared(factor), dtype)
    lower, upper = xp.linalg.cholesky(a), xp.linalg.cholesky(a, upper=True)
    assert_dtype(lower, dtype)
    assert_dtype(upper, dtype)
    assert lower.tolist() == factor
    assert upper.tolist() == adjoint(factor)
    assert_equal(xp.linalg.cholesky(a, upper=False), lower)


@dtypes
@run_each("kind", FACTORS)
def test_cholesky_of_squares(kind: str, dtype: str) -> None:
    check_cholesky(FACTORS[kind], dtype)


@run_each("dtype", ["complex64", "complex128"])
@run_each("kind", COMPLEX_FACTORS)
def test_cholesky_of_complex_squares(kind: str, dtype: str) -> None:
    check_cholesky(COMPLEX_FACTORS[kind], dtype)


# --- qr


@dtypes
@run_each("mode", ["reduced", "complete"])
def test_qr_of_one_column(mode: str, dtype: str) -> None:
    """R is the norm of the column, but for its sign, and Q the column divided by R."""
    a = hard.array([[3], [4]], dtype)
    q, r = xp.linalg.qr(a, mode=mode)
    bound = 40 * em.epsilon(dtype)
    first = complex(r[0, 0])
    assert abs(abs(first) - 5) <= bound * 5
    assert abs(complex(q[0, 0]) * first - 3) <= bound * 5
    assert abs(complex(q[1, 0]) * first - 4) <= bound * 5
    assert r.shape == ((2, 1) if mode == "complete" else (1, 1))
    assert mode == "reduced" or complex(r[1, 0]) == 0


@dtypes
def test_qr_of_one_row(dtype: str) -> None:
    a = hard.array([[2, -1, 0, 5]], dtype)
    for mode in ("reduced", "complete"):
        q, r = xp.linalg.qr(a, mode=mode)
        assert q.shape == (1, 1) and r.shape == (1, 4)
        assert abs(complex(q[0, 0])) == 1
        assert (q[0, 0] * r).tolist() == a.tolist()


@dtypes
def test_qr_of_the_identity(dtype: str) -> None:
    """Both factors are diagonal, with elements of size 1."""
    for m, n in ((3, 3), (4, 2), (2, 4)):
        a = xp.eye(m, n, dtype=dtype)
        for mode in ("reduced", "complete"):
            q, r = xp.linalg.qr(a, mode=mode)
            assert xp.abs(q).tolist() == xp.eye(*q.shape).tolist()
            assert xp.abs(r).tolist() == xp.eye(*r.shape).tolist()


@dtypes
def test_the_reduced_factors_are_parts_of_the_complete_ones(dtype: str) -> None:
    """Up to rounding: the same signs."""
    for m, n in ((5, 3), (3, 5), (4, 4)):
        a = hard.array(hard.random_rows(m, n, dtype), dtype)
        k = min(m, n)
        q, r = xp.linalg.qr(a)
        whole_q, whole_r = xp.linalg.qr(a, mode="complete")
        bound = 40 * m * em.epsilon(dtype)
        for small, large in ((q, whole_q[:, :k]), (r, whole_r[:k, :])):
            assert small.shape == large.shape
            assert float(xp.max(xp.astype(xp.abs(small - large), "float64"))) <= bound


def test_modes_are_compared_by_value() -> None:
    class Text(str):
        __slots__ = ()

    a = hard.array(hard.random_rows(4, 2, "float64"), "float64")
    for mode in ("reduced", "complete"):
        for one, other in zip(
            xp.linalg.qr(a, mode=mode), xp.linalg.qr(a, mode=Text(mode)), strict=True
        ):
            assert_equal(one, other)
