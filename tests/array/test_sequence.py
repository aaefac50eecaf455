"""The sequence protocol: len(), reversed(), C sequence calls, and arrays as shapes."""

from __future__ import annotations

import copy
import ctypes
import itertools
import operator
import pickle
import weakref
from typing import Any

import pytest
from oracles.switches import run_together

import refarray

ROWS = [[1, 2, 3], [4, 5, 6]]


def sequence_size(x: Any) -> int:
    size = ctypes.pythonapi.PySequence_Size
    size.argtypes, size.restype = [ctypes.py_object], ctypes.c_ssize_t
    return int(size(x))


def sequence_item(x: Any, index: int) -> Any:
    item = ctypes.pythonapi.PySequence_GetItem
    item.argtypes, item.restype = [ctypes.py_object, ctypes.c_ssize_t], ctypes.py_object
    return item(x, index)


def test_the_iterator_can_be_copied_and_pickled() -> None:
    x = refarray.asarray(ROWS)
    items = iter(x)
    assert iter(items) is items
    assert next(items).tolist() == ROWS[0]
    assert operator.length_hint(items) == 1
    for other in (copy.copy(items), pickle.loads(pickle.dumps(items))):
        assert [row.tolist() for row in other] == ROWS[1:]
    items.__setstate__(-5)
    assert [row.tolist() for row in items] == ROWS
    assert next(items, None) is None
    assert operator.length_hint(items) == 0
    items.__setstate__(100)
    assert next(items, None) is None
    with pytest.raises(TypeError):
        type(items)()
    with pytest.raises(TypeError):
        iter(refarray.asarray(1))


def test_the_iterator_keeps_its_array() -> None:
    """Until it is deleted itself: an array that it dropped at the end might still be in use."""
    x = refarray.asarray(ROWS)
    reference = weakref.ref(x)
    items = iter(x)
    del x
    assert [row.tolist() for row in items] == ROWS
    assert reference() is not None
    del items
    assert reference() is None


def test_threads_share_an_iterator() -> None:
    """Each item goes to exactly one thread."""
    for _ in range(20):
        items = iter(refarray.arange(2000))
        seen: list[list[int]] = [[] for _ in range(4)]

        def take(me: int, items: Any = items, seen: Any = seen) -> None:
            seen[me].extend(int(item) for item in items)

        run_together(take, len(seen))
        assert sorted(itertools.chain(*seen)) == list(range(2000))


@pytest.mark.parametrize("length", [len, operator.length_hint, sequence_size])
def test_the_length_is_the_first_extent(length: Any) -> None:
    x = refarray.asarray(ROWS)
    assert [length(view) for view in (x, x.T, x[:, :0], x[:0])] == [2, 3, 2, 0]
    if length is not operator.length_hint:  # treats TypeError as "no hint"
        with pytest.raises(TypeError):
            length(refarray.asarray(1))


def test_sequence_item_returns_a_view() -> None:
    """PySequence_GetItem adds the length to a negative index once."""
    x = refarray.asarray(ROWS)
    for index in (0, 1, -1, -2):
        assert sequence_item(x, index).tolist() == ROWS[index]
    for index in (2, -3, 2**40, -(2**40)):
        with pytest.raises(IndexError):
            sequence_item(x, index)
    sequence_item(x, 1)[0] = 9  # a view, like x[1]
    assert x.tolist() == [[1, 2, 3], [9, 5, 6]]


def test_reversed() -> None:
    x = refarray.asarray(ROWS)
    assert [row.tolist() for row in reversed(x)] == ROWS[::-1]
    assert operator.length_hint(reversed(x)) == 2
    assert list(reversed(x[:0])) == []
    with pytest.raises(TypeError):
        reversed(refarray.asarray(1))


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_integer_array_is_accepted_as_shape(dtype: str) -> None:
    shape: Any = refarray.asarray([2, 3], dtype=dtype)
    assert refarray.zeros(shape).shape == (2, 3)
    assert refarray.full(shape, 7).tolist() == [[7, 7, 7]] * 2
    assert refarray.reshape(refarray.arange(6), shape).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert refarray.arange(6).reshape(shape).shape == (2, 3)
    assert refarray.broadcast_to(refarray.asarray(0), shape).shape == (2, 3)
    one: Any = refarray.asarray(5, dtype=dtype)
    assert refarray.zeros(one).shape == (5,)
    none: Any = refarray.asarray([], dtype=dtype)
    assert refarray.zeros(none).shape == ()


def test_other_arrays_are_rejected_as_shape() -> None:
    for bad in (refarray.asarray([2.0, 3.0]), refarray.asarray([[2, 3]])):
        shape: Any = bad
        with pytest.raises(TypeError):
            refarray.zeros(shape)
        with pytest.raises(TypeError):
            refarray.reshape(refarray.arange(6), shape)
