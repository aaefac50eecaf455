"""__array_struct__: import by asarray, and structs that are refused (built by ctypes)."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each

import refarray


class Struct(ctypes.Structure):
    """PyArrayInterface of NumPy's array interface."""

    _fields_ = (
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.py_object),
    )


C_CONTIGUOUS, ALIGNED, NOT_SWAPPED, WRITABLE = 0x1, 0x100, 0x200, 0x400
_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class OfNumpy:
    """Exports an ndarray by its __array_struct__ only."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def __array_struct__(self) -> Any:
        return self.array.__array_struct__


class Exporter:
    """Exports two int32 by a struct of its own, with fields replaced."""

    def __init__(self, name: bytes | None = None, **fields: Any) -> None:
        self.memory = (ctypes.c_int32 * 4)(1, 2, 3, 4)
        shape, strides = (ctypes.c_ssize_t * 64)(2), (ctypes.c_ssize_t * 64)(4)
        self.struct = Struct(
            two=2,
            nd=1,
            typekind=b"i",
            itemsize=4,
            flags=ALIGNED | NOT_SWAPPED | WRITABLE,
            shape=shape,
            strides=strides,
            data=ctypes.addressof(self.memory),
        )
        for key, value in fields.items():
            setattr(self.struct, key, value)
        self.name = name
        self.__array_struct__ = _new(ctypes.addressof(self.struct), name, None)


@run_each("dtype", ["bool", "uint8", "int16", "float32", "complex128"])
def test_arrays_of_numpy_are_shared(dtype: str) -> None:
    theirs = np.arange(12).reshape(3, 4).astype(dtype)
    for view in (theirs, theirs.T, theirs[::-1, ::2], theirs[0, 0:0], theirs[1, 1, ...]):
        ours = refarray.asarray(OfNumpy(view))
        assert (ours.shape, ours.dtype, ours.tolist()) == (view.shape, dtype, view.tolist())
        if view.size:
            assert ours.__array_interface__["data"] == view.__array_interface__["data"]


def test_read_only_data_stay_read_only() -> None:
    theirs = np.zeros(3)
    theirs.flags.writeable = False
    assert refarray.asarray(OfNumpy(theirs)).readonly
    assert refarray.asarray(Exporter(flags=NOT_SWAPPED)).readonly
    assert not refarray.asarray(Exporter()).readonly


def test_the_exporter_lives_until_the_last_view_is_gone() -> None:
    owner = Exporter()
    alive = weakref.ref(owner)
    view = refarray.asarray(owner)[1:]
    del owner
    gc.collect()
    assert alive() is not None and view.tolist() == [2]
    del view
    gc.collect()
    assert alive() is None


def test_null_strides_mean_row_major() -> None:
    assert refarray.asarray(Exporter(strides=None)).tolist() == [1, 2]


def test_copy_true_copies() -> None:
    owner = Exporter()
    copy = refarray.asarray(owner, copy=True)
    copy[0] = 9
    assert owner.memory[0] == 1


def extents(*values: int) -> Any:
    return (ctypes.c_ssize_t * max(len(values), 1))(*values)


@run_each(
    ("fields", "message"),
    [
        ({"two": 3}, "two is 3; it must be 2"),
        ({"two": 0}, "two is 0"),
        ({"nd": -1}, "nd is -1; it must be 0 to 64"),
        ({"nd": 65}, "nd is 65"),
        ({"nd": 2**31 - 1}, "nd is 2147483647"),
        ({"shape": None}, "shape is NULL, nd 1"),
        ({"shape": extents(-1)}, r"shape\[0\] is -1"),
        ({"shape": extents(2**62)}, "shape"),
        ({"strides": extents(2**62)}, "strides"),
        ({"data": None}, "data is NULL"),
        ({"typekind": b"O", "itemsize": 8}, "typekind 79, itemsize 8"),
        ({"typekind": b"V"}, "typekind 86"),
        ({"typekind": b"\0"}, "typekind 0"),
        ({"typekind": b"\xff"}, "typekind 255"),
        ({"itemsize": 3}, "typekind 105, itemsize 3"),
        ({"itemsize": 0}, "itemsize 0"),
        ({"itemsize": -4}, "itemsize -4"),
        ({"name": b"array"}, "the capsule has a name; the interface requires none"),
    ],
)
def test_malformed_structs_are_refused(fields: dict[str, Any], message: str) -> None:
    owner = Exporter(**fields)
    alive = weakref.ref(owner)
    with pytest.raises(BufferError, match=message):
        refarray.asarray(owner)
    del owner
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("value", [5, b"", {}, ()])
def test_an_attribute_that_is_no_capsule_raises(value: Any) -> None:
    owner = Exporter()
    owner.__array_struct__ = value
    with pytest.raises(TypeError, match="__array_struct__ of Exporter must be a capsule"):
        refarray.asarray(owner)


def test_none_and_classes_have_no_struct() -> None:
    owner = Exporter()
    owner.__array_struct__ = None
    for thing in (owner, OfNumpy):
        with pytest.raises(TypeError):
            refarray.asarray(thing)


def test_a_refused_struct_lets_the_next_protocol_try() -> None:
    owner = OfNumpy(np.zeros(2, dtype="M8[s]"))
    with pytest.raises(BufferError, match="typekind 77"):
        refarray.asarray(owner)

    class Both(OfNumpy):
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.ones(2)

    assert refarray.asarray(Both(np.zeros(2, dtype="M8[s]"))).tolist() == [1.0, 1.0]
