"""svd, svdvals, pinv and matrix_rank of matrices whose singular values are known; rtol."""

from __future__ import annotations

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
#: Matrices and their singular values.
KNOWN: dict[str, tuple[list[list[Any]], list[float]]] = {
    "one": ([[-3]], [3]),
    "row": ([[3, 0, 4]], [5]),
    "column": ([[3], [0], [4]], [5]),
    "diagonal": ([[1, 0, 0], [0, -4, 0], [0, 0, 2]], [4, 2, 1]),
    "swap": ([[0, 2], [1, 0]], [2, 1]),
    "ones": ([[1, 1, 1], [1, 1, 1]], [6**0.5, 0]),
    "golden": ([[1, 1], [0, 1]], [(5**0.5 + 1) / 2, (5**0.5 - 1) / 2]),
    "zero": ([[0, 0], [0, 0], [0, 0]], [0, 0]),
    "wide": ([[2, 0, 0], [0, 3, 0]], [3, 2]),
}


@dtypes
@run_each("kind", KNOWN)
def test_singular_values(kind: str, dtype: str) -> None:
    rows, wanted = KNOWN[kind]
    a = hard.array(rows, dtype)
    bound = 10 * max(a.shape) * em.epsilon(dtype) * em.norm(rows)
    for full in (False, True):
        for values in (xp.linalg.svd(a, full_matrices=full).S, xp.linalg.svdvals(a)):
            assert_dtype(values, em.real_dtype(dtype))
            pairs = zip(values.tolist(), wanted, strict=True)
            assert all(abs(got - right) <= bound for got, right in pairs), values


# --- pinv


# --- rtol

STEPS = [8.0, 4.0, 2.0, 1.0]


def steps(dtype: str, shape: tuple[int, ...] = ()) -> Any:
    a = hard.array([[v * (i == j) for j in range(4)] for i, v in enumerate(STEPS)], dtype)
    return xp.broadcast_to(a, (*shape, 4, 4))


def inverted(count: int) -> list[list[float]]:
    return [[1 / v if i == j < count else 0.0 for j in range(4)] for i, v in enumerate(STEPS)]


RTOLS = [(0, 4), (0.0, 4), (0.1, 4), (0.2, 3), (0.3, 2), (0.6, 1), (0.9, 1), (1.5, 0), (7, 0)]


@dtypes
@run_each(("rtol", "count"), RTOLS)
def test_rtol_is_a_number(rtol: float, count: int, dtype: str) -> None:
    rank = xp.linalg.matrix_rank(steps(dtype), rtol=rtol)
    assert_dtype(rank, "int64")
    assert rank.shape == () and int(rank) == count
    assert xp.linalg.pinv(steps(dtype), rtol=rtol).tolist() == inverted(count)


@dtypes
def test_the_default_rtol(dtype: str) -> None:
    """max(M, N) eps of the dtype of x: smaller singular values do not count."""
    eps = em.epsilon(dtype)
    for m, n in ((2, 2), (2, 5), (7, 2)):
        for factor, count in ((0.75, 1), (1.5, 2)):
            small = factor * max(m, n) * eps
            rows = [
                [small if i == j == 1 else float(i == j == 0) for j in range(n)] for i in range(m)
            ]
            a = hard.array(rows, dtype)
            assert int(xp.linalg.matrix_rank(a)) == count
            inverse = float(xp.real(xp.linalg.pinv(a)[1, 1]))
            assert (inverse > 1) == (count == 2)
            assert int(xp.linalg.matrix_rank(a, rtol=max(m, n) * eps)) == count
            assert xp.linalg.pinv(a, rtol=max(m, n) * eps).tobytes() == xp.linalg.pinv(a).tobytes()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("power", [-1000, 1000])
def test_ranks_do_not_depend_on_the_scale(power: int, dtype: str) -> None:
    for kind, rank in (("random", 4), ("rank 1", 1), ("rank 2", 2)):
        rows = hard.scaled(hard.MATRICES[kind](4, 5, dtype), power)
        assert int(xp.linalg.matrix_rank(hard.array(rows, dtype))) == rank, kind
        small = xp.linalg.pinv(hard.array(rows, dtype))
        assert bool(xp.all(xp.isfinite(small))) and bool(xp.any(small))
