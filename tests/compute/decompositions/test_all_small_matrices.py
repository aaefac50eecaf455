"""Decompositions of all 3 x 3 and 4 x 4 matrices of few numbers, of some that are larger than the
blocks of the algorithms, and of matrices that are hard for iterations: cycles, eigenvalues that
nearly coincide, numbers of very different sizes."""

from __future__ import annotations

import cmath
import functools
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard

import refarray

xp: Any = refarray
EPS = 2.0**-52
#: Extent, dtype and elements.
FAMILIES: dict[str, tuple[int, str, tuple[Any, ...]]] = {
    "2, integers": (2, "float64", (-3, -2, -1, 0, 1, 2, 3)),
    "2, complex": (2, "complex128", (0, 1, -1, 1j, -1j, 1 + 1j)),
    "3, signs": (3, "float64", (-1, 0, 1)),
    "3, complex": (3, "complex128", (0, 1, 1j)),
    "4, bits": (4, "float64", (0, 1)),
    "4, complex bits": (4, "complex128", (0, 1j)),
}
families = run_each("family", FAMILIES)
#: Random matrices: extent and dtype.
LARGE = {f"{n}, {dtype}": (n, dtype) for n in (17, 40) for dtype in ("float64", "complex128")}
and_large = run_each("family", [*FAMILIES, *LARGE])


@functools.cache
def everything(family: str) -> Any:
    """All matrices of the family, or some large ones."""
    if family in LARGE:
        n, dtype = LARGE[family]
        return hard.stack((3, n, n), dtype).as_readonly()
    n, dtype, pool = FAMILIES[family]
    digits = xp.arange(len(pool) ** (n * n))
    places = [digits // len(pool) ** k % len(pool) for k in range(n * n)]
    x = xp.take(xp.asarray(pool, dtype=dtype), xp.reshape(xp.stack(places, axis=-1), (-1,)))
    return xp.reshape(x, (-1, n, n)).as_readonly()


def sizes(x: Any) -> Any:
    """The Frobenius norms of a stack."""
    wide = xp.astype(x, "complex128")
    return xp.sqrt(xp.sum(xp.real(wide) ** 2 + xp.imag(wide) ** 2, axis=(-2, -1)))


def assert_all_small(error: Any, bound: Any, x: Any, what: str) -> None:
    """Each error is at most 10 n eps times its bound."""
    limit = 10 * x.shape[-1] * EPS * bound
    wrong = xp.nonzero(xp.logical_not(sizes(error) <= limit))[0].tolist()
    assert not wrong, f"{what}: {len(wrong)} of {x.shape[0]}, first {x[wrong[0]].tolist()}"


def assert_all_orthonormal(q: Any, x: Any, what: str) -> None:
    error = xp.matmul(xp.conj(q).mT, q) - xp.eye(q.shape[-1], dtype=q.dtype)
    assert_all_small(error, 1.0, x, what)


@and_large
def test_eig_of_all_matrices(family: str) -> None:
    x = everything(family)
    values, vectors = xp.linalg.eig(x)
    wide = xp.astype(x, "complex128")
    error = xp.matmul(wide, vectors) - vectors * values[:, None, :]
    assert_all_small(error, sizes(x), x, "A V - V L")
    norms = xp.linalg.vector_norm(vectors, axis=-2)
    assert float(xp.max(xp.abs(norms - 1))) <= 4 * x.shape[-1] * EPS


@and_large
def test_eigh_of_all_matrices(family: str) -> None:
    x = everything(family)
    x = xp.tril(x) + xp.conj(xp.tril(x, k=-1)).mT - hard.diagonal_imaginary(x)
    values, vectors = xp.linalg.eigh(x)
    error = xp.matmul(x, vectors) - vectors * xp.astype(values, x.dtype)[:, None, :]
    assert_all_small(error, sizes(x), x, "A V - V L")
    assert_all_orthonormal(vectors, x, "V")
    assert xp.all(values[:, 1:] >= values[:, :-1])


@and_large
def test_svd_of_all_matrices(family: str) -> None:
    x = everything(family)
    u, s, vh = xp.linalg.svd(x)
    error = xp.matmul(u * xp.astype(s, x.dtype)[:, None, :], vh) - x
    assert_all_small(error, sizes(x), x, "U S Vh - A")
    assert_all_orthonormal(u, x, "U")
    assert_all_orthonormal(xp.conj(vh).mT, x, "V")
    assert xp.all(s[:, 1:] <= s[:, :-1]) and xp.all(s >= 0)


@and_large
def test_qr_of_all_matrices(family: str) -> None:
    x = everything(family)
    q, r = xp.linalg.qr(x)
    assert_all_small(xp.matmul(q, r) - x, sizes(x), x, "Q R - A")
    assert_all_orthonormal(q, x, "Q")
    assert not xp.any(xp.tril(r, k=-1))


@families
def test_determinants_of_all_matrices(family: str) -> None:
    """Against the sum over permutations, which is exact."""
    x = everything(family)
    n = x.shape[-1]
    wanted = xp.zeros(x.shape[0], dtype=x.dtype)
    for order in itertools.permutations(range(n)):
        swaps = sum(order[i] > order[j] for i in range(n) for j in range(i, n))
        term = xp.ones(x.shape[0], dtype=x.dtype)
        for i in range(n):
            term = term * x[:, i, order[i]]
        wanted = wanted + (-1) ** swaps * term
    det = xp.linalg.det(x)
    assert float(xp.max(xp.abs(det - wanted))) <= 1e-13 * 3**n
    sign, logarithm = xp.linalg.slogdet(x)
    assert float(xp.max(xp.abs(sign * xp.exp(logarithm) - det))) <= 1e-13 * 3**n


@families
def test_pseudoinverses_of_all_matrices(family: str) -> None:
    x = everything(family)
    p = xp.linalg.pinv(x)
    error = xp.matmul(xp.matmul(x, p), x) - x
    assert float(xp.max(sizes(error))) <= 1e-12
    rank = xp.linalg.matrix_rank(x)
    trace = xp.linalg.trace(xp.matmul(p, x))  # of a projection: its rank
    assert float(xp.max(xp.abs(trace - xp.astype(rank, x.dtype)))) <= 1e-12


# --- hard for iterations


def check_eig(rows: Sequence[Sequence[Any]], dtype: str) -> None:
    n = len(rows)
    a = hard.array(rows, dtype)
    values, vectors = xp.linalg.eig(a)
    assert xp.all(xp.isfinite(values)) and xp.all(xp.isfinite(vectors)), rows
    assert xp.all(xp.isfinite(xp.linalg.eigvals(a))), rows
    v, whole = em.exact(vectors.tolist()), em.exact(a.tolist())
    error = em.difference(em.product(whole, v), em.product(v, em.diagonal(values.tolist())))
    em.assert_small(error, whole, n, dtype, rows)


def cycle(n: int, corner: complex, diagonal: complex) -> list[list[complex]]:
    """All eigenvalues have the same distance from the diagonal."""
    rows = [[complex(j == i + 1) + diagonal * (i == j) for j in range(n)] for i in range(n)]
    rows[n - 1][0] += corner
    return rows


@run_each("n", [2, 3, 4, 5, 8, 13])
def test_cycles(n: int) -> None:
    """Without exceptional shifts, iterations go round in circles."""
    for corner in (1, -1, 1j, -1j, cmath.exp(1j), 1e-3j, 1e6):
        for diagonal in (0, 1, -2, 1j, 1 + 1j):
            check_eig(cycle(n, corner, diagonal), "complex128")
            check_eig(cycle(n, corner, diagonal), "complex64")
            if complex(corner).imag == 0 == complex(diagonal).imag:
                rows = [[each.real for each in row] for row in cycle(n, corner, diagonal)]
                check_eig(rows, "float64")


A = 4.4942328371557894e306
HARD: dict[str, list[list[Any]]] = {
    "pair of a double zero": [[1, -1, 0], [1, -1, 0], [1, -1, 0]],
    "pair of a double zero, large": [[A, -A, 0], [A, -A, 0], [A, -A, 0]],
    "pair of a double one": [[0, -1, 0], [1, 1, 1], [1, 1, 1]],
    "close pair": [[1, 1e-300], [-1, 1]],
    "closer than eps": [[1, 1e-33], [-1, 1]],
    "as close as eps": [[1, 1e-31], [-1, 1]],
    "small double": [[0, 1e-300, 1], [-1, 1e-300, -1], [0, 0, 1e-300]],
    "two sizes": [[1, -1, 0], [1e300, 0, 1e300], [1e-300, 0, 1]],
    "three sizes": [[1e300, 1, 1], [-1e300, 1, 1e300], [1, 1, 1]],
    "four sizes": [[-1e-173, 5e141], [2e-206, -3e-192]],
    "subnormal": [[1e-320, 1], [0, 0]],
    "large corner": [[1, 1e300, 1], [0, 2, 1e300], [0, 0, 3]],
}


@run_each("dtype", ["float64", "complex128"])
@run_each("kind", HARD)
def test_hard_eigenvalues(kind: str, dtype: str) -> None:
    check_eig(HARD[kind], dtype)


POOLS: dict[str, tuple[float, ...]] = {
    "300": (1e300, 1e-300, 1.0, 0.0, -1.0),
    "150": (1e150, 1e-150, 1.0, 0.0),
    "up": (1e300, -1e300, 1.0, 0.0),
    "down": (1e-300, 0.0, 1.0, -1.0),
    "16": (1e16, 1e-16, 1.0, 0.0, -1.0),
}


@run_each("is_complex", [False, True], ids=["real", "complex"])
@run_each("pool", POOLS)
def test_eigenvalues_of_numbers_of_all_sizes(pool: str, is_complex: bool) -> None:
    source = random.Random(f"{pool} {is_complex}")
    numbers = POOLS[pool]

    def element() -> Any:
        one, other = source.choice(numbers), source.choice(numbers)
        return complex(one, other) if is_complex else one

    for _ in range(250):
        n = source.randint(2, 5)
        rows = [[element() for _ in range(n)] for _ in range(n)]
        check_eig(rows, "complex128" if is_complex else "float64")


def residual(
    function: Callable[[Any], Any], rebuilt: Callable[[Any], em.Exact], rows: list[list[Any]]
) -> float:
    a = hard.array(rows, "float64")
    whole = em.exact(rows)
    return em.ratio(em.difference(whole, rebuilt(function(a))), whole)


@run_each("pool", POOLS)
def test_factors_of_numbers_of_all_sizes(pool: str) -> None:
    source = random.Random(pool)
    for _ in range(150):
        m, n = source.randint(1, 5), source.randint(1, 5)
        rows = [[source.choice(POOLS[pool]) for _ in range(n)] for _ in range(m)]
        limit = 10 * max(m, n) * EPS
        assert limit >= residual(
            xp.linalg.qr,
            lambda qr: em.product(em.exact(qr.Q.tolist()), em.exact(qr.R.tolist())),
            rows,
        )
        assert limit >= residual(
            functools.partial(xp.linalg.svd, full_matrices=False),
            lambda svd: em.product(
                em.product(em.exact(svd.U.tolist()), em.diagonal(svd.S.tolist())),
                em.exact(svd.Vh.tolist()),
            ),
            rows,
        )
