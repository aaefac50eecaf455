"""NaN, infinities, signed zeros and matrices without elements in decompositions."""

from __future__ import annotations

import math
from collections.abc import Callable
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
specials = run_each("special", [nan, inf, -inf], ids=str)
Function = Callable[[Any], Any]
#: Functions of which one element that is not finite makes all results of the matrix NaN.
WHOLE: dict[str, Function] = {
    "eig": lambda x: xp.linalg.eig(x),
    "eigh": lambda x: xp.linalg.eigh(x),
    "eigvals": lambda x: xp.linalg.eigvals(x),
    "eigvalsh": lambda x: xp.linalg.eigvalsh(x),
    "pinv": lambda x: xp.linalg.pinv(x),
    "qr": lambda x: xp.linalg.qr(x),
    "qr complete": lambda x: xp.linalg.qr(x, mode="complete"),
    "svd": lambda x: xp.linalg.svd(x),
    "svd reduced": lambda x: xp.linalg.svd(x, full_matrices=False),
    "svdvals": lambda x: xp.linalg.svdvals(x),
}
#: Functions of square matrices whose results other elements reach in part.
PARTS: dict[str, Function] = {
    "cholesky": lambda x: xp.linalg.cholesky(x),
    "det": lambda x: xp.linalg.det(x),
    "inv": lambda x: xp.linalg.inv(x),
    "power": lambda x: xp.linalg.matrix_power(x, 3),
    "slogdet": lambda x: xp.linalg.slogdet(x),
    "solve": lambda x: xp.linalg.solve(x, xp.ones(x.shape[-1], dtype=x.dtype)),
}
OBLONG = ("pinv", "qr", "qr complete", "svd", "svd reduced", "svdvals")


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@dtypes
@specials
@pytest.mark.parametrize("name", WHOLE)
def test_all_results_of_the_matrix_are_nan(name: str, special: float, dtype: str) -> None:
    for n in (1, 3, 6):
        for i, j in {(0, 0), (n - 1, 0), (n - 1, n - 1), (n // 2, n // 2)}:
            x = hard.positive_definite((n, n), dtype)
            x[i, j] = special
            for each in parts(WHOLE[name](x)):
                assert xp.all(xp.isnan(each)), (n, i, j)


@dtypes
@specials
@pytest.mark.parametrize("name", OBLONG)
def test_all_results_of_oblong_matrices_are_nan(name: str, special: float, dtype: str) -> None:
    for m, n in ((1, 4), (4, 1), (5, 3), (3, 5)):
        for i, j in {(0, 0), (m - 1, 0), (0, n - 1), (m - 1, n - 1)}:
            x = hard.stack((m, n), dtype)
            x[i, j] = special
            for each in parts(WHOLE[name](x)):
                assert xp.all(xp.isnan(each)), (m, n, i, j)


@dtypes
@specials
@pytest.mark.parametrize("name", [*WHOLE, *PARTS])
def test_other_matrices_of_the_stack_have_the_same_bits(
    name: str, special: float, dtype: str
) -> None:
    function = {**WHOLE, **PARTS}[name]
    x = hard.positive_definite((5, 4, 4), dtype)
    wanted = [each.copy() for each in parts(function(x))]
    x[2, 0, 0] = abs(special)
    x[2, 3, 3] = abs(special)
    for each, right in zip(parts(function(x)), wanted, strict=True):
        for i in (0, 1, 3, 4):
            assert each[i].tobytes() == right[i].tobytes(), i


@dtypes
def test_eigenvalues_in_the_upper_triangle_are_not_read(dtype: str) -> None:
    """A NaN there reaches eig(), but neither eigh() nor cholesky()."""
    x = hard.positive_definite((4, 4), dtype)
    x[0, 3] = nan
    for function in (xp.linalg.eigh, xp.linalg.eigvalsh, xp.linalg.cholesky):
        assert all(xp.all(xp.isfinite(each)) for each in parts(function(x)))
    assert xp.all(xp.isnan(xp.linalg.eigvals(x)))


@dtypes
def test_nan_reaches_determinants_and_inverses(dtype: str) -> None:
    for n in (1, 2, 4):
        x = hard.positive_definite((n, n), dtype)
        x[0, 0] = nan
        assert xp.isnan(xp.linalg.det(x))
        assert xp.isnan(xp.linalg.slogdet(x).sign) and xp.isnan(xp.linalg.slogdet(x).logabsdet)
        assert xp.isnan(xp.linalg.inv(x)[0, 0])
        assert xp.all(xp.isnan(xp.linalg.solve(x, xp.ones(n, dtype=dtype))))
        assert xp.all(xp.isnan(xp.linalg.matrix_power(x, 2)[0, 0]))
        assert xp.isnan(xp.linalg.cholesky(x)[0, 0])


@dtypes
def test_nan_on_the_right_reaches_one_column(dtype: str) -> None:
    a, b = hard.regular((3, 3), dtype), hard.stack((3, 4), dtype)
    wanted = xp.linalg.solve(a, b)
    b[1, 2] = nan
    x = xp.linalg.solve(a, b)
    assert xp.all(xp.isnan(x[:, 2]))
    for j in (0, 1, 3):
        assert x[:, j].tolist() == wanted[:, j].tolist()


@dtypes
def test_cholesky_before_the_nan(dtype: str) -> None:
    """Rows that the NaN does not reach have the same bits."""
    x = hard.positive_definite((5, 5), dtype)
    wanted = xp.linalg.cholesky(x)
    x[3, 1] = nan
    out = xp.linalg.cholesky(x)
    assert out[:3].tobytes() == wanted[:3].tobytes()
    assert xp.isnan(out[3, 1]) and xp.isnan(out[3, 3]) and not xp.any(xp.triu(out, k=1))
    assert not xp.isnan(out[3, 0]) and not xp.isnan(out[4, 2])


@dtypes
def test_infinities_on_the_diagonal(dtype: str) -> None:
    x = xp.eye(2, dtype=dtype)
    x[0, 0] = inf
    assert not xp.isfinite(xp.linalg.det(x))
    assert not xp.isfinite(xp.linalg.slogdet(x).logabsdet)
    assert not xp.isfinite(xp.linalg.cholesky(x)[0, 0])
    if dtype in em.REAL:  # a complex quotient of an infinity may be NaN
        assert float(xp.linalg.cholesky(x)[1, 1]) == 1


@dtypes
@specials
def test_ranks_of_matrices_that_are_not_finite(special: float, dtype: str) -> None:
    x = hard.positive_definite((3, 4, 4), dtype)
    x[1, 2, 3] = special
    for rtol in (None, 0, 0.5, xp.asarray([0.0, 0.0, 0.0])):
        ranks = xp.linalg.matrix_rank(x, rtol=rtol).tolist()
        assert ranks == [4, 0, 4]


@run_each("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", WHOLE)
def test_imaginary_parts_that_are_not_finite(name: str, dtype: str) -> None:
    for special in (complex(0, nan), complex(1, inf), complex(inf, nan)):
        x = hard.positive_definite((3, 3), dtype)
        x[2, 0] = special
        for each in parts(WHOLE[name](x)):
            assert xp.all(xp.isnan(each))


@run_each("name", [*WHOLE, *PARTS])
def test_large_matrices_of_nan_end(name: str) -> None:
    """No iteration waits for a NaN to vanish."""
    for value in (nan, inf):
        for dtype in ("float64", "complex128"):
            x = xp.full((60, 60), value, dtype=dtype)
            for each in parts({**WHOLE, **PARTS}[name](x)):
                assert name == "cholesky" or not xp.any(xp.isfinite(each))


# --- matrices without elements


@dtypes
def test_matrices_without_elements(dtype: str) -> None:
    for leading in ((), (3,), (2, 1)):
        x = xp.zeros((*leading, 0, 0), dtype=dtype)
        det = xp.linalg.det(x)
        assert_dtype(det, dtype)
        assert det.tobytes() == xp.ones(leading, dtype=dtype).tobytes() and det.shape == leading
        sign, logarithm = xp.linalg.slogdet(x)
        assert_dtype(sign, dtype)
        assert_dtype(logarithm, em.real_dtype(dtype))
        assert sign.tobytes() == det.tobytes() and not xp.any(logarithm)
        assert sign.shape == logarithm.shape == leading
        for function in (xp.linalg.inv, xp.linalg.cholesky, xp.linalg.pinv):
            assert function(x).shape == x.shape
            assert_dtype(function(x), dtype)
        for n in (0, 1, 3, -2):
            assert xp.linalg.matrix_power(x, n).shape == x.shape
        trace = xp.linalg.trace(x)
        assert trace.shape == leading and not xp.any(trace)
        rank = xp.linalg.matrix_rank(x)
        assert rank.shape == leading and not xp.any(rank)
        assert_dtype(rank, "int64")


@dtypes
def test_eigenvalues_of_matrices_without_elements(dtype: str) -> None:
    real, other = em.real_dtype(dtype), em.complex_dtype(dtype)
    for leading in ((), (3,), (2, 1)):
        x = xp.zeros((*leading, 0, 0), dtype=dtype)
        for function, kind in ((xp.linalg.eig, other), (xp.linalg.eigh, real)):
            values, vectors = function(x)
            assert values.shape == (*leading, 0) and vectors.shape == x.shape
            assert_dtype(values, kind)
            assert_dtype(vectors, other if function is xp.linalg.eig else dtype)
        assert xp.linalg.eigvals(x).shape == xp.linalg.eigvalsh(x).shape == (*leading, 0)
        assert_dtype(xp.linalg.eigvals(x), other)
        assert_dtype(xp.linalg.eigvalsh(x), real)


@dtypes
def test_solve_without_elements(dtype: str) -> None:
    for left, right, shape in (
        ((0, 0), (0,), (0,)),
        ((0, 0), (0, 3), (0, 3)),
        ((2, 0, 0), (0,), (2, 0)),
        ((2, 0, 0), (0, 3), (2, 0, 3)),
        ((2, 2), (2, 0), (2, 0)),
        ((0, 2, 2), (2,), (0, 2)),
        ((0, 2, 2), (1, 2, 3), (0, 2, 3)),
        ((3, 1, 2, 2), (0, 2, 1), (3, 0, 2, 1)),
    ):
        a = xp.zeros(left, dtype=dtype) + xp.eye(left[-1], dtype=dtype)
        x = xp.linalg.solve(a, xp.zeros(right, dtype=dtype))
        assert x.shape == shape, (left, right)
        assert_dtype(x, dtype)


def assert_identity(x: Any) -> None:
    """Or another orthogonal matrix: of no columns, nothing is determined."""
    n = x.shape[-1]
    for _, rows in em.matrices(x):
        em.assert_orthonormal(em.exact(rows), str(x.dtype), "an empty matrix")
    assert x.shape[-2] == n


@dtypes
def test_factors_of_oblong_matrices_without_elements(dtype: str) -> None:
    for leading in ((), (2,)):
        for m, n in ((0, 3), (3, 0), (0, 0), (1, 0), (0, 1)):
            x = xp.zeros((*leading, m, n), dtype=dtype)
            q, r = xp.linalg.qr(x)
            assert q.shape == (*leading, m, 0) and r.shape == (*leading, 0, n)
            q, r = xp.linalg.qr(x, mode="complete")
            assert q.shape == (*leading, m, m) and r.shape == x.shape
            u, s, vh = xp.linalg.svd(x)
            assert u.shape == (*leading, m, m) and vh.shape == (*leading, n, n)
            assert s.shape == (*leading, 0) == xp.linalg.svdvals(x).shape
            assert_dtype(s, em.real_dtype(dtype))
            for each in (q, u, vh):
                assert_dtype(each, dtype)
                assert_identity(each)
            u, s, vh = xp.linalg.svd(x, full_matrices=False)
            assert u.shape == (*leading, m, 0) and vh.shape == (*leading, 0, n)
            assert xp.linalg.pinv(x).shape == (*leading, n, m)
            assert not xp.any(xp.linalg.matrix_rank(x))


# --- zeros


@dtypes
@run_each("zero", [0.0, -0.0], ids=str)
def test_matrices_of_zeros(zero: float, dtype: str) -> None:
    x = xp.full((3, 3), zero, dtype=dtype)
    assert complex(xp.linalg.det(x)) == 0
    values, vectors = xp.linalg.eigh(x)
    assert not xp.any(values)
    em.assert_orthonormal(em.exact(vectors.tolist()), dtype, "V")
    s = xp.linalg.svdvals(x)
    assert not xp.any(s) and not xp.any(xp.signbit(s))
    q, r = xp.linalg.qr(x)
    em.assert_orthonormal(em.exact(q.tolist()), dtype, "Q")
    assert not xp.any(r)
    values, vectors = xp.linalg.eig(x)
    assert not xp.any(values)
    assert sorted(xp.abs(vectors).tolist()) == sorted(xp.eye(3).tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_subnormal_numbers(dtype: str) -> None:
    """They are not taken for zero."""
    small = float(xp.finfo(dtype).smallest_normal) / 8
    x = xp.eye(2, dtype=dtype) * small
    assert xp.linalg.svdvals(x).tolist() == [small, small]
    assert xp.linalg.eigvalsh(x).tolist() == [small, small]
    assert int(xp.linalg.matrix_rank(x)) == 2
    assert float(xp.linalg.matrix_norm(x, ord=2)) == small
    logarithm = float(xp.linalg.slogdet(x).logabsdet)
    assert math.isclose(logarithm, 2 * math.log(small), rel_tol=1e-6)
    assert xp.linalg.solve(x, xp.asarray([small, 0.0], dtype=dtype)).tolist() == [1.0, 0.0]
