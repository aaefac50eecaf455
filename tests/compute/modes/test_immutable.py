"""Immutable namespaces: no way to write to elements, in Python or through exports."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from helpers.cases import run_each

import refarray

pytestmark = pytest.mark.every_python

open_: Any = refarray.namespace(immutable=True)
strict: Any = refarray.namespace(immutable=True, strict=True)
both = run_each("xp", [open_, strict], ids=["open", "strict"])

IN_PLACE = ("+=", "-=", "*=", "/=", "//=", "%=", "**=")
BITWISE = ("&=", "|=", "^=", "<<=", ">>=")


@both
@run_each("index", [0, -1, slice(None), ..., (0,), (...,), slice(0, 0)])
def test_assignment_raises(xp: Any, index: Any) -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    for value in (7.0, x):
        with pytest.raises(TypeError, match=f"arrays of {xp.__name__} are immutable"):
            x[index] = value
    with pytest.raises(TypeError, match="immutable"):
        x[x > 1] = 0.0
    with pytest.raises(TypeError, match="immutable"):
        del x[index]
    assert float(xp.sum(x)) == 6


@both
@run_each("operator", [*IN_PLACE, *BITWISE, "@="])
def test_operators_in_place_rebind(xp: Any, operator: str) -> None:
    dtype = xp.int64 if operator in BITWISE else xp.float64
    before = xp.asarray([[4, 3], [2, 1]], dtype=dtype)
    names = {"x": before, "y": xp.asarray([[1, 2], [2, 1]], dtype=dtype)}
    exec(f"x {operator} y", names)
    expected = eval(f"x {operator[:-1]} y", {"x": before, "y": names["y"]})
    assert names["x"] is not before and type(names["x"]) is type(before)
    assert bool(xp.all(names["x"] == expected))
    assert bool(xp.all(before == xp.asarray([[4, 3], [2, 1]], dtype=dtype)))


@both
def test_operators_in_place_promote_as_the_operators_do(xp: Any) -> None:
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    x += xp.ones((3, 2), dtype=xp.float64)
    assert x.dtype == xp.float64 and x.shape == (3, 2)


@both
def test_exports_are_read_only(xp: Any) -> None:
    for x in (xp.zeros((2, 3)), xp.zeros((2, 3)).T, xp.zeros((2, 3)) + 1, xp.empty(4)):
        assert memoryview(x).readonly
        assert refarray.from_dlpack(x).readonly and refarray.asarray(x).readonly
        with pytest.raises(BufferError, match="read-only"):
            x.__dlpack__()  # without max_version a consumer cannot be told
        with pytest.raises(ValueError, match="read-only"):
            refarray.from_dlpack(x)[...] = 1
    assert not refarray.from_dlpack(xp.zeros(3), copy=True).readonly, "a copy is the consumer's own"


@both
def test_numpy_cannot_write(xp: Any) -> None:
    numpy = pytest.importorskip("numpy")
    x = xp.zeros(3)
    for view in (numpy.asarray(x), numpy.from_dlpack(x), numpy.frombuffer(x)):
        assert not view.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True


def test_other_exports_of_the_open_namespace_are_read_only() -> None:
    x = open_.asarray([1.0, 2.0])
    assert x.readonly and x.__array_interface__["data"][1]
    assert x.numpy().flags.writeable is False
    for same in (
        x.copy(),
        x.astype(open_.float32),
        x.reshape((2, 1)),
        x.as_readonly(),
        x.view("u8"),
    ):
        assert same.readonly and type(same) is type(x)
    for made in (open_.from_buffer(bytearray(4)), open_.from_numpy(x.numpy().copy())):
        assert made.readonly and type(made) is type(x)


@both
def test_memory_of_others_is_shared_and_not_written(xp: Any) -> None:
    theirs = refarray.asarray([1.0, 2.0])
    mine = xp.from_dlpack(theirs)
    with pytest.raises(TypeError):
        mine[0] = 5.0
    theirs[0] = 5.0
    assert float(mine[0]) == 5.0
    assert not theirs.readonly


@both
def test_copies_and_pickles_stay_immutable(xp: Any) -> None:
    x = xp.asarray([[1, 2], [3, 4]])
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x, protocol))):
            assert type(other) is type(x) and memoryview(other).readonly
            assert bool(xp.all(other == x))


@both
def test_functions_do_not_write_to_arguments(xp: Any) -> None:
    """A function that returned its argument would be no mistake here, one that wrote would."""
    x = xp.asarray([3.0, 1.0, 2.0])
    for made in (xp.sort(x), xp.roll(x, 1), xp.flip(x), xp.clip(x, 1.5, 2.5), xp.positive(x)):
        assert made.shape == x.shape and memoryview(made).readonly
    assert [float(each) for each in x] == [3.0, 1.0, 2.0]
