"""Models of QR and Cholesky decompositions, eigenvalues and eigenvectors: the products and the
forms of their factors, residuals, orthogonality, and exact polynomials."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import matrices as exact
from oracles.formats import COMPLEX, FLOATS
from oracles.matrices import Matrix

from properties.arrays import Draw
from properties.matrices import (
    Make,
    Rows,
    any_matrix,
    assert_nan,
    assert_product,
    assert_small,
    assert_unitary,
    bound,
    component,
    converted,
    extents,
    filled,
    mirrored,
    number,
    pieces,
    scaled_by_power,
    sometimes_not_finite,
    stack,
    stacks,
    with_garbage,
)
from properties.models.registry import Call, models

dtypes = st.sampled_from(FLOATS)


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
        return exact.of_hermitian(a).above(exact.norm(a) / 2**20) == n

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


# --- Eigenvalues.


TO_COMPLEX = {
    **dict.fromkeys(("float16", "bfloat16", "float32", "complex64"), "complex64"),
    **dict.fromkeys(("float64", "complex128"), "complex128"),
}


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
        wanted, limit = exact.of_hermitian(a), bound(n, kind, exact.norm(a))
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
