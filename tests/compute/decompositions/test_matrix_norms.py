"""matrix_norm: all orders, stacks, numbers whose squares over- or underflow, empty matrices."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard

import refarray

xp: Any = refarray
nan, inf = math.nan, math.inf
dtypes = run_each("dtype", em.DTYPES)
ORDERS = ("fro", "nuc", 1, -1, 2, -2, inf, -inf)
orders = run_each("ord", ORDERS, ids=str)


@run_each("dtype", ["float64", "complex128"])
@orders
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
def test_not_a_number(dtype: str) -> None:
    x = hard.stack((3, 2, 3), dtype)
    x[1, 1, 0] = nan
    for order in ("fro", "nuc", 1, 2, inf):
        out = xp.linalg.matrix_norm(x, ord=order).tolist()
        assert math.isnan(out[1]), order
        assert math.isfinite(out[0]) and math.isfinite(out[2]), order
    for order in (-1, -2, -inf):
        assert math.isnan(xp.linalg.matrix_norm(x, ord=order).tolist()[1]), order


@dtypes
def test_infinity(dtype: str) -> None:
    """Of one element; never a hang, and no finite number but of the smallest sum."""
    x = xp.asarray([[1.0, -inf], [2.0, 3.0]], dtype=dtype)
    for order in ("fro", 1, inf):
        assert float(xp.linalg.matrix_norm(x, ord=order)) == inf
    assert float(xp.linalg.matrix_norm(x, ord=-1)) == 3
    assert float(xp.linalg.matrix_norm(x, ord=-inf)) == 5
    for order in ("nuc", 2):
        assert not math.isfinite(float(xp.linalg.matrix_norm(x, ord=order)))
