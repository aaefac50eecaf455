"""vector_norm and matrix_norm: numbers whose powers or squares over- or underflow, zeros, values
that are not finite, and orders of other types."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.number_likes import IntLike
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.checks import assert_dtype, flat
from properties.models.norms import is_norm, vector

import refarray

xp: Any = refarray
nan, inf = math.nan, math.inf
dtypes = run_each("dtype", em.DTYPES)
ORDERS = (2, 1, 0, 3, 0.5, -1, -2, -0.5, 1.5, 7, inf, -inf)
orders = run_each("ord", ORDERS, ids=str)


def check(x: Any, order: float) -> None:
    """Against the model of vector_norm()."""
    out, kind = xp.linalg.vector_norm(x, ord=order), em.real_dtype(str(x.dtype))
    assert_dtype(out, kind)
    right = vector(flat(x), order)
    assert out.shape == () and is_norm(float(out), right, kind), (out, right)


#: Exponents of two of elements whose powers are no numbers of the dtype.
FAR = {
    "float16": (-13, 12),
    "bfloat16": (-125, 120),
    "float32": (-125, 120),
    "float64": (-1000, 1010),
}


@dtypes
@orders
def test_powers_neither_overflow_nor_vanish(ord: float, dtype: str) -> None:
    for power in FAR[em.real_dtype(dtype)]:
        if ord in (0.5, -0.5) and dtype == "float16":
            power = power * 3 // 4
        x = hard.array(hard.scaled(hard.random_rows(1, 5, dtype, ord), power), dtype)[0, :]
        check(x, ord)
        check(xp.concat([x, xp.asarray([1.0], dtype=dtype)]), ord)


@run_each("value", [1e300, 1e-300, 5e-324, 1.7e308, 2.5e-308], ids=str)
def test_norms_near_the_limits(value: float) -> None:
    x = xp.asarray([value, -value, 0.0])
    if value < 1.2e308:  # otherwise the norm is no number
        check(x, 2)
    assert float(xp.linalg.vector_norm(x[:1])) == value
    for order in (1, 2, 3, 7.5, inf, -1, -3, -inf):
        check(x[:1], order)
    point = xp.asarray([complex(value / 2, value / 2)])
    for order in (1, 2, 3, inf, -inf, -2):
        check(point, order)


def test_norms_that_overflow() -> None:
    x = xp.asarray([1.7e308, 1.7e308])
    assert float(xp.linalg.vector_norm(x)) == inf == float(xp.linalg.vector_norm(x, ord=1))
    small = xp.asarray([60000.0, 60000.0], dtype="float16")
    assert float(xp.linalg.vector_norm(small)) == inf
    assert float(xp.linalg.vector_norm(small, ord=inf)) == 60000


@run_each("ord", [20, 100, 1000, -20, -1000, 1e10, -1e10, 1e300], ids=str)
def test_large_orders(ord: float) -> None:
    for values in ([1.0, 2.0, 3.0], [1e300, 2e300], [1e-300, 1e-301], [0.5] * 9):
        check(xp.asarray(values), ord)


@run_each("dtype", ["float32", "float64", "complex64"])
@run_each("ord", [1, 2, 3, -1, inf], ids=str)
def test_long_vectors(ord: float, dtype: str) -> None:
    check(hard.stack((2000,), dtype), ord)


@dtypes
def test_order_zero_counts(dtype: str) -> None:
    x = xp.asarray([0.0, -0.0, 1.0, -2.0, nan, inf], dtype=dtype)
    assert float(xp.linalg.vector_norm(x, ord=0)) == 4
    assert float(xp.linalg.vector_norm(x[:2], ord=0)) == 0
    assert float(xp.linalg.vector_norm(x, ord=-0.0)) == 4
    many = xp.ones((30, 70), dtype=dtype)
    assert float(xp.linalg.vector_norm(many, ord=0)) == (2096 if dtype == "bfloat16" else 2100)
    if dtype not in em.REAL:
        assert float(xp.linalg.vector_norm(xp.asarray([1j, 0j], dtype=dtype), ord=0)) == 1


@dtypes
def test_zeros(dtype: str) -> None:
    """Of a negative order, one zero gives 0."""
    x = xp.asarray([3.0, 0.0, -4.0], dtype=dtype)
    for order in (-1, -2, -0.5, -inf):
        assert float(xp.linalg.vector_norm(x, ord=order)) == 0
    for order in ORDERS:
        out = float(xp.linalg.vector_norm(xp.zeros((2, 3), dtype=dtype), ord=order))
        assert out == 0 and math.copysign(1, out) == 1


@run_each("dtype", ["complex64", "complex128"])
@run_each("order", [-0.5, -1, -2, -7])
def test_magnitudes_that_overflow_have_norms_of_negative_orders(order: float, dtype: str) -> None:
    """The absolute values of the largest elements are beyond the range, and the norm is not."""
    large = 2.0**127 if dtype == "complex64" else 2.0**1023
    for sizes in ([1.0, 1.0], [1.0, 0.5, 0.25], [1.0, 2.0**-40], [1.0] * 9):
        elements = [complex(1.5 * large * each, -1.5 * large * each) for each in sizes]
        exact = (sum(each**order for each in sizes) ** (1 / order)) * 1.5 * math.sqrt(2)
        wanted = exact * large if exact < 2 else inf
        out = float(xp.linalg.vector_norm(xp.asarray(elements, dtype=dtype), ord=order))
        assert out == pytest.approx(wanted, rel=1e-6 if dtype == "complex64" else 1e-14)


@dtypes
def test_special_values(dtype: str) -> None:
    x = xp.asarray([1.0, -inf, 2.0], dtype=dtype)
    for order in (0.5, 1, 2, 3, inf):
        assert float(xp.linalg.vector_norm(x, ord=order)) == inf
    assert float(xp.linalg.vector_norm(x, ord=-inf)) == 1
    assert math.isclose(float(xp.linalg.vector_norm(x, ord=-1)), 2 / 3, rel_tol=em.epsilon(dtype))
    y = xp.asarray([1.0, nan, 2.0], dtype=dtype)
    for order in (0.5, 1, 2, 3, inf, -1, -2, -inf):
        assert math.isnan(float(xp.linalg.vector_norm(y, ord=order))), order
    rows = xp.stack([x, y, xp.asarray([3.0, 0.0, 4.0], dtype=dtype)])
    found = xp.linalg.vector_norm(rows, axis=1).tolist()
    assert found[0] == inf and math.isnan(found[1]) and found[2] == 5
    if dtype not in em.REAL:
        z = xp.asarray([complex(nan, inf), 1], dtype=dtype)
        assert float(xp.linalg.vector_norm(z, ord=inf)) == inf
        assert float(xp.linalg.vector_norm(xp.asarray([complex(0, -inf)], dtype=dtype))) == inf


def test_orders_of_other_types() -> None:
    class Float(float):
        __slots__ = ()

    x = xp.asarray([3.0, 4.0])
    for order in (IntLike(2), Float(2.0), xp.asarray(2)):
        assert float(xp.linalg.vector_norm(x, ord=order)) == 5


# --- of matrices


MATRIX_ORDERS = ("fro", "nuc", 1, -1, 2, -2, inf, -inf)
matrix_orders = run_each("ord", MATRIX_ORDERS, ids=str)


@run_each("dtype", ["float64", "complex128"])
@matrix_orders
def test_scales(ord: str | float, dtype: str) -> None:
    """A power of two scales the norm: squares neither overflow nor vanish."""
    rows = hard.random_rows(4, 4, dtype, "scales")
    plain = float(xp.linalg.matrix_norm(hard.array(rows, dtype), ord=ord))
    for power in (-1000, -900, 900, 1010):
        out = float(xp.linalg.matrix_norm(hard.array(hard.scaled(rows, power), dtype), ord=ord))
        assert math.isclose(math.ldexp(out, -power), plain, rel_tol=1e-13), power


@pytest.mark.parametrize("value", [1e300, 1e-300], ids=str)
def test_frobenius_norms_near_the_limits(value: float) -> None:
    out = float(xp.linalg.matrix_norm(xp.full((3, 3), value)))
    assert math.isclose(out, 3 * value, rel_tol=4 * 2.0**-52)


@dtypes
def test_not_a_number_in_matrices(dtype: str) -> None:
    x = hard.stack((3, 2, 3), dtype)
    x[1, 1, 0] = nan
    for order in ("fro", "nuc", 1, 2, inf):
        out = xp.linalg.matrix_norm(x, ord=order).tolist()
        assert math.isnan(out[1]), order
        assert math.isfinite(out[0]) and math.isfinite(out[2]), order
    for order in (-1, -2, -inf):
        assert math.isnan(xp.linalg.matrix_norm(x, ord=order).tolist()[1]), order


@dtypes
def test_infinity_in_matrices(dtype: str) -> None:
    """Of one element; never a hang, and no finite number but of the smallest sum."""
    x = xp.asarray([[1.0, -inf], [2.0, 3.0]], dtype=dtype)
    for order in ("fro", 1, inf):
        assert float(xp.linalg.matrix_norm(x, ord=order)) == inf
    assert float(xp.linalg.matrix_norm(x, ord=-1)) == 3
    assert float(xp.linalg.matrix_norm(x, ord=-inf)) == 5
    for order in ("nuc", 2):
        assert not math.isfinite(float(xp.linalg.matrix_norm(x, ord=order)))
