"""det, slogdet, inv, solve and matrix_power against exact fractions; singular matrices."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.checks import assert_dtype
from oracles.promotion import PROMOTION

import refarray

xp: Any = refarray
nan, inf = math.nan, math.inf
dtypes = run_each("dtype", em.DTYPES)
#: Regular matrices of small integers.
INTEGERS: dict[str, list[list[int]]] = {
    "one": [[5]],
    "two": [[1, 2], [3, 4]],
    "unimodular": [[2, 1], [1, 1]],
    "negative": [[-3, 1, 2], [0, 2, -1], [4, 1, 1]],
    "zero pivots": [[0, 2, 1], [1, 0, 0], [3, 1, 0]],
    "four": [[2, -1, 0, 3], [1, 1, -2, 0], [0, 4, 1, -1], [5, 0, 2, 1]],
    "five": [[1, 2, 0, 0, 1], [2, 3, 1, 0, 0], [0, 1, 4, 2, 0], [1, 0, 2, 5, 3], [0, 0, 1, 3, 7]],
    "unimodular four": [[1, 1, 1, 1], [1, 2, 3, 4], [1, 3, 6, 10], [1, 4, 10, 20]],
}
integers = run_each("kind", INTEGERS)
#: Matrices on which every algorithm without needless divisions is exact: values and inverses.
EXACT: dict[str, tuple[list[list[Any]], Any, list[list[Any]]]] = {
    "identity": ([[1, 0], [0, 1]], 1, [[1, 0], [0, 1]]),
    "swap": ([[0, 1], [1, 0]], -1, [[0, 1], [1, 0]]),
    "rotation": ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], 1, [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    "diagonal": ([[2, 0, 0], [0, -4, 0], [0, 0, 0.5]], -4, [[0.5, 0, 0], [0, -0.25, 0], [0, 0, 2]]),
    "upper": ([[2, 4], [0, 8]], 16, [[0.5, -0.25], [0, 0.125]]),
    "lower": ([[1, 0], [3, 1]], 1, [[1, 0], [-3, 1]]),
}


def close(got: Any, wanted: Any, bound: float) -> bool:
    return abs(complex(got) - complex(wanted)) <= bound


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


@dtypes
@integers
def test_integers(kind: str, dtype: str) -> None:
    """The error is bounded by that of elimination: 10 n eps times the condition."""
    rows = INTEGERS[kind]
    n, inverse, determinant = len(rows), em.inverse(rows), em.determinant(rows)
    a = hard.array(rows, dtype)
    eps = em.EPSILON["float64"]
    bound = 10 * n * eps * em.condition(rows)
    rounding = em.epsilon(dtype)  # twice that of one rounding
    assert close(xp.linalg.det(a), determinant, abs(determinant) * (n * bound + rounding))
    sign, logarithm = xp.linalg.slogdet(a)
    assert complex(sign) == math.copysign(1, determinant)
    wanted = math.log(abs(determinant))
    assert close(logarithm, wanted, n * bound + rounding * abs(wanted))
    inv = xp.linalg.inv(a).tolist()
    limit = em.norm(inverse) * (bound + rounding)
    assert all(close(inv[i][j], inverse[i][j], limit) for i in range(n) for j in range(n))
    unit = [[complex(e) for e in row] for row in inverse]
    solved = xp.linalg.solve(a, xp.eye(n, dtype=dtype)).tolist()
    assert all(close(solved[i][j], unit[i][j], limit) for i in range(n) for j in range(n))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype: str) -> None:
    rows = [[1 + 2j, 3j, 1], [2, 1 - 1j, 0], [-1j, 4, 2 + 1j]]
    a = hard.array(rows, dtype)
    wanted = em.determinant(rows)
    bound = 40 * em.epsilon(dtype)
    assert close(xp.linalg.det(a), wanted, abs(wanted) * bound)
    sign, logarithm = xp.linalg.slogdet(a)
    assert close(sign, wanted / abs(wanted), bound)
    assert close(logarithm, math.log(abs(wanted)), bound)
    product = em.times(rows, xp.linalg.inv(a).tolist())
    assert all(close(product[i][j], i == j, 4 * bound) for i in range(3) for j in range(3))
    one = hard.array([[3 - 4j]], dtype)
    assert complex(xp.linalg.det(one)) == 3 - 4j
    assert close(xp.linalg.inv(one)[0, 0], 1 / (3 - 4j), bound)
    assert close(xp.linalg.slogdet(one).sign, 0.6 - 0.8j, bound)


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


@dtypes
def test_powers_of_stacks(dtype: str) -> None:
    a = hard.regular((2, 3, 4, 4), dtype) / 8
    for n in (0, 1, 2, 3, 5, 7, -1, -2):
        out = xp.linalg.matrix_power(a, n)
        assert out.shape == a.shape
        for i, j in ((0, 0), (1, 2)):
            assert out[i, j].tobytes() == xp.linalg.matrix_power(a[i, j], n).tobytes()
    assert xp.linalg.matrix_power(a, -1).tobytes() == xp.linalg.inv(a).tobytes()
    assert xp.linalg.matrix_power(a, 1).tobytes() == a.tobytes()
    assert xp.linalg.matrix_power(a, 0).tolist() == [[xp.eye(4).tolist()] * 3] * 2


def test_powers_are_those_of_repeated_products() -> None:
    rows = hard.random_rows(4, 4, "float64")
    a = hard.array(rows, "float64")
    for n in (2, 3, 6, 13, 31):
        exact = em.exact(rows)
        for _ in range(n - 1):
            exact = em.product(exact, em.exact(rows))
        out = em.exact(xp.linalg.matrix_power(a, n).tolist())
        limit = 10 * n * 4 * em.EPSILON["float64"] * em.norm(rows) ** n
        assert math.sqrt(em.size2(em.difference(out, exact))) <= limit, n


def test_powers_that_overflow() -> None:
    a = hard.array([[2, 0], [0, 0.5]], "float64")
    out = xp.linalg.matrix_power(a, 2000).tolist()
    assert not math.isfinite(out[0][0]) and not out[1][1] > 0
    assert float(xp.linalg.matrix_power(xp.full((1, 1), 2.0), 2000)[0, 0]) == inf


def test_powers_take_integers_of_other_types() -> None:
    class Number:
        def __index__(self) -> int:
            return 3

    a = hard.array([[1, 1], [1, 0]], "float64")
    for n in (Number(), xp.asarray(3)):
        assert xp.linalg.matrix_power(a, n).tolist() == [[3, 2], [2, 1]]


# --- solve

SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((3, 3), (3,), (3,)),
    ((3, 3), (3, 1), (3, 1)),
    ((3, 3), (3, 5), (3, 5)),
    ((3, 3), (3, 0), (3, 0)),
    ((2, 3, 3), (3,), (2, 3)),
    ((2, 3, 3), (3, 4), (2, 3, 4)),
    ((2, 3, 3), (1, 3, 4), (2, 3, 4)),
    ((1, 3, 3), (2, 3, 4), (2, 3, 4)),
    ((3, 3), (2, 3, 4), (2, 3, 4)),
    ((2, 1, 3, 3), (4, 3, 2), (2, 4, 3, 2)),
    ((4, 3, 3), (2, 1, 3, 2), (2, 4, 3, 2)),
    ((2, 2, 3, 3), (3,), (2, 2, 3)),
    ((3, 3, 3), (3, 3), (3, 3, 3)),
    ((1, 1), (1,), (1,)),
]


@dtypes
def test_solve_broadcasts(dtype: str) -> None:
    for left, right, shape in SHAPES:
        a, b = hard.regular(left, dtype), hard.stack(right, dtype) if 0 not in right else None
        b = xp.zeros(right, dtype=dtype) if b is None else b
        x = xp.linalg.solve(a, b)
        assert x.shape == shape
        assert_dtype(x, dtype)
        whole = xp.astype(x, em.wide_dtype(dtype))
        columns = whole[..., None] if b.ndim == 1 else whole
        back = xp.matmul(xp.astype(a, em.wide_dtype(dtype)), columns)
        error = xp.abs((back[..., 0] if b.ndim == 1 else back) - b)
        assert not x.size or float(xp.max(error)) <= 40 * em.epsilon(dtype), (left, right)


def test_solve_promotes_its_operands() -> None:
    a, b = [[2, 0], [0, 4]], [1, 2]
    for left in em.DTYPES:
        for right in em.DTYPES:
            operands = xp.asarray(a, dtype=left), xp.asarray(b, dtype=right)
            if (left, right) not in PROMOTION:
                with pytest.raises(TypeError):
                    xp.linalg.solve(*operands)
                continue
            x = xp.linalg.solve(*operands)
            assert_dtype(x, PROMOTION[left, right])
            assert x.tolist() == [0.5, 0.5]
