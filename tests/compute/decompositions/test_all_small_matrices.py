"""Decompositions of all 3 x 3 and 4 x 4 matrices of few numbers, of every kind in orders up to
several blocks of the algorithms, and of matrices that are hard for iterations: cycles,
eigenvalues that nearly coincide, numbers of very different sizes."""

from __future__ import annotations

import cmath
import functools
import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
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


def number(source: random.Random) -> complex:
    return complex(source.uniform(-1, 1), source.uniform(-1, 1))


def scaled(power: float) -> Callable[[random.Random], complex]:
    def element(source: random.Random) -> complex:
        one = number(source)
        return complex(math.ldexp(one.real, int(power)), math.ldexp(one.imag, int(power)))

    return element


def copied_column(i: int, j: int) -> complex:
    """One of three columns, some of them off by a rounding error."""
    source = random.Random(j)
    factor = source.choice((1, 1 + EPS))
    return number(random.Random(f"{i} {source.randint(0, 2)}")) * factor


#: The element of row i and column j; its real part, if the dtype is real.
KINDS: dict[str, Callable[[random.Random, int, int], complex]] = {
    "random": lambda source, i, j: number(source),
    "Hilbert": lambda source, i, j: complex(1, i - j) / (i + j + 1),
    "graded": lambda source, i, j: scaled(-2 * (i + j))(source),
    "whole range": lambda source, i, j: scaled(980 - 40 * (i + j))(source),
    "rank 2": lambda source, i, j: complex(i + 1, j) * (j + 1) - i * j,
    "defective": lambda source, i, j: 2 + 1j if i == j else complex(j == i + 1),
    "tiny": lambda source, i, j: number(source) * 1e-300,
    "subnormal": lambda source, i, j: complex(source.randint(-99, 99) * 2.0**-1074),
    "huge": lambda source, i, j: number(source) * 1e300,
    "sparse": lambda source, i, j: number(source) * (source.random() < 0.25),
    "few integers": lambda source, i, j: complex(source.randint(-1, 1)),
    "zero": lambda source, i, j: 0j,
    "ones": lambda source, i, j: 1 + 0j,
    "Jordan block": lambda source, i, j: complex(j == i + 1),
    "every exponent": lambda source, i, j: scaled(source.randint(-1074, 1000))(source),
    "clusters": lambda source, i, j: complex(
        2.0 ** (-25 * source.randint(0, 3)) * (i == j) + source.choice((0, 2.0**-50)) * (j == i + 1)
    ),
    "copied columns": lambda source, i, j: copied_column(i, j),
}
#: Orders of some kinds: 127 and more are extended by zeros.
ORDERS: dict[str, Sequence[int]] = {
    "random": (1, 2, 3, 5, 17, 40, 127, 128, 132),
    "Jordan block": (60,),
    "every exponent": range(5, 17),
    "clusters": range(20, 80, 5),
    "copied columns": (21, 29, 40, 77),
}
OBLONG = ((5, 3), (3, 5), (1, 7), (7, 1), (50, 50), (60, 20), (20, 60), (33, 10), (10, 33))


def of_kinds(shapes: Callable[[str], Sequence[tuple[int, int]]]) -> dict[str, tuple[Any, ...]]:
    """Kind, dtype and shape of a stack of matrices."""
    return {
        f"{kind}, {m} by {n}, {dtype}": (kind, dtype, (30 if "every" in kind else 2, m, n))
        for kind in KINDS
        for m, n in shapes(kind)
        for dtype in ("float64", "complex128")
    }


SQUARES = of_kinds(lambda kind: [(n, n) for n in ORDERS.get(kind, (1, 2, 3, 5, 17, 40))])
OTHERS = SQUARES | of_kinds(lambda kind: () if kind in ORDERS and kind != "random" else OBLONG)
all_squares = run_each("family", [*FAMILIES, *SQUARES])
all_shapes = run_each("family", [*FAMILIES, *OTHERS])


def of_kind(kind: str, dtype: str, shape: tuple[int, ...]) -> Any:
    """A stack of matrices."""
    source = random.Random(f"{shape} {dtype} {kind}")
    places = itertools.product(*map(range, shape))
    numbers: list[Any] = [KINDS[kind](source, i, j) for _, i, j in places]
    if dtype == "float64":
        numbers = [each.real for each in numbers]
    return xp.reshape(xp.asarray(numbers, dtype=dtype), shape)


@functools.cache
def everything(family: str) -> Any:
    """All matrices of the family, or some of a kind."""
    if family in OTHERS:
        return of_kind(*OTHERS[family]).as_readonly()
    n, dtype, pool = FAMILIES[family]
    digits = xp.arange(len(pool) ** (n * n))
    places = [digits // len(pool) ** k % len(pool) for k in range(n * n)]
    x = xp.take(xp.asarray(pool, dtype=dtype), xp.reshape(xp.stack(places, axis=-1), (-1,)))
    return xp.reshape(x, (-1, n, n)).as_readonly()


def exponent(x: Any) -> int:
    """Of the power of two that takes the largest element to between 0.5 and 1."""
    return -math.frexp(float(xp.max(xp.abs(x))))[1]


def near_one(y: Any, x: Any) -> Any:
    """`y` times the power of two of `x`: squares of `x` then neither overflow nor vanish."""
    half = exponent(x) // 2
    return y * 2.0**half * 2.0 ** (exponent(x) - half)


def sizes(x: Any) -> Any:
    """The Frobenius norms of a stack."""
    wide = xp.astype(x, "complex128")
    return xp.sqrt(xp.sum(xp.real(wide) ** 2 + xp.imag(wide) ** 2, axis=(-2, -1)))


def assert_all_small(error: Any, bound: Any, x: Any, what: str) -> None:
    """Each error is at most 10 n eps times its bound, and what subnormal results are off by."""
    n = max(x.shape[-2:])
    limit = 10 * n * EPS * bound + n * n * math.ldexp(1e-322, exponent(x))
    wrong = xp.nonzero(xp.logical_not(sizes(error) <= limit))[0].tolist()
    assert not wrong, f"{what}: {len(wrong)} of {x.shape[0]}, first {x[wrong[0]].tolist()}"


def assert_all_orthonormal(q: Any, x: Any, what: str) -> None:
    error = xp.matmul(xp.conj(q).mT, q) - xp.eye(q.shape[-1], dtype=q.dtype)
    assert_all_small(error, 1.0, x, what)


@all_squares
def test_eig_of_all_matrices(family: str) -> None:
    x = everything(family)
    values, vectors = xp.linalg.eig(x)
    a = xp.astype(near_one(x, x), "complex128")
    error = xp.matmul(a, vectors) - vectors * near_one(values, x)[:, None, :]
    assert_all_small(error, sizes(a), x, "A V - V L")
    alone = xp.sum(near_one(xp.linalg.eigvals(x), x), axis=-1)
    assert_all_small((alone - xp.linalg.trace(a))[:, None, None], sizes(a), x, "trace")
    norms = xp.linalg.vector_norm(vectors, axis=-2)
    assert float(xp.max(xp.abs(norms - 1))) <= 4 * x.shape[-1] * EPS
    largest = xp.max(xp.abs(vectors), axis=-2, keepdims=True) * (1 - 1e-14)
    leads = xp.logical_and(xp.imag(vectors) == 0, xp.real(vectors) >= largest)
    assert xp.all(xp.any(leads, axis=-2)), "a greatest component is not real and positive"


def test_eigenvalues_of_real_matrices_are_conjugate_pairs() -> None:
    """And so are their vectors; the positive imaginary part is the first."""
    values, vectors = xp.linalg.eig(hard.stack((31, 31), "float64"))
    j = 0
    while j < 31:
        is_pair = complex(values[j]).imag != 0
        if is_pair:
            assert complex(values[j]).imag > 0 and values[j + 1] == xp.conj(values[j])
            assert xp.all(vectors[:, j + 1] == xp.conj(vectors[:, j]))
        else:
            assert not xp.any(xp.imag(vectors[:, j]))
        j += 1 + is_pair


@all_squares
def test_eigh_of_all_matrices(family: str) -> None:
    """Only the lower triangle and real parts of the diagonal are read."""
    x = everything(family)
    x = xp.tril(x) + xp.conj(xp.tril(x, k=-1)).mT - hard.diagonal_imaginary(x)
    eye = xp.eye(x.shape[-1])
    given = xp.where(xp.triu(eye - 1) < 0, xp.asarray(xp.nan, dtype=x.dtype), x)
    if x.dtype == xp.complex128:
        given = xp.where(eye > 0, x + complex(0, xp.nan), given)
    values, vectors = xp.linalg.eigh(given)
    alone = near_one(xp.linalg.eigvalsh(given), x)
    a, values = near_one(x, x), near_one(values, x)
    error = xp.matmul(a, vectors) - vectors * xp.astype(values, x.dtype)[:, None, :]
    assert_all_small(error, sizes(a), x, "A V - V L")
    assert_all_small((alone - values)[:, None, :], sizes(a), x, "eigvalsh")
    assert_all_orthonormal(vectors, x, "V")
    assert xp.all(values[:, 1:] >= values[:, :-1]) and xp.all(alone[:, 1:] >= alone[:, :-1])


@all_shapes
def test_svd_of_all_matrices(family: str) -> None:
    x = everything(family)
    a, k = near_one(x, x), min(x.shape[-2:])
    for is_full in (True, False):
        u, s, vh = xp.linalg.svd(x, full_matrices=is_full)
        s = near_one(s, x)
        error = xp.matmul(u[:, :, :k] * xp.astype(s, x.dtype)[:, None, :], vh[:, :k, :]) - a
        assert_all_small(error, sizes(a), x, "U S Vh - A")
        assert_all_orthonormal(u, x, "U")
        assert_all_orthonormal(xp.conj(vh).mT, x, "V")
        assert xp.all(s[:, 1:] <= s[:, :-1]) and xp.all(s >= 0)
        alone = near_one(xp.linalg.svdvals(x), x)
        assert_all_small((alone - s)[:, None, :], sizes(a), x, "svdvals")


@all_shapes
def test_qr_of_all_matrices(family: str) -> None:
    x = everything(family)
    a = near_one(x, x)
    for mode in ("reduced", "complete"):
        q, r = xp.linalg.qr(x, mode=mode)
        assert_all_small(xp.matmul(q, near_one(r, x)) - a, sizes(a), x, "Q R - A")
        assert_all_orthonormal(q, x, "Q")
        assert not xp.any(xp.tril(r, k=-1))
        assert not xp.any(xp.imag(xp.astype(xp.linalg.diagonal(r), "complex128")))


def or_none(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except ValueError as error:
        if "singular" in str(error):
            return None
        raise


@run_each("family", [name for name in SQUARES if "whole range" not in name])
def test_solutions_of_all_kinds(family: str) -> None:
    stack = everything(family)
    n, dtype = stack.shape[-1], str(stack.dtype)
    for i in range(stack.shape[0]):
        x, right = stack[i], hard.stack((n, 3), dtype, i)
        out, inverse = or_none(xp.linalg.solve, x, right), or_none(xp.linalg.inv, x)
        assert (out is None) == (inverse is None)
        for y, b in ((out, right), (inverse, xp.eye(n, dtype=dtype))):
            if y is None or not xp.all(xp.isfinite(y)):
                continue  # overflow is that of the solution itself
            near = near_one(x, x), near_one(y, y), near_one(near_one(b, x), y)
            whole, part, wanted = (float(sizes(each)) for each in near)
            error = float(sizes(xp.matmul(near[0], near[1]) - near[2]))
            assert error <= 10 * n * EPS * (whole * part + wanted), (i, error)


#: Of Hilbert matrices and those of rank 2, determinants are nothing but rounding errors.
DETERMINED = [
    name
    for name, (kind, _, (_, n, _)) in SQUARES.items()
    if kind not in {*ORDERS, "Hilbert", "rank 2"} or (kind == "random" and n < 100)
]


def eliminated(rows: list[list[Any]]) -> tuple[Any, Any]:
    """The sign and the logarithm of the determinant."""
    sign: Any = 1
    log: Any = 0
    for k in range(len(rows)):
        pivot = max(range(k, len(rows)), key=lambda i, k=k: abs(rows[i][k]))
        size = abs(rows[pivot][k])
        if not size:
            return 0, -math.inf
        rows[k], rows[pivot] = rows[pivot], rows[k]
        sign *= rows[k][k] / size * (1 if pivot == k else -1)
        log += mpmath.log(size)
        for row in rows[k + 1 :]:
            factor = row[k] / rows[k][k]
            row[k:] = [a - factor * b for a, b in zip(row[k:], rows[k][k:], strict=True)]
    return sign, log


@run_each("family", DETERMINED)
def test_determinants_of_all_kinds(family: str) -> None:
    """Against elimination, in numbers of any exponent where necessary."""
    x = everything(family)[:1, ...]
    kind: Any = mpmath.mpc if "whole" in family else complex
    power = 0 if "whole" in family else exponent(x)
    near = x if "whole" in family else near_one(x, x)
    sign, log = eliminated([[kind(each) for each in row] for row in near[0].tolist()])
    log -= power * x.shape[-1] * math.log(2)
    det, found = xp.linalg.det(x), xp.linalg.slogdet(x)
    seen, phase, logarithm = (complex(each[0]) for each in (det, *found))
    if sign == 0 or phase == 0:
        assert sign == phase == seen == 0 and logarithm == -math.inf
        return
    assert abs(phase - sign) < 1e-9
    assert abs(logarithm - log) < 1e-9 * (1 + abs(log))
    wanted = sign * mpmath.exp(log)
    if 1e-307 < abs(wanted) < 1e308:
        assert abs(seen - wanted) < 1e-9 * abs(wanted)


#: Factors of all rows and columns, and of each by the power of its index.
SCALES = ((1, 1), (1, 0.125), (1e150, 1), (1e-150, 1), (1e150, 1e-4), (2.0**-530, 1))


@run_each("upper", [False, True], ids=["lower", "upper"])
@run_each("dtype", ["float64", "complex128"])
@run_each("n", [1, 2, 5, 33, 60, 300])
def test_cholesky_in_every_range(n: int, dtype: str, upper: bool) -> None:
    """The other triangle is not read."""
    b = of_kind("random", dtype, (1, n, n))[0, ...]
    for factor, step in SCALES if n < 300 else SCALES[:1]:
        powers = factor * float(step) ** xp.arange(n, dtype="float64")
        a = xp.matmul(b, xp.conj(b).mT) + xp.eye(n, dtype=dtype)
        a = a * xp.astype(powers[:, None] * powers, dtype)
        a = xp.tril(a) + xp.conj(xp.tril(a, k=-1)).mT - hard.diagonal_imaginary(a)
        other = xp.triu(xp.eye(n) - 1) < 0
        given = xp.where(other.mT if upper else other, xp.asarray(xp.nan, dtype=dtype), a)
        out = xp.linalg.cholesky(given, upper=upper)
        f = xp.conj(out).mT if upper else out
        diagonal = xp.astype(xp.linalg.diagonal(f), "complex128")
        assert xp.all(xp.real(diagonal) > 0) and not xp.any(xp.imag(diagonal))
        assert not xp.any(xp.triu(f, k=1))
        near, whole = near_one(f, f), near_one(near_one(a, f), f)
        error = float(sizes(xp.matmul(near, xp.conj(near).mT) - whole))
        off = n * math.ldexp(1e-322, 2 * exponent(f))
        assert error <= 10 * n * EPS * float(sizes(whole)) + off, (factor, step)


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
