"""Laws that hold exactly, for arrays of every layout: of integers modulo 2**n, of sorting, sets,
masks and round trips."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.checks import assert_equal, flat
from oracles.formats import ALL, INTEGERS, REAL, REAL_FLOATS
from oracles.functions import BINARY, UNARY
from oracles.nested import broadcast

from properties.arrays import array, broadcastable, examples, long_shapes, shapes, xp
from properties.models.manipulation import drawn_axis
from properties.models.sorting import sort_key
from refarray import Array

one_or_more_axes = shapes.filter(bool) | long_shapes
few = settings(deadline=None, max_examples=examples(0.25))


# --- Arithmetic.


@few
@given(data=st.data())
def test_integers_are_a_ring(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    shape = data.draw(shapes | long_shapes)
    a, b, c = (array(data.draw, dtype, shape).array for _ in range(3))
    assert_equal(a + b, b + a)
    assert_equal((a + b) - b, xp.copy(a))
    assert_equal(a * (b + c), a * b + a * c)
    assert_equal(-a, ~a + 1)
    assert_equal(a ^ b, (a | b) & ~(a & b))
    assert_equal(xp.square(a - b), a * a - 2 * a * b + b * b)
    divisor = xp.where(b == 0, 1, b)
    assert_equal(a // divisor * divisor + a % divisor, xp.copy(a))


@few
@given(data=st.data())
def test_sums_of_integers(data: st.DataObject) -> None:
    x = array(data.draw, data.draw(st.sampled_from(INTEGERS)), min_ndim=1).array
    axis = drawn_axis(data.draw, x.ndim)
    sums = xp.cumulative_sum(x, axis=axis, include_initial=True)
    assert_equal(xp.take(sums, xp.asarray([-1]), axis=axis), xp.sum(x, axis=axis, keepdims=True))
    assert_equal(xp.diff(sums, axis=axis), xp.astype(x, sums.dtype))
    assert_equal(xp.sum(xp.sum(x, axis=axis)), xp.sum(x))
    assert_equal(xp.prod(xp.prod(x, axis=axis)), xp.prod(x))
    if x.size:
        assert_equal(xp.max(xp.max(x, axis=axis)), xp.max(x))
        assert_equal(xp.min(x), xp.take(xp.sort(xp.reshape(x, (-1,))), xp.asarray([0]))[0])


@few
@given(data=st.data())
def test_reductions_of_any_floats_do_not_depend_on_the_layout(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(REAL_FLOATS))
    x = array(data.draw, dtype, data.draw(one_or_more_axes)).array
    axis = drawn_axis(data.draw, x.ndim)
    plain = xp.copy(x)
    for name in ("sum", "prod", "mean", "var", "std", "cumulative_sum", "cumulative_prod"):
        function = getattr(xp, name)
        assert_equal(function(x, axis=axis), function(plain, axis=axis))


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
@settings(deadline=None, max_examples=examples(0.06))
@given(data=st.data())
def test_elements_do_not_depend_on_their_neighbours(name: str, data: st.DataObject) -> None:
    """Vector loops and their ends: a row, and the same row in two parts."""
    kind = (UNARY | BINARY)[name]
    dtype = data.draw(st.sampled_from(kind.dtypes))
    size = data.draw(st.integers(1, 300))
    given = [array(data.draw, dtype, (size,)).array for _ in range(2 if name in BINARY else 1)]
    cut = data.draw(st.integers(0, size))
    function = getattr(xp, name)
    parts = [function(*(x[part] for x in given)) for part in (slice(cut), slice(cut, None))]
    assert_equal(function(*given), xp.concat(parts))


OPERATORS = {
    "__add__": "add",
    "__sub__": "subtract",
    "__mul__": "multiply",
    "__mod__": "remainder",
    "__floordiv__": "floor_divide",
    "__lt__": "less",
    "__eq__": "equal",
}


@few
@given(data=st.data())
def test_operators_are_functions(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(REAL))
    x = array(data.draw, dtype)
    y = array(data.draw, dtype, broadcastable(data.draw, x.shape))
    for method, name in OPERATORS.items():
        wanted = getattr(xp, name)(x.array, y.array)
        assert_equal(getattr(x.array, method)(y.array), wanted)
        in_place = f"__i{method[2:]}"
        if hasattr(Array, in_place):
            target = xp.copy(x.array)
            assert getattr(target, in_place)(y.array) is target
            assert_equal(target, wanted)


@few
@given(data=st.data())
def test_numbers_are_arrays_of_ndim_0(data: st.DataObject) -> None:
    """A Python number takes the dtype of the array beside it."""
    dtype = data.draw(st.sampled_from(REAL))
    x = array(data.draw, dtype, data.draw(shapes | long_shapes))
    number = array(data.draw, dtype, ()).values[0]
    beside = xp.asarray(number, dtype=dtype)
    for name, kind in BINARY.items():
        if dtype in kind.dtypes:
            function = getattr(xp, name)
            assert_equal(function(x.array, number), function(x.array, beside))
            assert_equal(function(number, x.array), function(beside, x.array))


# --- Round trips.


@few
@given(data=st.data())
def test_moves_have_inverses(data: st.DataObject) -> None:
    x = array(data.draw, data.draw(st.sampled_from(ALL)), min_ndim=1).array
    axis, other = (drawn_axis(data.draw, x.ndim) for _ in range(2))
    shift = data.draw(st.integers(-9, 9))
    axes = tuple(data.draw(st.permutations(range(x.ndim))))
    back = tuple(axes.index(i) for i in range(x.ndim))
    copy = xp.copy(x)
    assert_equal(xp.flip(xp.flip(x, axis=axis), axis=axis), copy)
    assert_equal(xp.roll(xp.roll(x, shift, axis=axis), -shift, axis=axis), copy)
    assert_equal(xp.permute_dims(xp.permute_dims(x, axes), back), copy)
    assert_equal(xp.moveaxis(xp.moveaxis(x, axis, other), other, axis), copy)
    assert_equal(xp.reshape(xp.reshape(x, (x.size,)), x.shape), copy)
    assert_equal(xp.squeeze(xp.expand_dims(x, axis), axis), copy)
    parts = xp.unstack(x, axis=axis)
    if parts:
        assert_equal(xp.stack(parts, axis=axis), copy)
    at = axis % x.ndim
    cut = data.draw(st.integers(0, x.shape[at]))
    halves = [x[(slice(None),) * at + (half,)] for half in (slice(cut), slice(cut, None))]
    assert_equal(xp.concat(halves, axis=axis), copy)
    assert_equal(xp.astype(xp.astype(x, xp.complex128), xp.complex128), xp.astype(x, xp.complex128))


# --- Sorting, searching and sets.


@few
@given(data=st.data())
def test_sorting(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(("bool", *REAL)))
    x = array(data.draw, dtype, data.draw(one_or_more_axes)).array
    axis = drawn_axis(data.draw, x.ndim)
    descending = data.draw(st.booleans())
    ordered = xp.sort(x, axis=axis, descending=descending)
    order = xp.argsort(x, axis=axis, descending=descending)
    assert_equal(ordered, xp.take_along_axis(x, order, axis=axis))
    for line, places in zip(lines(ordered, axis), lines(order, axis), strict=True):
        keys = [sort_key(v) for v in line]
        assert keys == sorted(keys, reverse=descending)
        assert sorted(places) == list(range(len(line)))
        pairs = zip(keys, keys[1:], places, places[1:], strict=False)
        assert all(p < q for a, b, p, q in pairs if a == b), "equal elements changed their order"


def lines(x: Any, axis: int) -> list[list[Any]]:
    """The elements along an axis, for every place on the other axes."""
    moved = xp.moveaxis(x, axis, -1)
    extent = moved.shape[-1]
    values = flat(moved)
    return [values[i : i + extent] for i in range(0, len(values), extent or 1)]


@few
@given(data=st.data())
def test_distinct_elements_make_up_the_array(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(ALL))
    x = array(data.draw, dtype, data.draw(shapes | long_shapes)).array
    values, indices, inverse, counts = xp.unique_all(x)
    everything = xp.reshape(x, (-1,)) if x.size else xp.zeros(0, dtype=x.dtype)
    assert_equal(everything[indices], values)
    again = values[inverse]
    assert again.shape == x.shape
    assert all(a == b or (a != a and b != b) for a, b in zip(flat(again), flat(x), strict=True))
    assert xp.sum(counts).item() == x.size
    assert_equal(xp.unique_values(x), values)
    assert all(flat(xp.isin(x, values) | (x != x)))


@few
@given(data=st.data())
def test_positions_in_sorted_arrays(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(REAL))
    ordered = xp.sort(array(data.draw, dtype, (data.draw(st.integers(0, 12)),)).array)
    values = array(data.draw, dtype)
    keys = [sort_key(v) for v in flat(ordered)]
    for side in ("left", "right"):
        found = flat(xp.searchsorted(ordered, values.array, side=side))
        for value, place in zip(values.values, found, strict=True):
            key = sort_key(value)
            before = [k < key or (side == "right" and k == key) for k in keys]
            assert before == [i < place for i in range(len(keys))]


@few
@given(data=st.data())
def test_masks_and_where_agree(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(ALL))
    x = array(data.draw, dtype, data.draw(one_or_more_axes))
    y = array(data.draw, dtype, x.shape).array
    mask = array(data.draw, "bool", x.shape).array
    target = xp.copy(y)
    target[mask] = x.array[mask]
    assert_equal(xp.where(mask, x.array, y), target)
    assert_equal(x.array[xp.nonzero(mask)], x.array[mask])
    assert xp.count_nonzero(mask).item() == x.array[mask].size
    assert_equal(x.array[mask], xp.take(xp.reshape(x.array, (x.array.size,)), flat_places(mask)))


def flat_places(mask: Any) -> Any:
    return xp.nonzero(xp.reshape(mask, (mask.size,)))[0]


# --- Broadcasting.


@few
@given(data=st.data())
def test_broadcasting_follows_its_rules(data: st.DataObject) -> None:
    small = st.lists(st.sampled_from((0, 1, 1, 2, 3)), max_size=4).map(tuple)
    given_shapes = [data.draw(small) for _ in range(2)]
    wanted = broadcast(given_shapes)
    x, y = (array(data.draw, "int16", shape).array for shape in given_shapes)
    calls: list[Any] = [
        lambda: xp.broadcast_shapes(*given_shapes),
        lambda: xp.broadcast_arrays(x, y)[0].shape,
        lambda: (x + y).shape,
        lambda: xp.where(xp.zeros(given_shapes[0], dtype=xp.bool), x, y).shape,
    ]
    for call in calls:
        if wanted is None:
            with pytest.raises(ValueError):
                call()
        else:
            assert call() == wanted
