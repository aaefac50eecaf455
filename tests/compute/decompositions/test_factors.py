"""cholesky and qr of matrices whose factors are known."""

from __future__ import annotations

from typing import Any

from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.checks import assert_dtype, assert_equal

import refarray

xp: Any = refarray
dtypes = run_each("dtype", em.DTYPES)
#: Lower factors: all steps of every algorithm are exact.
FACTORS: dict[str, list[list[Any]]] = {
    "one": [[3]],
    "two": [[2, 0], [1, 2]],
    "three": [[1, 0, 0], [2, 1, 0], [-1, 3, 2]],
    "four": [[2, 0, 0, 0], [0, 1, 0, 0], [1, 2, 4, 0], [-1, 1, 0.5, 1]],
    "diagonal": [[4, 0], [0, 0.5]],
    "complex two": [[2, 0], [1 + 1j, 1]],
    "complex three": [[1, 0, 0], [2j, 2, 0], [1 - 1j, 0.5j, 4]],
    "imaginary": [[1, 0], [1j, 1]],
}


@dtypes
@run_each("kind", FACTORS)
def test_cholesky_of_squares(kind: str, dtype: str) -> None:
    factor = xp.asarray(FACTORS[kind])
    if str(factor.dtype) == "complex128" and dtype in em.REAL:
        return
    factor = xp.astype(factor, dtype)
    a = xp.matmul(factor, xp.conj(factor).mT)
    for upper, right in ((False, factor), (True, xp.conj(factor).mT)):
        out = xp.linalg.cholesky(a, upper=upper)
        assert_dtype(out, dtype)
        assert out.tolist() == right.tolist()


@run_each("power", [-1000, 1000])
def test_cholesky_of_tiny_and_huge_numbers(power: int) -> None:
    for n in (1, 2, 3, 6):
        a = hard.positive_definite((n, n), "float64") * 2.0**power
        f, whole = em.exact(xp.linalg.cholesky(a).tolist()), em.exact(a.tolist())
        error = em.difference(whole, em.product(f, em.adjoint(f)))
        em.assert_small(error, whole, n, "float64", ("L L^T", n))


# --- qr


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
