"""Larger matrices whose results are known in closed form, and subnormal numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each

import refarray

xp: Any = refarray
la: Any = refarray.linalg
EXTENT = run_each("n", [33, 40, 65, 100])


def second_differences(n: int) -> Any:
    """2 on the diagonal, -1 beside it."""
    return 2 * xp.eye(n) - xp.eye(n, k=1) - xp.eye(n, k=-1)


def inverse_entry(n: int, i: int, j: int) -> float:
    return (min(i, j) + 1) * (n - max(i, j)) / (n + 1)


def eigenvalues(n: int) -> list[float]:
    """Ascending."""
    return [4 * math.sin(k * math.pi / (2 * n + 2)) ** 2 for k in range(1, n + 1)]


def close(found: Any, expected: Any) -> bool:
    return bool(xp.all(xp.abs(found - expected) <= 1e-11 * (1 + xp.abs(expected))))


@EXTENT
def test_det_and_slogdet_of_larger_matrices(n: int) -> None:
    x = second_differences(n)
    assert math.isclose(la.det(x).item(), n + 1, rel_tol=1e-12)
    sign, logarithm = la.slogdet(x)
    assert sign.item() == 1
    assert math.isclose(logarithm.item(), math.log(n + 1), rel_tol=1e-12)


@EXTENT
@pytest.mark.parametrize("name", ["inv", "pinv", "solve"])
def test_inverses_of_larger_matrices(n: int, name: str) -> None:
    x = second_differences(n)
    expected = xp.asarray([[inverse_entry(n, i, j) for j in range(n)] for i in range(n)])
    out = la.solve(x, xp.eye(n)) if name == "solve" else getattr(la, name)(x)
    assert close(out, expected)


@EXTENT
def test_cholesky_of_larger_matrices(n: int) -> None:
    expected = xp.zeros((n, n))
    for i in range(n):
        expected[i, i] = math.sqrt((i + 2) / (i + 1))
        if i:
            expected[i, i - 1] = -math.sqrt(i / (i + 1))
    assert close(la.cholesky(second_differences(n)), expected)


@EXTENT
@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "eig", "eigvals", "svdvals"])
def test_spectra_of_larger_matrices(n: int, name: str) -> None:
    x = second_differences(n)
    out = getattr(la, name)(x)
    values = out[0] if isinstance(out, tuple) else out
    if isinstance(out, tuple):
        vectors = out[1]
        matrix = xp.astype(x, vectors.dtype)
        assert close(xp.matmul(matrix, vectors), vectors * xp.expand_dims(values, axis=0))
    if name in ("eig", "eigvals"):
        assert not xp.any(xp.abs(xp.imag(values)) > 1e-11)
        values = xp.real(values)
    assert close(xp.sort(values), xp.asarray(eigenvalues(n)))


@EXTENT
def test_norms_and_rank_of_larger_matrices(n: int) -> None:
    x = second_differences(n)
    spectrum = eigenvalues(n)
    norms = {
        "fro": math.sqrt(6 * n - 2),
        "nuc": math.fsum(spectrum),
        1: 4.0,
        -1: 3.0,
        math.inf: 4.0,
        2: spectrum[-1],
        -2: spectrum[0],
    }
    for order, expected in norms.items():
        assert math.isclose(la.matrix_norm(x, ord=order).item(), expected, rel_tol=1e-11)
    assert la.matrix_rank(x).item() == n
    x[-1, :] = x[0, :]
    assert la.matrix_rank(x).item() == n - 1


SMALL = 2.0**-1060  # subnormal


def small_matrix() -> Any:
    return xp.asarray([[SMALL, 0.0], [0.0, 4 * SMALL]])


def test_factors_and_spectra_of_subnormal_numbers() -> None:
    x = small_matrix()
    assert la.cholesky(x).tolist() == [[2.0**-530, 0.0], [0.0, 2.0**-529]]
    assert la.eigvalsh(x).tolist() == [SMALL, 4 * SMALL]
    assert la.eigh(x).eigenvalues.tolist() == [SMALL, 4 * SMALL]
    assert sorted(xp.real(la.eigvals(x)).tolist()) == [SMALL, 4 * SMALL]
    assert sorted(xp.real(la.eig(x).eigenvalues).tolist()) == [SMALL, 4 * SMALL]
    assert la.svdvals(x).tolist() == [4 * SMALL, SMALL]
    assert la.svd(x).S.tolist() == [4 * SMALL, SMALL]
    assert la.matrix_rank(x).item() == 2


def test_determinants_and_inverses_of_subnormal_numbers() -> None:
    x = xp.asarray([[2.0**-1030, 0.0], [0.0, 2.0**1020]])  # 2**-1030 is subnormal
    assert la.det(x).item() == 2.0**-10
    assert la.slogdet(x).sign.item() == 1
    assert math.isclose(la.slogdet(x).logabsdet.item(), -10 * math.log(2), rel_tol=1e-12)
    x = xp.asarray([[2.0**-1023, 0.0], [0.0, 1.0]])
    assert la.inv(x).tolist() == [[2.0**1023, 0.0], [0.0, 1.0]]
    assert la.solve(x, xp.asarray([2.0**-1023, 3.0])).tolist() == [1.0, 3.0]
    assert la.matrix_power(x, -1).tolist() == [[2.0**1023, 0.0], [0.0, 1.0]]


@EXTENT
@run_each("mode", ["reduced", "complete"])
def test_qr_of_larger_matrices(n: int, mode: str) -> None:
    x = second_differences(n)
    q, r = la.qr(x, mode=mode)
    assert close(xp.matmul(q, r), x)
    assert close(xp.matmul(q.mT, q), xp.eye(n))
    assert close(r, xp.triu(r))
    assert math.isclose(abs(xp.prod(la.diagonal(r)).item()), n + 1, rel_tol=1e-11)


@EXTENT
def test_svd_of_larger_matrices(n: int) -> None:
    x = second_differences(n)
    u, s, vh = la.svd(x)
    assert close(xp.matmul(u * s, vh), x)
    assert close(xp.matmul(u.mT, u), xp.eye(n))
    assert close(xp.matmul(vh, vh.mT), xp.eye(n))
    assert close(s, xp.asarray(eigenvalues(n)[::-1]))


@EXTENT
def test_powers_of_larger_matrices(n: int) -> None:
    x = second_differences(n)
    assert close(la.matrix_power(x, 3), xp.matmul(xp.matmul(x, x), x))
    assert close(xp.matmul(la.matrix_power(x, -1), x), xp.eye(n))


def test_qr_and_pinv_of_subnormal_numbers() -> None:
    x = small_matrix()
    q, r = la.qr(x)
    assert xp.abs(q).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert xp.abs(r).tolist() == x.tolist()
    x = xp.asarray([[2.0**-1023, 0.0], [0.0, 2.0**-1023]])
    assert la.pinv(x).tolist() == [[2.0**1023, 0.0], [0.0, 2.0**1023]]


@run_each("dtype", ["float16", "bfloat16", "float32"])
@run_each("sign", [1, -1])
def test_what_is_too_large_for_the_dtype_is_infinite(dtype: str, sign: int) -> None:
    least = sign * float(xp.finfo(dtype).smallest_normal) / 64
    x = xp.asarray([[least]], dtype=dtype)
    assert la.inv(x).tolist() == [[sign * math.inf]]
    assert la.matrix_power(x, -1).tolist() == [[sign * math.inf]]
    assert la.solve(x, xp.ones((1,), dtype=dtype)).tolist() == [sign * math.inf]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_pinv_of_one_number(dtype: str) -> None:
    assert la.pinv(xp.asarray([[-4.0]], dtype=dtype)).tolist() == [[-0.25]]


def test_subnormal_numbers_beside_the_diagonal() -> None:
    x = xp.asarray([[1.0, SMALL], [0.0, 1.0]])
    assert la.inv(x).tolist() == [[1.0, -SMALL], [0.0, 1.0]]
    assert la.solve(x, xp.asarray([0.0, 1.0])).tolist() == [-SMALL, 1.0]
    assert la.matrix_power(x, 2).tolist() == [[1.0, 2 * SMALL], [0.0, 1.0]]
    assert la.cholesky(x, upper=True).tolist() == x.tolist()
