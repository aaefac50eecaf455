"""Exact matrix, tensor and vector products of nested lists, with bounds for rounded sums."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import refarray
from oracles.checks import assert_dtype, flat
from oracles.formats import COMPLEX, COMPONENT, INTEGERS, limits, rounded, wrapped
from oracles.nested import Nested, Shape, broadcast, indices, made, size_of

#: Returns what two lines of the operands, which have the same length, contribute to the result.
Dot = Callable[[list[Any], list[Any]], Any]
#: Every number that the tests draw is a multiple of 2**-SCALE.
SCALE = 200
#: Extents around multiples of the widths of vectors, tiles and blocks.
EDGES = (
    *(1, 2, 3, 7, 8, 11, 12, 13, 15, 16, 17, 31, 32, 33),
    *(63, 64, 65, 255, 256, 257, 300),
)


# --- Operands.


def small_numbers(dtype: str, shape: Shape, seed: object = 0) -> Nested:
    """Integers whose products and sums are exact in float32."""
    source = random.Random(f"{dtype} {shape} {seed}")
    low = 0 if dtype.startswith("u") else -6

    def one() -> Any:
        number = source.randint(low, 6)
        if dtype in COMPLEX:
            return complex(number, source.randint(low, 6))
        return number if dtype in INTEGERS else float(number)

    return Nested([one() for _ in range(size_of(shape))], shape)


def large_numbers(dtype: str, shape: Shape, seed: object = 0) -> Nested:
    """Integers of the whole range; floating-point numbers with all their bits."""
    source = random.Random(f"{dtype} {shape} {seed}")

    def real(kind: str) -> float:
        spread = 2.0 ** source.randrange(-6, 6)
        return rounded(Fraction(source.choice((1, -1)) * source.uniform(0.5, 1) * spread), kind)

    def one() -> Any:
        if dtype in INTEGERS:
            return source.randint(*limits(dtype))
        if dtype in COMPLEX:
            return complex(real(COMPONENT[dtype]), real(COMPONENT[dtype]))
        return real(dtype)

    return Nested([one() for _ in range(size_of(shape))], shape)


def exact_numbers(dtype: str, shape: Shape, seed: object = 0) -> Nested:
    """Integers of the whole range, which wrap around, or numbers with exact products and sums."""
    return (large_numbers if dtype in INTEGERS else small_numbers)(dtype, shape, seed)


def operands(left: Shape, right: Shape, dtype: str) -> tuple[Any, Any]:
    """Two arrays of large numbers."""
    given = ((left, 1), (right, 2))
    x, y = (as_array(large_numbers(dtype, shape, seed), dtype) for shape, seed in given)
    return x, y


def as_array(x: Nested, dtype: str) -> Any:
    return refarray.asarray(x.values, dtype=dtype).reshape(x.shape)


# --- Sums of products.


@functools.lru_cache(2**14)
def to_format(number: Any, dtype: str) -> Any:
    """The exact number in a dtype: wrapped around, or rounded once."""
    if dtype in INTEGERS:
        return wrapped(number, dtype)
    if dtype in COMPLEX:
        return complex(number)
    return rounded(Fraction(number), dtype)


def exact_dot(dtype: str) -> Dot:
    """Of integers, and of small numbers, for which Python's own arithmetic is exact."""
    return lambda a, b: to_format(sum(map(operator.mul, a, b)), dtype)


def conjugated_dot(dtype: str) -> Dot:
    work = exact_dot(dtype)
    return lambda a, b: work([each.conjugate() for each in a], b)


def terms(
    a: list[Any], b: list[Any], dtype: str, conjugates: bool
) -> list[tuple[list[float], list[float]]]:
    """For each component of a sum of products, the two lists of the factors of its terms."""
    if dtype not in COMPLEX:
        return [(a, b)]
    real, imag = [each.real for each in a], [each.imag for each in a]
    if conjugates:
        imag = [-each for each in imag]
    right, other = [each.real for each in b], [each.imag for each in b]
    return [(real + [-each for each in imag], right + other), (real + imag, other + right)]


def scaled(values: list[float]) -> list[int]:
    return [int(math.ldexp(each, SCALE)) for each in values]


def range_dot(dtype: str, conjugates: bool = False) -> Dot:
    """For each component, the least and the largest number that a sum in float32, or in the wider
    dtype, may give: k terms err by at most (k + 2) eps, and the result is rounded once."""
    part = COMPONENT.get(dtype, dtype)
    eps = Fraction(2) ** (-52 if part == "float64" else -23)

    def work(a: list[Any], b: list[Any]) -> list[tuple[float, float]]:
        out = []
        for left, right in terms(a, b, dtype, conjugates):
            products = list(map(operator.mul, scaled(left), scaled(right)))
            exact = Fraction(sum(products), 2 ** (2 * SCALE))
            size = Fraction(sum(map(abs, products)), 2 ** (2 * SCALE))
            bound = (len(products) + 2) * eps * size
            out.append((rounded(exact - bound, part), rounded(exact + bound, part)))
        return out

    return work


# --- Contractions.


def matrix(x: Nested, index: Sequence[int]) -> list[Any]:
    """The matrix of a stack at an index of the shape to which the stack is broadcast."""
    batch = x.shape[:-2]
    place = 0
    for i, n in zip(index[len(index) - len(batch) :], batch, strict=True):
        place = place * n + (i if n > 1 else 0)
    size = size_of(x.shape[-2:])
    return x.values[place * size : (place + 1) * size]


def matmul(x: Nested, y: Nested, work: Dot) -> Nested:
    left = x if len(x.shape) > 1 else Nested(x.values, (1, *x.shape))
    right = y if len(y.shape) > 1 else Nested(y.values, (*y.shape, 1))
    (m, k), n = left.shape[-2:], right.shape[-1]
    batch = broadcast([left.shape[:-2], right.shape[:-2]])
    assert batch is not None
    values = []
    for index in indices(batch):
        a, b = matrix(left, index), matrix(right, index)
        rows = [a[i * k : (i + 1) * k] for i in range(m)]
        columns = [b[j::n] for j in range(n)]
        values += [work(row, column) for row in rows for column in columns]
    return Nested(values, (*batch, *[m][: len(x.shape) - 1], *[n][: len(y.shape) - 1]))


def lines(x: Nested, axes: Sequence[int]) -> tuple[Shape, list[list[Any]]]:
    """The shape of the other axes, and for each place on them the elements along the axes."""
    ndim = len(x.shape)
    order = [axis for axis in range(ndim) if axis not in axes]
    rest = tuple(x.shape[axis] for axis in order)
    order += axes
    shape = tuple(x.shape[axis] for axis in order)
    moved = made(shape, lambda i: x.at([i[order.index(axis)] for axis in range(ndim)]))
    length = size_of(shape[len(rest) :])
    places = range(size_of(rest))
    return rest, [moved.values[i * length : (i + 1) * length] for i in places]


def tensordot(x: Nested, y: Nested, axes: Any, work: Dot) -> Nested:
    if isinstance(axes, int):
        axes = (range(len(x.shape) - axes, len(x.shape)), range(axes))
    (left, rows), (right, columns) = (
        lines(each, [axis % len(each.shape) for axis in some])
        for each, some in zip((x, y), axes, strict=True)
    )
    values = [work(row, column) for row, column in itertools.product(rows, columns)]
    return Nested(values, left + right)


def vecdot(x: Nested, y: Nested, axis: int, work: Dot) -> Nested:
    (left, rows), (right, columns) = (lines(each, [axis % len(each.shape)]) for each in (x, y))
    shape = broadcast([left, right])
    assert shape is not None
    pairs = []
    for vectors, own in ((rows, left), (columns, right)):
        places = Nested(list(range(len(vectors))), (*own, 1, 1))
        pairs.append([vectors[matrix(places, index)[0]] for index in indices(shape)])
    return Nested([work(row, column) for row, column in zip(*pairs, strict=True)], shape)


# --- Checks.


def assert_product(out: Any, wanted: Nested, dtype: str) -> None:
    """The same dtype, shape and numbers; a zero may have either sign."""
    assert_dtype(out, dtype)
    assert out.shape == wanted.shape
    if out.size:
        got = flat(out)
        wrong = [i for i, (a, b) in enumerate(zip(got, wanted.values, strict=True)) if a != b]
        where = f"{len(wrong)} elements differ, the first one is {wrong[:1]}"
        assert not wrong, f"{where}: {got[wrong[0]]!r}, not {wanted.values[wrong[0]]!r}"


def assert_in_range(out: Any, ranges: Nested, dtype: str) -> None:
    """Every component is in the range that `range_dot` gives."""
    assert_dtype(out, dtype)
    assert out.shape == ranges.shape
    for i, (got, wanted) in enumerate(zip(flat(out), ranges.values, strict=True)):
        parts = (got.real, got.imag) if dtype in COMPLEX else (got,)
        for part, (low, high) in zip(parts, wanted, strict=True):
            assert low <= part <= high, f"element {i} is {got!r}, not in [{low!r}, {high!r}]"
