"""Models of diagonals and traces, and of products of matrices, tensors and vectors, of numbers for
which they are exact."""

from __future__ import annotations

import itertools
import operator
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import products
from oracles.arithmetic import multiply
from oracles.formats import ALL, COMPLEX, COMPONENT, FLOATS, INTEGERS, NUMERIC, rounded, wrapped
from oracles.nested import Nested, Shape, made, reduced
from oracles.promotion import PROMOTION, accumulated

from properties.arrays import (
    Draw,
    Drawn,
    any_element,
    array,
    broadcastable,
    converted,
    shapes,
    small_element,
)
from properties.models.registry import Call, Result, models

PAIRS = sorted(pair for pair in PROMOTION if set(pair) <= set(NUMERIC))
extents = st.sampled_from((0, 1, 2, 3, 4, 5, 9))
few = st.integers(0, 3)
stacks = shapes.filter(lambda each: len(each) <= 2)


def total(a: list[Any], b: list[Any], dtype: str) -> Any:
    """The sum of products, rounded once; both zeros, if it is zero and has terms."""
    if dtype in INTEGERS:
        return wrapped(sum(map(operator.mul, a, b)), dtype)
    exact = sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction())
    return rounded(exact, dtype) if exact or not a else (0.0, -0.0)


def dot(dtype: str, conjugates: bool = False) -> products.Dot:
    def work(a: list[Any], b: list[Any]) -> Any:
        if dtype not in COMPLEX:
            return total(a, b, dtype)
        parts = [
            total(left, right, COMPONENT[dtype])
            for left, right in products.terms(a, b, dtype, conjugates)
        ]
        each = [part if isinstance(part, tuple) else (part,) for part in parts]
        return tuple(complex(*pair) for pair in itertools.product(*each))

    return work


def operands(draw: Draw, left: Shape, right: Shape) -> tuple[Drawn, Drawn, str]:
    """Two arrays of these shapes that promote, and the dtype to which they do."""
    one, other = draw(st.sampled_from(PAIRS))
    x, y = (
        array(draw, name, shape, (any_element if name in INTEGERS else small_element)(name))
        for name, shape in ((one, left), (other, right))
    )
    return x, y, PROMOTION[one, other]


@models("matmul", "linalg.matmul")
def matmul(name: str, draw: Draw) -> Call:
    m, k, n = (draw(extents) for _ in range(3))
    whole = draw(stacks)
    batches = [broadcastable(draw, whole), whole]
    if draw(st.booleans()):
        batches.reverse()
    left = (k,) if draw(st.integers(0, 3)) == 0 else (*batches[0], m, k)
    right = (k,) if draw(st.integers(0, 3)) == 0 else (*batches[1], k, n)
    x, y, dtype = operands(draw, left, right)
    wanted = products.matmul(x.model, y.model, dot(dtype))
    return Call((x.array, y.array), Result(wanted, dtype))


@models("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(name: str, draw: Draw) -> Call:
    x = array(draw, draw(st.sampled_from(ALL)), min_ndim=2)
    shape = (*x.shape[:-2], x.shape[-1], x.shape[-2])
    wanted = made(shape, lambda i: x.model.at((*i[:-2], i[-1], i[-2])))
    return Call((x.array,), Result(wanted, x.dtype))


@models("tensordot", "linalg.tensordot")
def tensordot(name: str, draw: Draw) -> Call:
    kept = [tuple(draw(st.lists(few, max_size=2))) for _ in range(2)]
    contracted = tuple(draw(st.lists(few, max_size=3)))
    count = len(contracted)
    if draw(st.booleans()):
        x, y, dtype = operands(draw, kept[0] + contracted, contracted + kept[1])
        wanted = products.tensordot(x.model, y.model, count, dot(dtype))
        keywords = {} if count == 2 and draw(st.booleans()) else {"axes": count}
        return Call((x.array, y.array), Result(wanted, dtype), keywords)
    shapes_, axes = [], []
    for rest in kept:
        ndim = len(rest) + count
        places = draw(st.permutations(range(ndim)))[:count]
        others = iter(rest)
        by_place = dict(zip(places, contracted, strict=True))
        shapes_.append(tuple(by_place[a] if a in by_place else next(others) for a in range(ndim)))
        axes.append([a - ndim if draw(st.booleans()) else a for a in places])
    x, y, dtype = operands(draw, *shapes_)
    wanted = products.tensordot(x.model, y.model, axes, dot(dtype))
    given = tuple(map(tuple, axes)) if draw(st.booleans()) else tuple(axes)
    return Call((x.array, y.array), Result(wanted, dtype), {"axes": given})


def with_vectors(draw: Draw, k: int) -> tuple[Shape, int, Shape, Shape]:
    """A shape, how many of its axes stand behind an axis of vectors, and the shapes of two operands
    that have that axis, of extent `k`, and broadcast to the shape otherwise."""
    whole = draw(shapes.filter(lambda each: len(each) <= 3))
    others = [broadcastable(draw, whole), whole]
    if draw(st.booleans()):
        others.reverse()
    behind = draw(st.integers(0, min(map(len, others))))
    left, right = ((*each[: len(each) - behind], k, *each[len(each) - behind :]) for each in others)
    return whole, behind, left, right


@models("vecdot", "linalg.vecdot")
def vecdot(name: str, draw: Draw) -> Call:
    _, behind, left, right = with_vectors(draw, draw(extents))
    x, y, dtype = operands(draw, left, right)
    axis = -1 - behind
    wanted = products.vecdot(x.model, y.model, axis, dot(dtype, conjugates=True))
    keywords = {} if axis == -1 and draw(st.booleans()) else {"axis": axis}
    return Call((x.array, y.array), Result(wanted, dtype), keywords)


def multiplied(dtype: str, a: Any, b: Any) -> Any:
    """One product; a complex one has parts of two terms."""
    if dtype in COMPLEX:
        return dot(dtype)([a], [b])
    return wrapped(a * b, dtype) if dtype in INTEGERS else multiply(a, b, dtype)


@models("linalg.outer")
def outer(name: str, draw: Draw) -> Call:
    one, other = draw(st.sampled_from(PAIRS))
    dtype = PROMOTION[one, other]
    element = small_element if dtype in COMPLEX else any_element
    x, y = (array(draw, each, (draw(extents),), element(each)) for each in (one, other))
    a, b = ([converted_to(dtype, v) for v in each.values] for each in (x, y))
    wanted = made((*x.shape, *y.shape), lambda i: multiplied(dtype, a[i[0]], b[i[1]]))
    return Call((x.array, y.array), Result(wanted, dtype))


def converted_to(dtype: str, value: Any) -> Any:
    """An operand of another dtype in the one to which both promote."""
    if dtype in INTEGERS:
        return value
    return complex(value) if dtype in COMPLEX else converted(float(value), dtype)


@models("linalg.cross")
def cross(name: str, draw: Draw) -> Call:
    whole, behind, left, right = with_vectors(draw, 3)
    x, y, dtype = operands(draw, left, right)
    place = len(whole) - behind
    shape = (*whole[:place], 3, *whole[place:])
    work = dot(dtype)

    def element(index: tuple[int, ...]) -> Any:
        j, k = ((index[place] + step) % 3 for step in (1, 2))
        a, b = (
            [broadcast_at(each.model, (*index[:place], i, *index[place + 1 :])) for i in (j, k)]
            for each in (x, y)
        )
        return work(a, [b[1], -b[0]])

    keywords = {} if behind == 0 and draw(st.booleans()) else {"axis": -1 - behind}
    return Call((x.array, y.array), Result(made(shape, element), dtype), keywords)


def broadcast_at(x: Nested, index: tuple[int, ...]) -> Any:
    own = index[len(index) - len(x.shape) :]
    return x.at([i if n > 1 else 0 for i, n in zip(own, x.shape, strict=True)])


def diagonal_of(x: Nested, offset: int) -> Nested:
    m, n = x.shape[-2:]
    length = max(0, min(m, n - offset) if offset >= 0 else min(m + offset, n))
    down, across = max(0, -offset), max(0, offset)
    shape = (*x.shape[:-2], length)
    return made(shape, lambda i: x.at((*i[:-1], i[-1] + down, i[-1] + across)))


def offset_of(draw: Draw) -> tuple[int, dict[str, Any]]:
    offset = draw(st.integers(-4, 4) | st.sampled_from((0, -(2**62), 2**62)))
    return offset, {} if offset == 0 and draw(st.booleans()) else {"offset": offset}


@models("linalg.diagonal")
def diagonal(name: str, draw: Draw) -> Call:
    x = array(draw, draw(st.sampled_from(ALL)), min_ndim=2)
    offset, keywords = offset_of(draw)
    wanted = Result(diagonal_of(x.model, offset), x.dtype)
    return Call((x.array,), wanted, keywords)


@models("linalg.trace")
def trace(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(NUMERIC))
    element = any_element if dtype in INTEGERS else small_element
    x = array(draw, dtype, element=element(dtype), min_ndim=2)
    offset, keywords = offset_of(draw)
    out = accumulated(dtype)
    if draw(st.booleans()):
        same_kind = INTEGERS if dtype in INTEGERS else FLOATS
        choices = [each for each in same_kind if each in COMPLEX or dtype not in COMPLEX]
        out = draw(st.sampled_from(choices))
        keywords["dtype"] = out
    diagonals = diagonal_of(x.model, offset)
    wanted = reduced(diagonals, -1, False, lambda values: summed(values, out))
    return Call((x.array,), Result(wanted, out), keywords)


def summed(values: list[Any], dtype: str) -> Any:
    if dtype in INTEGERS:
        return wrapped(sum(values), dtype)
    ones = [1.0] * len(values)
    return dot(dtype)([converted_to(dtype, v) for v in values], ones)
