"""Laws of matrix, tensor and vector products: of integers modulo 2**n, and of every layout."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.checks import assert_equal
from oracles.formats import INTEGERS, REAL_FLOATS

from properties.arrays import array, broadcastable, examples, shapes, xp

few = settings(deadline=None, max_examples=examples(0.25))


def stacks_of_integers(draw: Any, dtype: str, count: int) -> list[Any]:
    """Stacks of matrices whose product, in this order, exists."""
    extents = [draw(st.sampled_from((0, 1, 2, 3, 8, 17))) for _ in range(count + 1)]
    whole = draw(shapes.filter(lambda each: len(each) <= 2))
    return [
        array(draw, dtype, (*broadcastable(draw, whole), *pair)).array
        for pair in itertools.pairwise(extents)
    ]


@few
@given(data=st.data())
def test_matrices_of_integers_are_a_ring(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    a, b, c = stacks_of_integers(data.draw, dtype, 3)
    ab: Any = a @ b
    assert_equal(ab @ c, a @ (b @ c))
    assert_equal(xp.matrix_transpose(ab), b.mT @ a.mT)
    d = array(data.draw, dtype, b.shape).array
    assert_equal(a @ (b + d), ab + a @ d)
    assert_equal(a @ -b, -ab)
    one = xp.eye(a.shape[-1], dtype=dtype)
    assert_equal(a @ one, xp.copy(a))
    assert_equal(one @ b, xp.copy(b))
    if a.ndim == b.ndim == 2:
        assert_equal(ab, xp.tensordot(a, b, axes=1))
        assert_equal(xp.tensordot(a, b.mT, axes=((1,), (1,))), ab)
        assert_equal(xp.tensordot(ab, ab), xp.sum(ab * ab, dtype=dtype))


@few
@given(data=st.data())
def test_products_of_integers_are_sums(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    x = array(data.draw, dtype, min_ndim=1)
    axis = data.draw(st.integers(-x.array.ndim, -1))
    a, b = x.array, array(data.draw, dtype, x.shape).array
    dots = xp.vecdot(a, b, axis=axis)
    assert_equal(dots, xp.sum(a * b, axis=axis, dtype=dtype))
    assert_equal(dots, xp.vecdot(b, a, axis=axis))
    assert_equal(dots, xp.vecdot(xp.moveaxis(a, axis, -1), xp.moveaxis(b, axis, -1)))
    row, column = xp.moveaxis(a, axis, -1)[..., None, :], xp.moveaxis(b, axis, -1)[..., None]
    assert_equal(dots, (row @ column)[..., 0, 0])
    assert_equal(xp.tensordot(a, b, axes=a.ndim), xp.sum(a * b, dtype=dtype))
    outer = xp.tensordot(a, b, axes=0)
    assert_equal(outer, xp.reshape(a, (*a.shape, *(1,) * b.ndim)) * b)


@few
@given(data=st.data())
def test_products_of_any_floats_do_not_depend_on_the_layout(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(REAL_FLOATS))
    m, k, n = (data.draw(st.sampled_from((1, 2, 3, 8, 17, 40))) for _ in range(3))
    a = array(data.draw, dtype, (m, k)).array
    b = array(data.draw, dtype, (k, n)).array
    calls: list[Any] = [
        lambda a, b: a @ b,
        lambda a, b: a @ b[:, 0],
        lambda a, b: a[0, :] @ b,
        lambda a, b: xp.vecdot(a, b[:, 0]),
        lambda a, b: xp.tensordot(b, a, axes=((0,), (1,))),
        lambda a, b: xp.tensordot(a, b, axes=0),
    ]
    for call in calls:
        assert_equal(call(a, b), call(xp.copy(a), xp.copy(b)))
