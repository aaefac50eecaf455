"""Random stacks of small matrices: plain, graded, singular, of known rank, scaled, not finite; and
residuals and orthogonality of factors, in exact arithmetic.

Decompositions are computed in float64 or complex128 and rounded once, so that a residual is within
10 n eps |A| with the eps of float64, and what rounding the factors to their dtype adds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import matrices as exact
from oracles.checks import assert_dtype
from oracles.formats import COMPLEX, COMPONENT, FORMATS, rounded
from oracles.matrices import Matrix
from oracles.nested import Shape, from_array

from properties.arrays import Draw, Drawn, arranged

Rows = list[list[Any]]
Make = Callable[[random.Random], Rows]
extents = st.sampled_from((2, 3, 1, 4, 2, 3, 5, 4, 6, 3, 2, 0))
stacks = st.sampled_from(((), (3,), (1,), (4,), (2, 3), (5,), (), (3,), (6,), (0,), (2, 0)))


# --- Elements, and matrices of them.


def component(dtype: str) -> str:
    return COMPONENT.get(dtype, dtype)


def number(dtype: str, part: Callable[[], Fraction | float]) -> Any:
    """An element whose parts are rounded to the dtype."""
    kind = component(dtype)
    if dtype in COMPLEX:
        return complex(rounded(Fraction(part()), kind), rounded(Fraction(part()), kind))
    return rounded(Fraction(part()), kind)


def halves(dtype: str, rng: random.Random) -> Any:
    return number(dtype, lambda: Fraction(rng.randint(-6, 6), 2))


def uniform(dtype: str, rng: random.Random) -> Any:
    return number(dtype, lambda: rng.uniform(-1, 1))


def graded(dtype: str, rng: random.Random) -> Any:
    spread = 4 if component(dtype) in ("float16", "bfloat16") else 12
    return number(dtype, lambda: rng.choice((1, -1)) * 2 ** rng.uniform(-spread, spread))


def sparse(dtype: str, rng: random.Random) -> Any:
    return number(dtype, lambda: rng.choice((0, 0, 0, 1, -1, 3)))


ELEMENTS = (halves, uniform, graded, sparse)


def filled(dtype: str, m: int, n: int, rng: random.Random) -> Rows:
    element = rng.choice(ELEMENTS)
    return [[element(dtype, rng) for _ in range(n)] for _ in range(m)]


def converted(a: Matrix, dtype: str) -> Rows:
    """The numbers as elements, rounded where the dtype does not hold them."""
    kind = component(dtype)
    if dtype in COMPLEX:
        return [[complex(rounded(x.real, kind), rounded(x.imag, kind)) for x in row] for row in a]
    return [[rounded(x.real, kind) for x in row] for row in a]


def of_low_rank(dtype: str, m: int, n: int, rng: random.Random) -> Rows:
    """A product of matrices of small integers, which every dtype holds."""
    few = rng.randint(0, max(0, min(m, n) - 1))

    def integers(rows: int, columns: int) -> Matrix:
        each = [number(dtype, lambda: rng.randint(-2, 2)) for _ in range(rows * columns)]
        return exact.to_exact(each[columns * i : columns * (i + 1)] for i in range(rows))

    return converted(exact.product(integers(m, few), integers(few, n), n), dtype)


def permutation(n: int, dtype: str, rng: random.Random) -> Matrix:
    """A unitary matrix with one element in each row, of absolute value 1."""
    turns: list[Any] = [exact.ONE, -exact.ONE]
    if dtype in COMPLEX:
        turns = [*turns, *(exact.Cartesian(exact.ZERO, each) for each in turns)]
    order = rng.sample(range(n), n)
    return [[rng.choice(turns) if j == k else exact.ZERO for j in range(n)] for k in order]


def unitary(n: int, dtype: str, rng: random.Random) -> Matrix:
    """A unitary matrix that every dtype holds: a permutation, or mixed by a Hadamard matrix."""
    out = permutation(n, dtype, rng)
    if n >= 4 and rng.random() < 0.7:
        hadamard = [[Fraction((-1) ** (i & j).bit_count(), 2) for j in range(4)] for i in range(4)]
        out[:4] = exact.product(hadamard, out[:4], n)
    return out


def scaled_by_power(rows: Rows, dtype: str, rng: random.Random) -> Rows:
    """Sometimes all elements times a power of two, near the ends of the dtype's range."""
    largest = max((max(abs(x.real), abs(x.imag)) for row in rows for x in row), default=0.0)
    if not largest or rng.random() < 0.75:
        return rows
    form = FORMATS[component(dtype)]
    top = math.frexp(largest)[1]
    power = rng.choice((form.emax - 5 - top, form.emin - top, form.emin + 6 - top))
    return converted(exact.scaled(exact.to_exact(rows), Fraction(2) ** power), dtype)


def any_matrix(dtype: str, m: int, n: int) -> Make:
    def make(rng: random.Random) -> Rows:
        work = rng.choice((filled, filled, filled, of_low_rank))
        return scaled_by_power(work(dtype, m, n, rng), dtype, rng)

    return make


def sometimes_not_finite(make: Make, dtype: str) -> Make:
    """One element of some of the matrices is NaN or infinite."""

    def work(rng: random.Random) -> Rows:
        rows = make(rng)
        if rows and rows[0] and rng.random() < 0.1:
            value = rng.choice((math.nan, math.inf, -math.inf))
            place = rng.randrange(len(rows[0]))
            rng.choice(rows)[place] = complex(1.0, value) if dtype in COMPLEX else value
        return rows

    return work


def is_well_conditioned(rows: Rows) -> bool:
    inverse = exact.inverse(exact.to_exact(rows))
    return inverse is not None and exact.norm(exact.to_exact(rows)) * exact.norm(inverse) < 2**20


def invertible(dtype: str, n: int) -> Make:
    """Matrices whose condition number is small against 1 / eps."""

    def make(rng: random.Random) -> Rows:
        for _ in range(3):
            rows = filled(dtype, n, n, rng)
            if is_well_conditioned(rows):
                break
        else:
            rows = [[uniform(dtype, rng) for _ in range(n)] for _ in range(n)]
            for i, row in enumerate(rows):
                row[i] += rng.choice((8.0, -8.0))
            rng.shuffle(rows)
            rows = converted(exact.to_exact(rows), dtype)
        other = scaled_by_power(rows, dtype, rng)  # subnormal numbers lose bits
        return other if is_well_conditioned(other) else rows

    return make


# --- Hermitian matrices.


def garbage(dtype: str, rng: random.Random) -> Any:
    """What stands where a function does not read."""
    part = rng.choice((0.0, 1.0, -5.0, math.nan, math.inf))
    return complex(part, rng.choice((0.0, 2.0, math.nan))) if dtype in COMPLEX else part


def mirrored(rows: Rows, upper: bool = False) -> Matrix:
    """The Hermitian matrix of which one triangle is given."""

    def element(i: int, j: int) -> Any:
        if i == j:
            return Fraction(rows[i][i].real)
        value = exact.exact(rows[i][j] if (i > j) != upper else rows[j][i])
        return value if (i > j) != upper else value.conjugate()

    return [[element(i, j) for j in range(len(rows))] for i in range(len(rows))]


def with_garbage(a: Matrix, dtype: str, upper: bool, rng: random.Random) -> Rows:
    """One triangle, and the other arbitrary."""
    rows = converted(a, dtype)
    arbitrary = rng.random() < 0.5
    for i, row in enumerate(rows):
        for j in range(len(rows)):
            if arbitrary and ((j < i) if upper else (j > i)):
                row[j] = garbage(dtype, rng)
    return rows


# --- Arrays.


def stack(draw: Draw, dtype: str, shape: Shape, make: Make) -> Drawn:
    """An array of matrices in a drawn layout; stacks are sometimes broadcast."""
    is_plain = draw(st.booleans())
    rng = random.Random(draw(st.integers(0, 2**20)))
    lead = tuple(1 if n > 1 and not is_plain and rng.random() < 0.1 else n for n in shape[:-2])
    inner = (*lead, *shape[-2:])
    model = exact.stacked([make(rng) for _ in range(math.prod(lead))], inner)
    return arranged(model, shape, dtype, is_plain, rng)


# --- Residuals.


TINY = exact.smallest("float64")
#: Beyond this, a result or an intermediate number may overflow.
LARGE = Fraction(FORMATS["float64"].largest) / 2**10
#: With a larger condition number, a result has no meaning.
WORST = Fraction(2) ** 34


def backward(a: Matrix, n: int) -> Fraction:
    """The norm of the error in the matrix that explains the error of the result."""
    return 10 * n * (exact.WORKING * exact.norm(a) + TINY)


def bound(n: int, dtype: str, size: Fraction, factors: int = 1) -> Fraction:
    """Of the residual of a matrix of this size and norm from factors of the dtype; tiny numbers are
    rounded to multiples of the smallest."""
    relative = 10 * exact.WORKING + factors * exact.unit(dtype)
    return max(1, n) * (relative * size + n * factors * exact.smallest(dtype))


def assert_small(a: Matrix, limit: Fraction, what: str) -> None:
    size = exact.norm(a)
    assert size <= limit, f"{what}: {exact.shown(size)}, more than {exact.shown(limit)}"


def assert_unitary(q: Matrix, rows: int, columns: int, dtype: str, what: str) -> None:
    """The columns are orthonormal."""
    gram = exact.product(exact.adjoint(q, columns), q, columns)
    limit = bound(rows, dtype, Fraction(1), 2) * max(1, math.isqrt(columns) + 1)
    assert_small(exact.minus(gram, exact.identity(columns)), limit, f"{what}^H {what} - I")


def assert_product(factors: Sequence[Matrix], a: Matrix, n: int, dtype: str, what: str) -> None:
    """The product of the factors is the matrix of n columns."""
    out = factors[0]
    for factor in factors[1:]:
        out = exact.product(out, factor, len(factor[0]) if factor else n)
    limit = bound(max(len(a), n), dtype, exact.norm(a), len(factors))
    assert_small(exact.minus(out, a), limit, f"{what} - A")


def assert_nan(*parts: Any) -> None:
    """Every element has a part that is NaN."""
    values = [value for part in parts for value in (part if isinstance(part, list) else [part])]
    values = [v for each in values for v in (each if isinstance(each, list) else [each])]
    assert all(v != v for v in values), f"{values} are not all NaN"


def pieces(out: Any, dtype: str, shape: Shape, ndim: int = 2) -> list[Any]:
    """The matrices, vectors or numbers of a result."""
    assert_dtype(out, dtype)
    assert out.shape == shape
    split = {0: lambda x: x.values, 1: exact.vectors, 2: exact.matrices}[ndim]
    parts: list[Any] = split(from_array(out))
    return parts
