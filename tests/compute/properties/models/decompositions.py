"""Models of QR and Cholesky decompositions: the products and the forms of their factors."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st
from oracles import eigenvalues
from oracles import matrices as exact
from oracles.formats import FLOATS
from oracles.matrices import Matrix

from properties.arrays import Draw
from properties.matrices import (
    Make,
    Rows,
    any_matrix,
    converted,
    extents,
    filled,
    mirrored,
    number,
    scaled_by_power,
    sometimes_not_finite,
    stack,
    stacks,
    with_garbage,
)
from properties.models.registry import Call, models
from properties.residuals import (
    assert_nan,
    assert_product,
    assert_unitary,
    pieces,
)

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
        return eigenvalues.of_hermitian(a).above(exact.norm(a) / 2**20) == n

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
