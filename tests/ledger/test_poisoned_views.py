"""poison_views=True: writes whose effect on other arrays the standard leaves open raise."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.poisoned import POISON, both, open_, strict

import refarray

IN_PLACE = {
    name: getattr(operator, name)
    for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow")
}


def writes(x: Any) -> dict[str, Callable[[], Any]]:
    """Every way to write to a vector of floats."""
    xp = x.__array_namespace__()
    other = xp.full(x.shape, 2.0)
    out: dict[str, Callable[[], Any]] = {
        "an element": lambda: x.__setitem__(1, 7.0),
        "a slice": lambda: x.__setitem__(slice(None), 7.0),
        "everything": lambda: x.__setitem__(..., other),
        "a mask": lambda: x.__setitem__(x > 0.0, 7.0),
        **{name: (lambda call=call: call(x, 2.0)) for name, call in IN_PLACE.items()},
        "iadd of an array": lambda: operator.iadd(x, other),
    }
    if xp is open_:
        out["integer arrays"] = lambda: x.__setitem__([0, 1], 7.0)
    return out


VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "a slice": lambda xp, x: x[:],
    "half of it": lambda xp, x: x[: x.shape[0] // 2],
    "an element": lambda xp, x: x[1],
    "reshape": lambda xp, x: xp.reshape(x, (2, 2)),
    "reversed": lambda xp, x: xp.flip(x),
    "broadcast": lambda xp, x: xp.broadcast_to(x, (3, 4)),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=0),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (0,)),
    "unstack": lambda xp, x: xp.unstack(x),
    "from_dlpack": lambda xp, x: xp.from_dlpack(x),
    "a capsule": lambda xp, x: x.__dlpack__(),
    "the default namespace": lambda xp, x: refarray.from_dlpack(x),
    "another namespace": lambda xp, x: (strict if xp is open_ else open_).asarray(x),
    "a buffer": lambda xp, x: memoryview(x),
}


@both
@run_each("view", VIEWS)
def test_the_base_cannot_be_written_while_a_view_is_alive(xp: Any, view: str) -> None:
    x = xp.asarray([1.0, 2.0, 3.0, 4.0])
    for name in writes(x):
        held = VIEWS[view](xp, x)
        write = writes(x)[name]
        with pytest.raises(ValueError, match=POISON):
            write()
        assert [float(x[i]) for i in range(4)] == [1, 2, 3, 4]
        del held
        write()
        x = xp.asarray([1.0, 2.0, 3.0, 4.0])


@both
@run_each("view", ["a slice", "half of it", "reversed", "from_dlpack"])
def test_a_view_cannot_be_written_while_the_base_is_alive(xp: Any, view: str) -> None:
    for name in writes(xp.ones(4)):
        x = xp.asarray([1.0, 2.0, 3.0, 4.0])
        y = VIEWS[view](xp, x)
        if name == "integer arrays" and y.shape[0] < 2:
            continue
        write = writes(y)[name]
        with pytest.raises(ValueError, match=POISON):
            write()
        del x
        write()


@both
def test_the_example_of_the_standard(xp: Any) -> None:
    x = xp.ones(1)
    y = x[:]
    with pytest.raises(ValueError, match=POISON):
        y -= 1.0
    assert float(x[0]) == float(y[0]) == 1.0


@both
def test_a_write_through_a_temporary_view_raises(xp: Any) -> None:
    x = xp.ones((3, 3))
    with pytest.raises(ValueError, match=POISON):
        x[1, :][0] = 7.0
    with pytest.raises(ValueError, match=POISON):
        x[1, ...][1:] += 7.0
    with pytest.raises(ValueError, match=POISON):
        x.T[...] = 0.0
    assert float(xp.sum(x)) == 9.0


@both
def test_a_write_to_what_only_the_view_holds_is_free(xp: Any) -> None:
    y = xp.asarray([1.0, 2.0, 3.0])[1:]
    y[0] = 7.0
    y += 1.0
    z = xp.reshape(xp.zeros((2, 2)), (4,))
    z[1:3] = 5.0
    assert (float(xp.sum(y)), float(xp.sum(z))) == (12.0, 10.0)


@both
def test_augmented_assignment_to_elements_is_defined(xp: Any) -> None:
    """x[key] op= value assigns in the end, whether x[key] was a view or a copy."""
    x = xp.reshape(xp.arange(12.0), (3, 4))
    x[0, :] += 10.0
    x[:, 1] *= 2.0
    x[1:, 2:] -= x[:2, 2:]
    x[...] /= 1.0
    x[2, 3] **= 1.0
    expected = [[10, 22, 12, 13], [4, 10, -6, -6], [8, 18, 4, 4]]
    assert [[float(x[i, j]) for j in range(4)] for i in range(3)] == expected
    i = xp.asarray([7, 1])
    i[:1] <<= xp.asarray([1])
    i[1:] |= 2
    i[0] %= 4
    assert [int(i[0]), int(i[1])] == [2, 3]
    m = xp.ones((2, 2, 2))
    m[0, ...] @= xp.ones((2, 2))
    assert float(xp.sum(m)) == 12.0


@both
def test_augmented_assignment_raises_if_another_view_is_alive(xp: Any) -> None:
    x = xp.ones(4)
    held = x[2:]
    x[:2] += 1.0
    with pytest.raises(ValueError, match=POISON):
        x[1:3] += 1.0
    with pytest.raises(ValueError, match=POISON):
        x[2] = 3.0
    assert float(xp.sum(held)) == 2.0 and float(xp.sum(x)) == 6.0


@both
def test_items_of_containers_are_views_that_stay(xp: Any) -> None:
    x = xp.ones(4)
    views = [x[:2]]
    with pytest.raises(ValueError, match=POISON):
        views[0] += 1.0

    class Holder:
        view = x[2:]

    with pytest.raises(ValueError, match=POISON):
        Holder.view += 1.0


@both
def test_functions_that_write_to_their_argument(xp: Any) -> None:
    def add(v: Any) -> Any:
        v += 1.0
        return v

    def put(v: Any) -> Any:
        v[0] = 7.0
        return v

    x = xp.zeros(3)
    assert add(x) is x and put(x) is x  # the caller's own array: mutation is defined
    for function in (add, put):
        with pytest.raises(ValueError, match=POISON):
            function(x[1:])
    assert float(xp.sum(x)) == 9.0


@both
def test_unpickled_arrays_are_in_the_namespace(xp: Any) -> None:
    x = pickle.loads(pickle.dumps(xp.ones(3)))
    assert x.__array_namespace__() is xp
    y = x[:]
    with pytest.raises(ValueError, match=POISON):
        x[0] = 1.0
    del y


@both
def test_empty_writes_write_nothing(xp: Any) -> None:
    x = xp.ones(3)
    y = x[:]
    x[0:0] = 1.0
    x[3:] = 1.0
    empty = xp.zeros((0, 2))
    z = empty[:, :]
    empty += 1.0
    empty[...] = z
    assert y.shape == (3,)


@both
def test_other_errors_come_first(xp: Any) -> None:
    x = xp.ones(3)
    y = x[:]
    with pytest.raises(IndexError):
        x[7] = 1.0
    with pytest.raises(TypeError):
        x += "a"
    with pytest.raises(ValueError, match=r"the result has shape \(2, 3\)|shape"):
        x += xp.ones((2, 3))
    with pytest.raises((TypeError, ValueError)):
        x[0] = xp.ones(3)
    assert y.shape == (3,)


@both
def test_reads_are_free(xp: Any) -> None:
    x = xp.ones((2, 2))
    y = x.T
    assert float(xp.sum(x + y)) == 8.0
    assert bytes(memoryview(y)) == bytes(memoryview(x))
    assert float(xp.sum(y[0, :])) == 2.0


@both
def test_threads_have_arrays_of_their_own(xp: Any) -> None:
    def work(_: int) -> None:
        for _ in range(4):
            x = xp.zeros(16)
            y = x[8:]
            x[:8] += 1.0
            with pytest.raises(ValueError, match=POISON):
                x[8:] = 1.0
            del y
            x[8:] = 1.0

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))


def test_devices_watch_their_arrays() -> None:
    gpu = refarray.VirtualDevice("gpu")
    xp: Any = refarray.namespace(poison_views=True, devices=[gpu])
    for device in (gpu, refarray.Device("cpu")):
        x = xp.ones(3, device=device)
        y = x[1:]
        with pytest.raises(ValueError, match=POISON):
            x[1] = 7.0
        del y
        x[1] = 7.0
        copied = xp.asarray(x, device=gpu)
        copied[0] = 1.0 if copied is not x else 2.0


def test_modes_and_names() -> None:
    assert refarray.namespace(poison_views=False) is refarray
    assert open_.__name__ == "refarray_poison_views"
    assert strict.__name__ == "refarray_strict_poison_views"
    assert refarray.namespace(poison_views=True) is open_
    for wrong in (1, None, "yes"):
        with pytest.raises(TypeError, match="poison_views must be True or False"):
            refarray.namespace(poison_views=wrong)  # type: ignore[arg-type]
    immutable: Any = refarray.namespace(poison_views=True, immutable=True)
    x = immutable.ones(3)
    y = x[:]
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 1.0
    x += 1.0
    assert float(y[0]) == 1.0
    assert pickle.loads(pickle.dumps(open_)) is open_


def test_many_arrays_come_and_go() -> None:
    kept = [open_.ones(2) for _ in range(60)]
    for each in kept[::3]:
        each += 1.0
    del kept[1::2]
    for each in kept:
        view = each[:1]
        with pytest.raises(ValueError, match=POISON):
            each[0] = 1.0
        each[1] = 1.0
        del view
