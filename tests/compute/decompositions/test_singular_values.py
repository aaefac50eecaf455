"""svd, svdvals, pinv and matrix_rank of matrices whose singular values are known; rtol."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard

import refarray

xp: Any = refarray
dtypes = run_each("dtype", em.DTYPES)


# --- rtol


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
    for kind, rank in ((hard.random_rows, 4), (hard.rank_one, 1), (hard.rank_two, 2)):
        rows = hard.scaled(kind(4, 5, dtype), power)
        assert int(xp.linalg.matrix_rank(hard.array(rows, dtype))) == rank, kind.__name__
        small = xp.linalg.pinv(hard.array(rows, dtype))
        assert bool(xp.all(xp.isfinite(small))) and bool(xp.any(small))
