"""svd, svdvals, pinv and matrix_rank of matrices whose singular values are known; rtol."""

from __future__ import annotations

import math
from fractions import Fraction
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
#: Matrices of full rank.
FULL: dict[str, list[list[int]]] = {
    "square": [[1, 2], [3, 4]],
    "tall": [[1, 0], [1, 1], [0, 2]],
    "wide": [[1, 0, 2], [-1, 1, 1]],
    "column": [[2], [-1], [2]],
    "row": [[2, -1, 2]],
    "large": [[2, 1, 0, 0], [1, 3, 1, 0], [0, 1, 4, 1], [0, 0, 1, 5], [1, 0, 0, 1]],
}


def pseudoinverse(rows: list[list[int]]) -> list[list[Fraction]]:
    """(A^T A)^-1 A^T, or A^T (A A^T)^-1 of a wide matrix."""
    turned = [list(column) for column in zip(*rows, strict=True)]
    if len(rows) >= len(turned):
        return em.times(em.inverse(em.times(turned, rows)), turned)
    return em.times(turned, em.inverse(em.times(rows, turned)))


def assert_near(out: Any, wanted: list[list[Any]], bound: float) -> None:
    got = out.tolist()
    for row, right in zip(got, wanted, strict=True):
        for pair in zip(row, right, strict=True):
            assert abs(complex(pair[0]) - complex(pair[1])) <= bound, (got, wanted)


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


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_singular_values_of_complex_matrices(dtype: str) -> None:
    cases: list[tuple[list[list[Any]], list[float]]] = [
        ([[1j]], [1.0]),
        ([[0, 2j], [-3, 0]], [3.0, 2.0]),
        ([[1, 1j], [1j, 1]], [2**0.5, 2**0.5]),
        ([[3 + 4j, 0, 0]], [5.0]),
    ]
    for rows, wanted in cases:
        values = xp.linalg.svdvals(hard.array(rows, dtype)).tolist()
        pairs = zip(values, wanted, strict=True)
        assert all(abs(got - right) <= 40 * em.epsilon(dtype) for got, right in pairs)


@dtypes
def test_the_default_is_full_matrices(dtype: str) -> None:
    a = hard.array(hard.random_rows(2, 5, dtype), dtype)
    for one, other in zip(xp.linalg.svd(a), xp.linalg.svd(a, full_matrices=True), strict=True):
        assert_equal(one, other)
    assert xp.linalg.svd(a).Vh.shape == (5, 5)
    assert xp.linalg.svd(a.mT).U.shape == (5, 5)


@dtypes
def test_the_singular_values_of_the_adjoint_are_the_same(dtype: str) -> None:
    for m, n in ((3, 3), (5, 2), (2, 6)):
        a = hard.array(hard.random_rows(m, n, dtype), dtype)
        values, others = xp.linalg.svdvals(a), xp.linalg.svdvals(xp.conj(a).mT)
        bound = 20 * max(m, n) * em.epsilon(dtype)
        assert float(xp.max(xp.abs(values - others))) <= bound


# --- pinv


@dtypes
@run_each("kind", FULL)
def test_pseudoinverses_of_full_rank(kind: str, dtype: str) -> None:
    rows = FULL[kind]
    wanted = pseudoinverse(rows)
    out = xp.linalg.pinv(hard.array(rows, dtype))
    assert_dtype(out, dtype)
    assert out.shape == (len(rows[0]), len(rows))
    condition = em.norm(rows) * em.norm(wanted)
    eps = 40 * max(out.shape) * em.EPSILON["float64"] * condition + em.epsilon(dtype)
    assert_near(out, wanted, eps * em.norm(wanted))


@dtypes
def test_pseudoinverses_of_rank_one(dtype: str) -> None:
    """u v^H has the pseudoinverse v u^H / (|u|^2 |v|^2)."""
    u: list[Any] = [1, 2, -2]
    v: list[Any] = [1, -1, 1, 1]
    if dtype not in em.REAL:
        u, v = [1j, 2, -2], [1, -1j, 1j, 1]
    rows = [[a * complex(b).conjugate() for b in v] for a in u]
    if dtype in em.REAL:
        rows = [[each.real for each in row] for row in rows]
    wanted = [[b * complex(a).conjugate() / 36 for a in u] for b in v]
    out = xp.linalg.pinv(hard.array(rows, dtype))
    assert_near(out, wanted, 4 * em.epsilon(dtype))


@dtypes
def test_pseudoinverses_of_zeros_are_zeros(dtype: str) -> None:
    for shape in ((2, 2), (3, 1), (1, 3), (2, 2, 3)):
        for rtol in (None, 0, 0.5):
            out = xp.linalg.pinv(xp.zeros(shape, dtype=dtype), rtol=rtol)
            assert out.shape == (*shape[:-2], shape[-1], shape[-2])
            assert_dtype(out, dtype)
            assert not xp.any(out)


@dtypes
@run_each("kind", ["random", "rank 1", "rank 2", "defective", "signs", "constant"])
def test_the_four_equations_of_penrose(kind: str, dtype: str) -> None:
    for m, n in ((4, 4), (5, 3), (3, 5)):
        a = hard.array(hard.MATRICES[kind](m, n, dtype), dtype)
        p = xp.linalg.pinv(a)
        x, y = em.exact(a.tolist()), em.exact(p.tolist())
        size = max(em.norm(a.tolist()) * em.norm(p.tolist()), 1)
        limit = 20 * max(m, n) * size**2
        xy, yx = em.product(x, y), em.product(y, x)
        for error, whole in (
            (em.difference(em.product(xy, x), x), x),
            (em.difference(em.product(yx, y), y), y),
            (em.difference(xy, em.adjoint(xy)), xy),
            (em.difference(yx, em.adjoint(yx)), yx),
        ):
            em.assert_small(error, whole, 1, dtype, (kind, m, n), limit)


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
def test_rtol_is_an_array(dtype: str) -> None:
    """Of any real-valued floating-point dtype; it broadcasts to the shape of the stack."""
    numbers, counts = zip(*RTOLS, strict=True)
    for kind in ("float16", "bfloat16", "float32", "float64"):
        rtol = xp.asarray(numbers, dtype=kind)
        rank = xp.linalg.matrix_rank(steps(dtype, (9,)), rtol=rtol)
        assert_dtype(rank, "int64")
        assert rank.tolist() == list(counts)
        out = xp.linalg.pinv(steps(dtype, (9,)), rtol=rtol)
        assert_dtype(out, dtype)
        assert out.tolist() == [inverted(count) for count in counts]


@dtypes
def test_rtol_broadcasts(dtype: str) -> None:
    a = steps(dtype, (2, 3))
    for rtol, wanted in (
        (xp.asarray(0.3), [[2, 2, 2], [2, 2, 2]]),
        (xp.asarray([0.3]), [[2, 2, 2], [2, 2, 2]]),
        (xp.asarray([0.1, 0.3, 0.6]), [[4, 2, 1], [4, 2, 1]]),
        (xp.asarray([[0.3], [0.6]]), [[2, 2, 2], [1, 1, 1]]),
        (xp.asarray([[0.1, 0.2, 0.3], [0.6, 0.1, 2]]), [[4, 3, 2], [1, 4, 0]]),
    ):
        assert xp.linalg.matrix_rank(a, rtol=rtol).tolist() == wanted
        out = xp.linalg.pinv(a, rtol=rtol).tolist()
        assert out == [[inverted(count) for count in row] for row in wanted]
    point = xp.linalg.matrix_rank(a[0, 0], rtol=xp.asarray(0.3))
    assert point.shape == () and int(point) == 2


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


@dtypes
def test_ranks(dtype: str) -> None:
    for kind, rank in (("random", 9), ("rank 1", 1), ("rank 2", 2), ("constant", 1), ("zero", 0)):
        for m, n in ((1, 1), (3, 3), (4, 6), (6, 4)):
            a = hard.array(hard.MATRICES[kind](m, n, dtype), dtype)
            exact = 0 if not xp.any(a) else min(rank, m, n)
            assert int(xp.linalg.matrix_rank(a)) == exact, (kind, m, n)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("power", [-1000, 1000])
def test_ranks_do_not_depend_on_the_scale(power: int, dtype: str) -> None:
    for kind, rank in (("random", 4), ("rank 1", 1), ("rank 2", 2)):
        rows = hard.scaled(hard.MATRICES[kind](4, 5, dtype), power)
        assert int(xp.linalg.matrix_rank(hard.array(rows, dtype))) == rank, kind
        small = xp.linalg.pinv(hard.array(rows, dtype))
        assert bool(xp.all(xp.isfinite(small))) and bool(xp.any(small))


@dtypes
def test_results_are_those_of_the_wide_dtype_rounded_once(dtype: str) -> None:
    wide = em.wide_dtype(dtype)
    for m, n in ((3, 3), (5, 2), (2, 6)):
        a = hard.array(hard.random_rows(m, n, dtype, "once"), dtype)
        b = xp.astype(a, wide)
        pairs = [*zip(xp.linalg.svd(a), xp.linalg.svd(b), strict=True)]
        pairs.append((xp.linalg.svdvals(a), xp.linalg.svdvals(b)))
        pairs.append((xp.linalg.pinv(a, rtol=0.1), xp.linalg.pinv(b, rtol=0.1)))
        pairs += zip(xp.linalg.qr(a), xp.linalg.qr(b), strict=True)
        for narrow, exact in pairs:
            assert_equal(narrow, xp.astype(exact, narrow.dtype))
