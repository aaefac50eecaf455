"""det, slogdet, inv, solve, matrix_power, cholesky and qr of matrices whose results are known; NaN,
infinities, signed zeros and matrices without elements in all decompositions."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest
from helpers.cases import run_each
from helpers.number_likes import IntLike
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.checks import assert_dtype, assert_equal
from oracles.decomposition_calls import ALL_NAN, CALLS, parts

import refarray

xp: Any = refarray
nan, inf = math.nan, math.inf
dtypes = run_each("dtype", em.DTYPES)
#: Matrices on which every algorithm without needless divisions is exact: values and inverses.
EXACT: dict[str, tuple[list[list[Any]], Any, list[list[Any]]]] = {
    "identity": ([[1, 0], [0, 1]], 1, [[1, 0], [0, 1]]),
    "swap": ([[0, 1], [1, 0]], -1, [[0, 1], [1, 0]]),
    "rotation": ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], 1, [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    "diagonal": ([[2, 0, 0], [0, -4, 0], [0, 0, 0.5]], -4, [[0.5, 0, 0], [0, -0.25, 0], [0, 0, 2]]),
    "upper": ([[2, 4], [0, 8]], 16, [[0.5, -0.25], [0, 0.125]]),
    "lower": ([[1, 0], [3, 1]], 1, [[1, 0], [-3, 1]]),
}


@dtypes
@run_each("kind", EXACT)
def test_exact_values(kind: str, dtype: str) -> None:
    rows, determinant, inverse = EXACT[kind]
    a = hard.array(rows, dtype)
    det, inv = xp.linalg.det(a), xp.linalg.inv(a)
    assert det.shape == () and inv.shape == a.shape
    assert_dtype(det, dtype)
    assert_dtype(inv, dtype)
    assert complex(det) == determinant
    assert inv.tolist() == inverse
    sign, logarithm = xp.linalg.slogdet(a)
    assert_dtype(sign, dtype)
    assert_dtype(logarithm, em.real_dtype(dtype))
    assert sign.shape == logarithm.shape == ()
    assert complex(sign) == (1 if determinant > 0 else -1)
    bound = 4 * em.epsilon(dtype)
    assert math.isclose(float(logarithm), math.log(abs(determinant)), rel_tol=bound, abs_tol=bound)
    assert xp.linalg.solve(a, xp.eye(len(rows), dtype=dtype)).tolist() == inverse


@pytest.mark.parametrize("power", [-900, -100, 100, 900])
def test_logarithms_of_determinants_that_are_no_numbers(power: int) -> None:
    """The determinant over- or underflows; its logarithm does not."""
    for n in (2, 3, 8):
        a = hard.array(hard.scaled(hard.random_rows(n, n, "float64"), power), "float64")
        plain = xp.linalg.slogdet(hard.array(hard.random_rows(n, n, "float64"), "float64"))
        sign, logarithm = xp.linalg.slogdet(a)
        assert float(sign) == float(plain.sign)
        with mpmath.workprec(100):
            wanted = mpmath.mpf(float(plain.logabsdet)) + n * power * mpmath.log(2)
        assert math.isclose(float(logarithm), float(wanted), rel_tol=1e-13)
        if abs(power) * n > 1100:
            det = float(xp.linalg.det(a))
            assert det == (math.copysign(inf, float(sign)) if power > 0 else 0), det


@dtypes
def test_determinants_whose_products_overflow_on_the_way(dtype: str) -> None:
    """Of float32 and narrower numbers, in float64: no partial product over- or underflows."""
    high = 14 if dtype == "float16" else 120
    if em.real_dtype(dtype) == "float64":
        high = 500
    values = [2.0**high, 2.0**high, 2.0**-high, 2.0**-high]
    rows = [[values[i] * (i == j) for j in range(4)] for i in range(4)]
    assert complex(xp.linalg.det(hard.array(rows, dtype))) == 1
    assert complex(xp.linalg.det(hard.array(rows[::-1], dtype))) == 1
    assert abs(float(xp.linalg.slogdet(hard.array(rows, dtype)).logabsdet)) < 1e-12


RANGES: dict[str, tuple[tuple[float, ...], float]] = {
    "two": ((2.0**1000, 2.0**-1000), 1.0),
    "four": ((2.0**-1000, 2.0**-1000, 2.0**1000, 2.0**1000), 1.0),
    "subnormal": ((2.0**-1074, 2.0**1000), 2.0**-74),
    "overflow": ((2.0**1000, 2.0**1000), inf),
    "underflow": ((2.0**-1000, -(2.0**-1000)), -0.0),
}


@run_each("dtype", ["float64", "complex128"])
def test_only_results_overflow_and_underflow(dtype: str) -> None:
    def matrix(*values: float) -> Any:
        return xp.eye(len(values), dtype=dtype) * xp.asarray(values, dtype=dtype)

    for values, right in RANGES.values():
        assert str(complex(xp.linalg.det(matrix(*values))).real) == str(right)
    sign, logarithm = xp.linalg.slogdet(matrix(-(2.0**1000), 2.0**1000))
    assert complex(sign) == -1 and math.isclose(float(logarithm), 2000 * math.log(2))
    x = matrix(2.0**1000, 2.0**-1000, 2.0**-1074)
    out = xp.linalg.solve(x, matrix(1.0, 1.0, 2.0**-74))
    assert xp.all(out == matrix(2.0**-1000, 2.0**1000, 2.0**1000))


# --- matrix_power

CYCLE: list[list[Any]] = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
POWERS: dict[str, tuple[list[list[Any]], int, list[list[Any]]]] = {
    "zero": ([[1, 2], [2, 4]], 0, [[1, 0], [0, 1]]),
    "zero of NaN": ([[nan, 2], [2, 4]], 0, [[1, 0], [0, 1]]),
    "one": ([[1, 2], [2, 4]], 1, [[1, 2], [2, 4]]),
    "two": ([[1, 2], [3, 4]], 2, [[7, 10], [15, 22]]),
    "three": ([[1, 2], [3, -4]], 3, [[-11, 38], [57, -106]]),
    "four": ([[1, 1], [1, 0]], 4, [[5, 3], [3, 2]]),
    "Fibonacci": ([[1, 1], [1, 0]], 11, [[144, 89], [89, 55]]),
    "shear": ([[1, 1], [0, 1]], 200, [[1, 200], [0, 1]]),
    "shear back": ([[1, 1], [0, 1]], -200, [[1, -200], [0, 1]]),
    "inverse": ([[2, 0], [0, 0.25]], -1, [[0.5, 0], [0, 4]]),
    "negative": ([[2, 0], [0, -0.5]], -3, [[0.125, 0], [0, -8]]),
    "vanishing": ([[0.5, 0], [0, 0]], 2**62, [[0, 0], [0, 0]]),
    "nilpotent": ([[0, 1], [0, 0]], 2**63 - 1, [[0, 0], [0, 0]]),
    "long cycle": (CYCLE, 3 * 2**60 + 1, CYCLE),
    "long cycle back": (CYCLE, -3 * 2**60 - 1, [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    "the least number": (CYCLE, -(2**63), CYCLE),
}


@dtypes
@run_each("kind", POWERS)
def test_powers(kind: str, dtype: str) -> None:
    rows, n, wanted = POWERS[kind]
    out = xp.linalg.matrix_power(hard.array(rows, dtype), n)
    assert_dtype(out, dtype)
    assert out.tolist() == wanted


@pytest.mark.parametrize("n", [2**63, 2**64, 3 * 2**80, 2**200], ids=lambda n: f"{n.bit_length()}")
def test_powers_of_more_than_64_bits(n: int) -> None:
    """The standard sets no limit: n counts products by its bits."""
    cycle = hard.array(CYCLE, "float64")
    for each in (n, n + 1, n + 2, -n, -n - 1):
        wanted = xp.linalg.matrix_power(cycle, each % 3)
        assert xp.linalg.matrix_power(cycle, each).tolist() == wanted.tolist()
    assert xp.linalg.matrix_power(hard.array([[0.5]], "float32"), n).tolist() == [[0]]


def test_powers_that_overflow() -> None:
    a = hard.array([[2, 0], [0, 0.5]], "float64")
    out = xp.linalg.matrix_power(a, 2000).tolist()
    assert not math.isfinite(out[0][0]) and not out[1][1] > 0
    assert float(xp.linalg.matrix_power(xp.full((1, 1), 2.0), 2000)[0, 0]) == inf


def test_powers_take_integers_of_other_types() -> None:
    a = hard.array([[1, 1], [1, 0]], "float64")
    for n in (IntLike(3), xp.asarray(3)):
        assert xp.linalg.matrix_power(a, n).tolist() == [[3, 2], [2, 1]]


# --- cholesky


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


def test_the_diagonal_of_r_has_the_signs_of_lapack() -> None:
    for sign in (1, -1):
        r = xp.linalg.qr(xp.asarray([[3.0 * sign, 1.0], [4.0 * sign, 2.0]])).R
        assert math.isclose(float(r[0, 0]), -5 * sign, rel_tol=2e-15)


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


# --- NaN, infinities, signed zeros and no elements


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


@specials
@run_each("dtype", ["float64", "complex128"])
@run_each("shape", [(5, 4), (30, 3), (30, 30), (40, 40)], ids=str)
def test_one_element_makes_all_results_of_larger_matrices_nan(
    shape: tuple[int, int], dtype: str, special: float
) -> None:
    m, n = shape
    x = hard.positive_definite((2, m, m), dtype)[:, :, :n].copy()
    x[0, m - 2, n // 3] = special
    for name in (
        ALL_NAN if m == n else ("pinv", "qr", "qr complete", "svd", "svd reduced", "svdvals")
    ):
        for part in parts(CALLS[name](x)):
            assert xp.all(xp.isnan(part[0, ...])), name
            assert xp.all(xp.isfinite(part[1, ...])), name
    if m == n:
        assert not xp.isfinite(xp.linalg.det(x)[0])
        inverse = xp.linalg.inv(x)[0, ...]
        assert not math.isnan(special) or xp.any(xp.isnan(inverse))


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
    assert xp.linalg.eigvalsh(hard.array([[2, 0], [0, 3]], dtype)).tolist() == [2, 3]
    small = float(xp.finfo(dtype).smallest_normal) / 8
    x = xp.eye(2, dtype=dtype) * small
    assert xp.linalg.svdvals(x).tolist() == [small, small]
    assert xp.linalg.eigvalsh(x).tolist() == [small, small]
    assert int(xp.linalg.matrix_rank(x)) == 2
    assert float(xp.linalg.matrix_norm(x, ord=2)) == small
    logarithm = float(xp.linalg.slogdet(x).logabsdet)
    assert math.isclose(logarithm, 2 * math.log(small), rel_tol=1e-6)
    assert xp.linalg.solve(x, xp.asarray([small, 0.0], dtype=dtype)).tolist() == [1.0, 0.0]


def test_a_rotation_by_a_subnormal_number() -> None:
    """Its quotient by its own rounded magnitude is off by a tenth."""
    x = [[0j] * 5 for _ in range(5)]
    x[1][1], x[2][1], x[2][2] = 0.4 + 0.5j, -0.003 + 0.0004j, complex(-2e-323, -1e-323)
    x[3][2], x[4][0] = 1e-219 + 1e-219j, -8e-145 + 9e-145j
    values, vectors = xp.linalg.eig(xp.asarray(x))
    assert xp.max(xp.abs(xp.asarray(x) @ vectors - vectors * values)) < 1e-15
