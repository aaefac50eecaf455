"""Models of eigenvalues and eigenvectors: residuals, orthogonality, and exact polynomials."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import eigenvalues
from oracles import matrices as exact
from oracles.formats import COMPLEX, FLOATS
from oracles.matrices import Matrix

from properties.arrays import Draw
from properties.matrices import (
    Make,
    Rows,
    any_matrix,
    component,
    extents,
    mirrored,
    sometimes_not_finite,
    stack,
    stacks,
    with_garbage,
)
from properties.models.registry import Call, models
from properties.residuals import (
    assert_nan,
    assert_product,
    assert_small,
    assert_unitary,
    bound,
    pieces,
)

dtypes = st.sampled_from(FLOATS)
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
        wanted, limit = eigenvalues.of_hermitian(a), bound(n, kind, exact.norm(a))
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
    wanted = eigenvalues.characteristic(a)
    got = eigenvalues.from_roots([exact.exact(w) for w in values])
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
