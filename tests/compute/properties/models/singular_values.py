"""Models of singular values, and of the ranks and pseudoinverses that are computed from them."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import matrices as exact
from oracles.formats import FLOATS, REAL_FLOATS
from oracles.matrices import Matrix, assert_rounded
from oracles.nested import Nested

from properties.arrays import Draw, array, broadcastable
from properties.matrices import (
    LARGE,
    TINY,
    WORST,
    Rows,
    any_matrix,
    assert_nan,
    assert_product,
    assert_unitary,
    backward,
    bound,
    component,
    converted,
    extents,
    pieces,
    scaled_by_power,
    sometimes_not_finite,
    stack,
    stacks,
    unitary,
)
from properties.models.registry import Call, models

dtypes = st.sampled_from(FLOATS)


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


# --- Ranks and pseudoinverses.


class Known:
    """Matrices U diag(s) V^H of unitary matrices and powers of two."""

    def __init__(self, dtype: str, m: int, n: int) -> None:
        self.dtype, self.m, self.n = dtype, m, n
        self.factors: dict[str, tuple[Matrix, list[Fraction], Matrix]] = {}

    def make(self, rng: random.Random) -> Rows:
        few = min(self.m, self.n)
        powers = [Fraction(2) ** rng.choice((-4, -1, 0, 0, 2)) for _ in range(few)]
        s = sorted(powers, reverse=True)
        s = [v if rng.random() < 0.8 else Fraction() for v in s]
        u, v = (unitary(size, self.dtype, rng) for size in (self.m, self.n))
        middle = exact.diagonal(s, self.m, self.n)
        whole = exact.product(exact.product(u, middle, self.n), exact.adjoint(v, self.n), self.n)
        rows = converted(whole, self.dtype)
        self.factors[repr(rows)] = (u, s, v)
        return rows

    def pseudoinverse(self, rows: Rows, rtol: Fraction) -> tuple[Matrix, int]:
        u, s, v = self.factors[repr(rows)]
        kept = [1 / x if x > rtol * max(s) else Fraction() for x in s]
        middle = exact.diagonal(kept, self.n, self.m)
        star = exact.adjoint(u, self.m)
        return exact.product(exact.product(v, middle, self.m), star, self.m), sum(map(bool, kept))


def tolerance(draw: Draw, lead: tuple[int, ...]) -> tuple[Any, Nested | None]:
    """The argument rtol, and the numbers that it stands for."""
    numbers = st.sampled_from((0, 0.0, 1e-12, 0.01, 0.2, 0.7, 1.5, math.inf))
    if (kind := draw(st.integers(0, 3))) < 2:
        return None, None
    if kind == 2:
        number = draw(numbers)
        return number, Nested([number], ())
    pool = (0.0, 2.0**-14, 0.0625 + 2.0**-7, 0.203125, 0.75, 1.5)
    shape = broadcastable(draw, lead)
    out = array(draw, draw(st.sampled_from(REAL_FLOATS)), shape, lambda rng: rng.choice(pool))
    return out.array, out.model


class Cut:
    """How many singular values of a matrix exceed rtol times the largest one."""

    def __init__(self, a: Matrix, n: int, rtol: Fraction) -> None:
        values = exact.singular_values(a, n)
        largest = values.value(0, exact.norm(a)) if a and n else Fraction()
        self.threshold = rtol * largest
        # The default of float64 takes for granted that the values are better than n eps.
        self.off = Fraction(3, 4) * max(len(a), n) * exact.WORKING * largest
        self.least = values.above(self.threshold + self.off)
        self.most = values.above(self.threshold - self.off)


def rtols(draw: Draw, dtype: str, lead: tuple[int, ...], m: int, n: int) -> tuple[Any, list[Any]]:
    given, model = tolerance(draw, lead)
    default = max(m, n) * exact.EPSILON[component(dtype)]
    model = model or Nested([default], ())
    return given, [model.values[p] for p in exact.places(model.shape, lead)]


@models("linalg.matrix_rank")
def matrix_rank(name: str, draw: Draw) -> Call:
    dtype, lead, m, n = draw(dtypes), draw(stacks), draw(extents), draw(extents)
    make = draw(st.sampled_from((any_matrix(dtype, m, n), Known(dtype, m, n).make)))
    x = stack(draw, dtype, (*lead, m, n), sometimes_not_finite(make, dtype))
    given, each_rtol = rtols(draw, dtype, lead, m, n)

    def check(out: Any) -> None:
        each = pieces(out, "int64", lead, 0)
        for rows, rtol, found in zip(exact.matrices(x.model), each_rtol, each, strict=True):
            if not exact.is_finite(rows) or rtol == math.inf:
                assert found == 0
                continue
            cut = Cut(exact.to_exact(rows), n, Fraction(rtol))
            assert cut.least <= found <= cut.most, (found, cut.least, cut.most)

    keywords = {} if given is None and draw(st.booleans()) else {"rtol": given}
    return Call((x.array,), check, keywords)


@models("linalg.pinv")
def pinv(name: str, draw: Draw) -> Call:
    dtype, lead, m, n = draw(dtypes), draw(stacks), draw(extents), draw(extents)
    known = Known(dtype, m, n) if draw(st.booleans()) else None

    def general(rng: random.Random) -> Rows:
        return scaled_by_power(any_matrix(dtype, m, n)(rng), dtype, rng)

    make = sometimes_not_finite(known.make if known else general, dtype)
    x = stack(draw, dtype, (*lead, m, n), make)
    given, each_rtol = rtols(draw, dtype, lead, m, n)

    def check_one(rows: Rows, rtol: Any, found: Rows) -> None:
        a = exact.to_exact(rows)
        if rtol == math.inf:
            assert not any(map(any, found))
            return
        cut = Cut(a, n, Fraction(rtol))
        if cut.least != cut.most:
            return
        wanted, rank = (
            known.pseudoinverse(rows, Fraction(rtol)) if known else exact.pseudoinverse(a, n)
        )
        size = exact.norm(wanted)
        if rank != cut.most or size * exact.norm(a) > WORST or size > LARGE:
            return
        off = 10 * size**2 * backward(a, max(m, n)) + TINY
        assert_rounded(found, wanted, lambda i, j: off, dtype)

    def check(out: Any) -> None:
        each = pieces(out, dtype, (*lead, n, m))
        for rows, rtol, found in zip(exact.matrices(x.model), each_rtol, each, strict=True):
            if exact.is_finite(rows):
                check_one(rows, rtol, found)
            else:
                assert_nan(found)

    keywords = {} if given is None and draw(st.booleans()) else {"rtol": given}
    return Call((x.array,), check, keywords)
