"""Models of determinants, inverses, solutions and powers, by elimination of exact numbers.

The elements are the exact ones within a bound, rounded once. The bound is what an error of
10 n eps |A| in the matrix makes of the result, with the eps of float64.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import matrices as exact
from oracles.formats import FLOATS
from oracles.matrices import Matrix, Number, assert_rounded, is_rounded
from oracles.nested import broadcast
from oracles.promotion import PROMOTION
from oracles.real_functions import CONTEXT, settled

from properties.arrays import Draw, broadcastable
from properties.matrices import (
    LARGE,
    TINY,
    Rows,
    any_matrix,
    backward,
    component,
    converted,
    extents,
    invertible,
    permutation,
    pieces,
    stack,
    stacks,
)
from properties.models.registry import Call, models

dtypes = st.sampled_from(FLOATS)
PAIRS = sorted(pair for pair in PROMOTION if set(pair) <= set(FLOATS))


# --- Determinants.


def determinant(a: Matrix) -> tuple[Number, Fraction]:
    """With its error: the products of the minors with the errors of the other elements."""
    n, size, off = len(a), exact.norm(a), backward(a, len(a))
    polynomial, adjugate = exact.leverrier(a)
    higher = sum((math.comb(n, k) * off**k * size ** (n - k) for k in range(2, n + 1)), Fraction())
    det = polynomial[-1] * (-exact.ONE) ** n
    return det, exact.norm(adjugate) * off + higher if n else Fraction()


def has_zeros(a: Matrix) -> bool:
    """Whether a whole row or column is zero, so that elimination finds an exact zero."""
    return not all(map(any, a)) or not all(map(any, zip(*a, strict=True)))


@models("linalg.det")
def det(name: str, draw: Draw) -> Call:
    dtype, lead, n = draw(dtypes), draw(stacks), draw(extents)
    x = stack(draw, dtype, (*lead, n, n), any_matrix(dtype, n, n))

    def check(out: Any) -> None:
        each = pieces(out, dtype, lead, 0)
        for rows, found in zip(exact.matrices(x.model), each, strict=True):
            a = exact.to_exact(rows)
            wanted, off = determinant(a)
            off = Fraction() if has_zeros(a) else off + n * TINY
            assert is_rounded(found, wanted, off, dtype), (found, wanted, off)

    return Call((x.array,), check)


def logarithm(value: Fraction) -> Fraction:
    out = settled(CONTEXT.log(CONTEXT.mpf(value.numerator) / value.denominator))
    return Fraction(out)


@models("linalg.slogdet")
def slogdet(name: str, draw: Draw) -> Call:
    dtype, lead, n = draw(dtypes), draw(stacks), draw(extents)
    x = stack(draw, dtype, (*lead, n, n), any_matrix(dtype, n, n))
    kind = component(dtype)

    def check_one(a: Matrix, sign: Any, log: float) -> None:
        wanted, off = determinant(a)
        size = exact.size(wanted)
        if has_zeros(a) or sign == 0:
            assert sign == 0 and log == -math.inf and size <= off, (sign, log, size)
        elif size <= 2 * off:  # may be zero
            assert abs(abs(sign) - 1) <= 4 * exact.unit(dtype), sign
            assert log <= float(logarithm(3 * off)) + 1
        else:
            relative = 2 * off / size + 4 * exact.WORKING
            assert is_rounded(sign, wanted / size, relative, dtype), (sign, wanted)
            right = logarithm(size)
            off = relative + 4 * exact.WORKING * (n + abs(right))
            assert is_rounded(log, right, off, kind), (log, exact.shown(right), kind)

    def check(out: Any) -> None:
        assert out.sign is out[0] and out.logabsdet is out[1] and len(out) == 2
        each = pieces(out[0], dtype, lead, 0), pieces(out[1], kind, lead, 0)
        for rows, sign, log in zip(exact.matrices(x.model), *each, strict=True):
            check_one(exact.to_exact(rows), sign, log)

    return Call((x.array,), check)


# --- Inverses and solutions.


def assert_within(got: Rows, wanted: Matrix, off: Fraction, dtype: str) -> None:
    assert_rounded(got, wanted, lambda i, j: off, dtype)


def inverse(a: Matrix) -> tuple[Matrix, Fraction]:
    """With its error."""
    out = exact.inverse(a)
    assert out is not None
    return out, 2 * exact.norm(out) ** 2 * backward(a, len(a)) + len(a) * TINY


@models("linalg.inv")
def inv(name: str, draw: Draw) -> Call:
    dtype, lead, n = draw(dtypes), draw(stacks), draw(extents)
    x = stack(draw, dtype, (*lead, n, n), invertible(dtype, n))

    def check(out: Any) -> None:
        each = pieces(out, dtype, x.shape)
        for rows, found in zip(exact.matrices(x.model), each, strict=True):
            wanted, off = inverse(exact.to_exact(rows))
            if exact.norm(wanted) < LARGE:
                assert_within(found, wanted, off, dtype)

    return Call((x.array,), check)


@models("linalg.solve")
def solve(name: str, draw: Draw) -> Call:
    one, other = draw(st.sampled_from(PAIRS))
    dtype, n = PROMOTION[one, other], draw(extents)
    leads = [draw(stacks)]
    leads.append(broadcastable(draw, leads[0]))
    if draw(st.booleans()):
        leads.reverse()
    is_vector = draw(st.integers(0, 3)) == 0
    k = 1 if is_vector else draw(st.integers(0, 4))
    x = stack(draw, one, (*leads[0], n, n), invertible(one, n))
    y = stack(draw, other, (n, 1) if is_vector else (*leads[1], n, k), any_matrix(other, n, k))
    right = y.array[:, 0] if is_vector else y.array
    lead = leads[0] if is_vector else broadcast(leads)
    assert lead is not None
    systems, sides = exact.matrices(x.model), exact.matrices(y.model)
    pairs = zip(exact.places(x.shape[:-2], lead), exact.places(y.shape[:-2], lead), strict=True)

    def check_one(a: Matrix, b: Matrix, found: Rows) -> None:
        inner, _ = inverse(a)
        wanted, size = exact.product(inner, b, k), exact.norm(inner)
        off = [
            2 * size * (backward(a, n) * exact.norm([column]) + n * TINY) + n * TINY
            for column in exact.adjoint(wanted, k)
        ]
        if exact.norm(wanted) < LARGE and size * exact.norm(b) < LARGE:
            assert_rounded(found, wanted, lambda i, j: off[j], dtype)

    def check(out: Any) -> None:
        shape = (*lead, n) if is_vector else (*lead, n, k)
        each = pieces(out, dtype, shape, 1 if is_vector else 2)
        for (p, q), found in zip(pairs, each, strict=True):
            rows = [[value] for value in found] if is_vector else found
            check_one(exact.to_exact(systems[p]), exact.to_exact(sides[q]), rows)

    return Call((x.array, right), check)


# --- Powers.


@models("linalg.matrix_power")
def matrix_power(name: str, draw: Draw) -> Call:
    dtype, lead, n = draw(dtypes), draw(stacks), draw(extents)
    make: Any = invertible(dtype, n)
    power = draw(st.integers(-3, 9))
    if draw(st.integers(0, 3)) == 0:  # permutations, whose powers are exact
        power = draw(st.sampled_from((power, 2**63 + 3, -(2**70) - 5, 2**31, -1)))
        make = lambda rng: converted(permutation(n, dtype, rng), dtype)  # noqa: E731
    elif power >= 0 and draw(st.booleans()):
        make = any_matrix(dtype, n, n)
    x = stack(draw, dtype, (*lead, n, n), make)
    count = abs(power)

    def check_one(a: Matrix, found: Rows) -> None:
        if count > 100:
            assert_within(found, exact.power(*positive(a)), Fraction(), dtype)
            return
        base, off = (a, Fraction()) if power >= 0 else inverse(a)
        size, wanted = exact.norm(base), exact.power(base, count)
        if max(size, 1) ** count > LARGE:
            return
        sizes = exact.power([[exact.size(v) for v in row] for row in base], count)
        tiny = n * count * TINY * max(size, 1) ** count
        rest = count * (size + off) ** max(0, count - 1) * off + tiny
        factor = 4 * n * count * exact.WORKING
        assert_rounded(found, wanted, lambda i, j: factor * sizes[i][j] + rest, dtype)

    def positive(a: Matrix) -> tuple[Matrix, int]:
        """The same power of a permutation."""
        return (a, count) if power >= 0 else (exact.adjoint(a, n), count)

    def check(out: Any) -> None:
        each = pieces(out, dtype, x.shape)
        for rows, found in zip(exact.matrices(x.model), each, strict=True):
            check_one(exact.to_exact(rows), found)

    return Call((x.array, power), check)
