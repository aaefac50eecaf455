"""NaN, infinities, signed zeros and matrices without elements in decompositions."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.decomposition_calls import ALL_NAN, CALLS, parts

import refarray

xp: Any = refarray
nan, inf = math.nan, math.inf
dtypes = run_each("dtype", em.DTYPES)
specials = run_each("special", [nan, inf, -inf], ids=str)
#: With those of square matrices whose results other elements reach in part.
FUNCTIONS = (*ALL_NAN, "cholesky", "det", "inv", "matrix_power", "slogdet", "solve vector")


@dtypes
@specials
@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_matrices_of_the_stack_have_the_same_bits(
    name: str, special: float, dtype: str
) -> None:
    function = CALLS[name]
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


@run_each("name", FUNCTIONS)
def test_large_matrices_of_nan_end(name: str) -> None:
    """No iteration waits for a NaN to vanish."""
    for value in (nan, inf):
        for dtype in ("float64", "complex128"):
            x = xp.full((60, 60), value, dtype=dtype)
            for each in parts(CALLS[name](x)):
                assert name == "cholesky" or not xp.any(xp.isfinite(each))


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
