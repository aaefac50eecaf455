"""poison_views=True: which arrays and exports own memory, so that a write to it raises."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest
from helpers.poisoned import POISON, both

import refarray


@both
def test_disjoint_parts_are_no_owners(xp: Any) -> None:
    x = xp.reshape(xp.arange(12.0), (3, 4))
    x[0, :] = x[1, :]
    x[:, 0] = x[:, 1]
    x[::2, :] = x[1, :]
    left, right = x[:, :2], x[:, 2:]
    del x
    left[...] = right
    right += left[:, :1]
    even, odd = xp.zeros(8)[::2], None
    even[...] = 1.0
    a, b = xp.unstack(xp.zeros((2, 3)))
    a[...] = 5.0
    b += 1.0
    a, b = xp.zeros((4, 2)).T[:1, :], odd
    a[...] = 1.0
    base = xp.zeros((4, 2))
    first, second = base[:, 0], base[:, 1]
    del base
    first[...] = 3.0
    assert float(xp.sum(second)) == 0.0


@both
def test_overlapping_siblings_are_owners(xp: Any) -> None:
    x = xp.arange(6.0)
    a, b = x[:4], x[3:]
    del x
    a[:3] = 0.0
    with pytest.raises(ValueError, match=POISON):
        a[3] = 0.0
    with pytest.raises(ValueError, match=POISON):
        b[...] = a[1:]
    b[1:] = 9.0
    assert float(a[3]) == 3.0


@both
def test_operands_that_nobody_holds_are_no_owners(xp: Any) -> None:
    """The standard defines x op= y as x = x op y; a temporary y is not seen afterwards."""
    x = xp.reshape(xp.arange(4.0), (2, 2))
    x += x.T
    x -= x[:1, :]
    x[...] = x[::-1, :]
    x[1:, :] = x[:1, :]
    x *= x
    assert [float(x[1, 0]), float(x[1, 1])] == [9.0, 9.0]
    row = x[0, :]
    with pytest.raises(ValueError, match=POISON):
        x -= row
    with pytest.raises(ValueError, match=POISON):
        x[...] = row


@both
def test_the_error_counts_the_owners(xp: Any) -> None:
    x = xp.ones(3)
    views = [x[:], x[1:]]
    with pytest.raises(ValueError, match=r"has 3 owners: this array, 2 other arrays; the standard"):
        x[2] = 1.0
    with pytest.raises(ValueError, match=r"has 2 owners: this array, 1 other array; the standard"):
        x[0] = 1.0
    capsule = x.__dlpack__()
    with pytest.raises(
        ValueError,
        match=r"has 4 owners: this array, 2 other arrays, 1 export or array of another namespace;",
    ):
        x += 1.0
    del capsule, views
    x += 1.0


@both
def test_imported_memory_belongs_to_its_exporter_too(xp: Any) -> None:
    for source in (bytearray(8), memoryview(bytearray(8))):
        x = xp.asarray(refarray.from_buffer(source, dtype="float32"))
        with pytest.raises(ValueError, match="2 owners: this array, the exporter of the imported"):
            x[0] = 1.0
        with pytest.raises(ValueError, match="2 owners"):
            x += 1.0
        own = xp.asarray(x, copy=True)
        own[0] = 1.0
        own += 1.0
        assert bytes(source) == bytes(8)


@both
def test_arrays_of_other_namespaces_are_counted_while_they_live(xp: Any) -> None:
    source = refarray.ones(3)
    x = xp.asarray(source)
    with pytest.raises(ValueError, match=POISON):
        x[0] = 2.0
    del source
    x[0] = 2.0


class CopyingProducer:
    """Hands out copies that are its own no more, marked IS_COPIED."""

    def __dlpack__(self, *, copy: bool | None = None, **keywords: Any) -> Any:
        return refarray.ones(3).__dlpack__(copy=True, **keywords)

    def __dlpack_device__(self) -> Any:
        return (1, 0)


@both
def test_copies_are_owned_alone(xp: Any) -> None:
    x = xp.ones(3)
    made = [
        xp.asarray(x, copy=True),
        xp.from_dlpack(x, copy=True),
        xp.from_dlpack(CopyingProducer(), copy=True),
        xp.asarray(CopyingProducer(), copy=True),
        xp.reshape(x, (3,), copy=True),
        copy.copy(x),
        copy.deepcopy(x),
        pickle.loads(pickle.dumps(x)),
        pickle.loads(pickle.dumps(x, 2)),
        xp.asarray([1.0, 2.0, 3.0]),
        xp.concat([x, x]),
        xp.take(x, xp.asarray([0, 1])),
        x[x > 0.0],
        xp.astype(x, xp.float64),
        +x,
        xp.sort(x),
        xp.linspace(0.0, 1.0, 3),
    ]
    for each in [*made, x]:
        each[0] = 5.0
        each += 1.0


@both
@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_no_owner(xp: Any, enabled: bool) -> None:
    class Node:
        def __init__(self, view: Any) -> None:
            self.view, self.me = view, self

    x = xp.ones(3)
    before, was_enabled = gc.get_threshold(), gc.isenabled()
    gc.set_threshold(0)
    if not enabled:
        gc.disable()
    try:
        node = weakref.ref(Node(x[:]))
        assert node() is not None
        x[0] = 7.0
        assert node() is None
        assert gc.isenabled() is (was_enabled and enabled)
    finally:
        gc.set_threshold(*before)
        if was_enabled:
            gc.enable()
