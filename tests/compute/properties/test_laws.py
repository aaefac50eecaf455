"""Laws that hold exactly, for arrays of every layout: of integers modulo 2**n, of sorting, sets,
masks and round trips."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.checks import assert_equal
from oracles.formats import REAL
from oracles.functions import BINARY, UNARY

from properties.arrays import array, broadcastable, examples, long_shapes, shapes, xp
from refarray import Array

few = settings(deadline=None, max_examples=examples(0.25))


# --- Arithmetic.


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
