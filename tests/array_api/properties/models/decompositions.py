"""Models of the decompositions: their products, and what their factors are, in exact arithmetic.

A decomposition is computed in float64 or complex128 and rounded once, so that a residual is within
10 n eps |A| with the eps of float64, and what rounding the factors to their dtype adds.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import matrices as exact
from oracles.checks import assert_dtype
from oracles.formats import COMPLEX, FLOATS
from oracles.matrices import Matrix
from oracles.nested import Shape, from_array

from properties.arrays import Draw
from properties.matrices import (
    Make,
    Rows,
    any_matrix,
    component,
    converted,
    extents,
    filled,
    number,
    scaled_by_power,
    sometimes_not_finite,
    stack,
    stacks,
)
from properties.models.registry import Call, models

dtypes = st.sampled_from(FLOATS)
TO_COMPLEX = {
    **dict.fromkeys(("float16", "bfloat16", "float32", "complex64"), "complex64"),
    **dict.fromkeys(("float64", "complex128"), "complex128"),
}


def bound(n: int, dtype: str, size: Fraction, factors: int = 1) -> Fraction:
    """Of the residual of a matrix of this size and norm from factors of the dtype; tiny numbers are
    rounded to multiples of the smallest."""
    relative = 10 * exact.WORKING + factors * exact.unit(dtype)
    return max(1, n) * (relative * size + n * factors * exact.smallest(dtype))


def assert_small(a: Matrix, limit: Fraction, what: str) -> None:
    size = exact.norm(a)
    assert size <= limit, f"{what}: {float(size):.3g}, more than {float(limit):.3g}"


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
    return split(from_array(out))


# --- QR and Cholesky.


@models("linalg.qr")
def qr(name: str, draw: Draw) -> Call:
    dtype, lead, m, n = draw(dtypes), draw(stacks), draw(extents), draw(extents)
    make = sometimes_not_finite(any_matrix(dtype, m, n), dtype)
    x = stack(draw, dtype, (*lead, m, n), make)
    mode = draw(st.sampled_from(("reduced", "complete")))
    k = m if mode == "complete" else min(m, n)

    def check(out: Any) -> None:
        q, r = (out.Q, out.R)
        assert (q is out[0]) and (r is out[1]) and len(out) == 2
        each = pieces(q, dtype, (*lead, m, k)), pieces(r, dtype, (*lead, k, n))
        for a, left, right in zip(exact.matrices(x.model), *each, strict=True):
            if not exact.is_finite(a):
                assert_nan(left, right)
                continue
            orthonormal, upper = exact.to_exact(left), exact.to_exact(right)
            assert_product((orthonormal, upper), exact.to_exact(a), n, dtype, "QR")
            assert_unitary(orthonormal, m, k, dtype, "Q")
            assert not any(upper[i][j] for i in range(k) for j in range(min(i, n)))

    keywords = {} if mode == "reduced" and draw(st.booleans()) else {"mode": mode}
    return Call((x.array,), check, keywords)


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


def positive_definite(dtype: str, n: int, upper: bool) -> Make:
    """B B^H + I for small integers, or a matrix with a dominant diagonal."""

    def base(rng: random.Random) -> Matrix:
        if rng.random() < 0.5:
            each = [[number(dtype, lambda: rng.randint(-2, 2)) for _ in range(n)] for _ in range(n)]
            b = exact.to_exact(each)
            return exact.plus(exact.product(b, exact.adjoint(b, n), n), exact.identity(n))
        a = mirrored(filled(dtype, n, n, rng))
        for i, row in enumerate(a):
            row[i] = 2 * sum(map(exact.size, row), exact.ONE)
        return a

    def is_definite(rows: Rows) -> bool:
        a = mirrored(rows)
        return exact.eigenvalues(a).above(exact.norm(a) / 2**20) == n

    def make(rng: random.Random) -> Rows:
        rows = converted(base(rng), dtype)
        other = scaled_by_power(rows, dtype, rng)  # subnormal numbers lose bits
        chosen = other if is_definite(other) else rows
        return with_garbage(exact.to_exact(chosen), dtype, upper, rng)

    return make


@models("linalg.cholesky")
def cholesky(name: str, draw: Draw) -> Call:
    dtype, lead, n, upper = draw(dtypes), draw(stacks), draw(extents), draw(st.booleans())
    x = stack(draw, dtype, (*lead, n, n), positive_definite(dtype, n, upper))

    def check(out: Any) -> None:
        each = pieces(out, dtype, x.shape)
        for a, found in zip(exact.matrices(x.model), each, strict=True):
            triangle = exact.to_exact(found)
            star = exact.adjoint(triangle, n)
            factors = (star, triangle) if upper else (triangle, star)
            assert_product(factors, mirrored(a, upper), n, dtype, "L L^H")
            assert not any(
                found[i][j] for i in range(n) for j in (range(i) if upper else range(i + 1, n))
            )
            assert all(found[i][i].real > 0 and found[i][i].imag == 0 for i in range(n))

    keywords = {"upper": upper} if upper or draw(st.booleans()) else {}
    return Call((x.array,), check, keywords)


# --- Singular values.


def assert_singular_values(got: list[float], a: Matrix, n: int, dtype: str) -> None:
    """The nearest numbers to the exact ones, in descending order."""
    wanted = exact.singular_values(a, n)
    limit = bound(max(len(a), n), dtype, exact.norm(a))
    assert len(got) == wanted.number
    assert all(x >= y for x, y in itertools.pairwise(got)) and min(got, default=0.0) >= 0
    for k, value in enumerate(got):
        assert wanted.is_near(Fraction(value), k, limit), f"singular value {k} is {value!r}"


@models("linalg.svd")
def svd(name: str, draw: Draw) -> Call:
    dtype, lead, m, n = draw(dtypes), draw(stacks), draw(extents), draw(extents)
    make = sometimes_not_finite(any_matrix(dtype, m, n), dtype)
    x = stack(draw, dtype, (*lead, m, n), make)
    whole, k = draw(st.booleans()), min(m, n)

    def check(out: Any) -> None:
        u, s, vh = out.U, out.S, out.Vh
        assert u is out[0] and s is out[1] and vh is out[2] and len(out) == 3
        each = (
            pieces(u, dtype, (*lead, m, m if whole else k)),
            pieces(s, component(dtype), (*lead, k), 1),
            pieces(vh, dtype, (*lead, n if whole else k, n)),
        )
        for rows, left, values, right in zip(exact.matrices(x.model), *each, strict=True):
            if not exact.is_finite(rows):
                assert_nan(left, values, right)
                continue
            a, first, last = (exact.to_exact(every) for every in (rows, left, right))
            middle = exact.diagonal(
                [Fraction(v) for v in values], len(left[0]) if left else 0, len(right)
            )
            assert_product((first, middle, last), a, n, dtype, "U S Vh")
            assert_unitary(first, m, len(middle), dtype, "U")
            assert_unitary(exact.adjoint(last, n), n, len(last), dtype, "V")
            assert all(p >= q for p, q in itertools.pairwise(values))
            assert min(values, default=0.0) >= 0

    keywords = {} if whole and draw(st.booleans()) else {"full_matrices": whole}
    return Call((x.array,), check, keywords)


@models("linalg.svdvals")
def svdvals(name: str, draw: Draw) -> Call:
    dtype, lead, m, n = draw(dtypes), draw(stacks), draw(extents), draw(extents)
    make = sometimes_not_finite(any_matrix(dtype, m, n), dtype)
    x = stack(draw, dtype, (*lead, m, n), make)

    def check(out: Any) -> None:
        each = pieces(out, component(dtype), (*lead, min(m, n)), 1)
        for a, values in zip(exact.matrices(x.model), each, strict=True):
            if exact.is_finite(a):
                assert_singular_values(values, exact.to_exact(a), n, component(dtype))
            else:
                assert_nan(values)

    return Call((x.array,), check)


# --- Eigenvalues.


def hermitian(dtype: str, n: int) -> Make:
    """Lower triangles, with arbitrary upper ones and imaginary parts of the diagonal."""
    base = any_matrix(dtype, n, n)

    def make(rng: random.Random) -> Rows:
        rows = with_garbage(exact.to_exact(base(rng)), dtype, False, rng)
        if dtype in COMPLEX and rng.random() < 0.3:
            for i, row in enumerate(rows):
                row[i] = complex(row[i].real, rng.choice((0.0, 3.0, math.nan)))
        return rows

    return make


def lower(rows: Rows) -> Rows:
    """What is read of a Hermitian matrix."""
    return [[*row[:i], row[i].real] for i, row in enumerate(rows)]


@models("linalg.eigh", "linalg.eigvalsh")
def eigh(name: str, draw: Draw) -> Call:
    dtype, lead, n = draw(dtypes), draw(stacks), draw(extents)
    x = stack(draw, dtype, (*lead, n, n), sometimes_not_finite(hermitian(dtype, n), dtype))
    kind = component(dtype)

    def check_values(values: list[float], a: Matrix) -> None:
        wanted, limit = exact.eigenvalues(a), bound(n, kind, exact.norm(a))
        assert all(p <= q for p, q in itertools.pairwise(values)), values
        for k, value in enumerate(values):
            assert wanted.is_near(Fraction(value), n - 1 - k, limit), f"eigenvalue {k}: {value!r}"

    def check(out: Any) -> None:
        has_vectors = name == "linalg.eigh"
        if has_vectors:
            assert out.eigenvalues is out[0] and out.eigenvectors is out[1] and len(out) == 2
        each = pieces(out[0] if has_vectors else out, kind, (*lead, n), 1)
        vectors = pieces(out[1], dtype, x.shape) if has_vectors else [None] * len(each)
        for rows, values, found in zip(exact.matrices(x.model), each, vectors, strict=True):
            if not exact.is_finite(lower(rows)):
                assert_nan(values, *([found] if has_vectors else []))
                continue
            a = mirrored(rows)
            check_values(values, a)
            if found is not None:
                v, diagonal = exact.to_exact(found), [Fraction(w) for w in values]
                factors = (v, exact.diagonal(diagonal, n, n), exact.adjoint(v, n))
                assert_product(factors, a, n, dtype, "V L V^H")
                assert_unitary(v, n, n, dtype, "V")

    return Call((x.array,), check)


def assert_eigenvalues(values: list[complex], a: Matrix, dtype: str) -> None:
    """They are those of a matrix near to A: their polynomial has its coefficients."""
    n, size = len(a), exact.norm(a)
    limit = bound(n, dtype, size)
    wanted = exact.characteristic(a)
    got = exact.from_roots([exact.exact(w) for w in values])
    for k, (mine, right) in enumerate(zip(got, wanted, strict=True)):
        off = math.comb(n, k) * k * limit * (size + limit) ** max(0, k - 1)
        assert exact.size(mine - right) <= off, f"eigenvalues {values}: coefficient {k}"


def assert_eigenvectors(values: list[complex], found: Rows, a: Matrix, dtype: str) -> None:
    n = len(a)
    v, diagonal = exact.to_exact(found), [exact.exact(w) for w in values]
    right = exact.product(v, exact.diagonal(diagonal, n, n), n)
    off = exact.minus(exact.product(a, v, n), right)
    assert_small(off, (math.isqrt(n) + 1) * bound(n, dtype, exact.norm(a), 2), "A V - V L")
    for column in exact.adjoint(v, n):
        length = exact.norm([column])
        assert abs(length - 1) <= bound(n, dtype, Fraction(1)), f"a column's norm is {length}"
        sizes = [exact.size(each) for each in column]
        limit = max(sizes) * (1 - 8 * exact.unit(dtype))
        assert any(
            each.imag == 0 and each.real > 0
            for each, size in zip(column, sizes, strict=True)
            if size >= limit
        ), f"no greatest component of {column} is real and positive"


@models("linalg.eig", "linalg.eigvals")
def eig(name: str, draw: Draw) -> Call:
    dtype, lead, n = draw(dtypes), draw(stacks), draw(extents)
    x = stack(draw, dtype, (*lead, n, n), sometimes_not_finite(any_matrix(dtype, n, n), dtype))
    out_dtype = TO_COMPLEX[dtype]

    def check(out: Any) -> None:
        has_vectors = name == "linalg.eig"
        if has_vectors:
            assert out.eigenvalues is out[0] and out.eigenvectors is out[1] and len(out) == 2
        each = pieces(out[0] if has_vectors else out, out_dtype, (*lead, n), 1)
        vectors = pieces(out[1], out_dtype, x.shape) if has_vectors else [None] * len(each)
        for rows, values, found in zip(exact.matrices(x.model), each, vectors, strict=True):
            if not exact.is_finite(rows):
                assert_nan(values, *([found] if has_vectors else []))
                continue
            a = exact.to_exact(rows)
            assert_eigenvalues(values, a, out_dtype)
            if found is not None:
                assert_eigenvectors(values, found, a, out_dtype)

    return Call((x.array,), check)
