"""Stacks with two axes of one extent, limits of ranks, extreme scales, and entries not finite."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.decomposition_calls import CALLS, parts

import refarray

xp: Any = refarray
la: Any = refarray.linalg
FUNCTIONS = {**CALLS, "trace": la.trace, "diagonal": la.diagonal}
del FUNCTIONS["vector_norm"]  # of the whole array


def definite(seed: int) -> list[list[float]]:
    """A positive definite matrix; each seed gives another one."""
    return [[4.0 + seed, 1.0], [1.0, 3.0 + seed * seed]]


@run_each("name", FUNCTIONS)
def test_two_equal_axes_of_a_stack_keep_their_order(name: str) -> None:
    x = xp.asarray([[definite(2 * i + j) for j in range(2)] for i in range(2)])
    if name == "matrix_rank":
        x[0, 1, ...] = 1.0
    whole = parts(FUNCTIONS[name](x))
    for i in range(2):
        for j in range(2):
            for part, one in zip(whole, parts(FUNCTIONS[name](x[i, j])), strict=True):
                assert part[i, j, ...].tolist() == one.tolist()


def rank(x: Any, rtol: Any) -> Any:
    return la.matrix_rank(x, rtol=rtol).tolist()


def rank_of_pinv(x: Any, rtol: Any) -> Any:
    """The number of entries of the inverse of a diagonal matrix that are not zero."""
    return xp.count_nonzero(la.pinv(x, rtol=rtol), axis=(-2, -1)).tolist()


RANKS = pytest.mark.parametrize(
    "ranks",
    [pytest.param(rank, id="matrix_rank"), pytest.param(rank_of_pinv, id="pinv")],
)


def diagonal(*values: float, dtype: str = "float64") -> Any:
    out = xp.zeros((len(values), len(values)), dtype=dtype)
    for i, value in enumerate(values):
        out[i, i] = value
    return out


@RANKS
@pytest.mark.parametrize("rtol", [0.5, 0.25, 2.0**-900])
def test_singular_values_at_the_limit_do_not_count(ranks: Any, rtol: float) -> None:
    x = diagonal(2.0, 2 * rtol)
    assert ranks(x, rtol) == 1
    assert ranks(x, xp.asarray(rtol)) == 1
    x = diagonal(2.0, 2 * math.nextafter(rtol, 1))
    assert ranks(x, rtol) == 2
    assert ranks(x, xp.asarray(rtol)) == 2


@RANKS
def test_a_number_as_rtol_is_not_rounded(ranks: Any) -> None:
    between = 0.1 + 1e-10  # 0.1 in float32 is 0.1 + 1.5e-9
    assert ranks(diagonal(1.0, between), 0.1) == 2
    assert ranks(diagonal(1.0, 0.1 - 1e-10), 0.1) == 1


@RANKS
def test_rtol_of_two_axes_meets_the_stack_in_order(ranks: Any) -> None:
    x = xp.broadcast_to(diagonal(1.0, 0.5), (2, 2, 2, 2))
    assert ranks(x, xp.asarray([[0.1, 0.9], [0.2, 0.3]])) == [[2, 1], [2, 2]]


@pytest.mark.parametrize("scale", [1e-13, 2.0**-500, 2.0**-1000])
def test_det_of_small_numbers_is_not_zero(scale: float) -> None:
    assert la.det(diagonal(scale, 2.0)).item() == 2 * scale


@run_each("scale", [2.0**-1000, 2.0**-600, 2.0**600, 2.0**1000])
@run_each("dtype", ["float64", "complex128"])
def test_scale_makes_no_matrix_singular_to_inv_and_solve(scale: float, dtype: str) -> None:
    x = diagonal(scale, 2 * scale, dtype=dtype)
    expected = [[1 / scale, 0], [0, 0.5 / scale]]
    assert la.inv(x).tolist() == expected
    assert la.solve(x, xp.eye(2, dtype=dtype)).tolist() == expected


@run_each("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_trace_of_nan(dtype: str) -> None:
    x = diagonal(1.0, math.nan, dtype=dtype)
    assert xp.isnan(la.trace(x)).item()
    assert la.trace(x, offset=1).item() == 0


@pytest.mark.parametrize(("dtype", "large"), [("float16", 2048.0), ("bfloat16", 256.0)])
def test_trace_of_narrow_formats_is_rounded_once(dtype: str, large: float) -> None:
    x = diagonal(large, 1.0, 1.0, dtype=dtype)
    assert la.trace(x).item() == large + 2
    assert la.trace(x).item() == xp.sum(la.diagonal(x)).item()


@run_each(("dtype", "digits"), [("float16", 10), ("bfloat16", 7), ("float32", 23)])
@run_each("n", [2, 50, 64, -50])
def test_powers_of_narrow_formats_are_rounded_once(dtype: str, digits: int, n: int) -> None:
    base = 1 + 45 * 2.0**-digits if dtype == "float32" else 1 + 2.0**-digits
    expected = xp.asarray(float(Fraction(base) ** n), dtype=dtype).item()
    out = la.matrix_power(diagonal(base, base, dtype=dtype), n)
    assert out.tolist() == [[expected, 0.0], [0.0, expected]]


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
