"""__array_interface__: export of arrays, import of other objects, errors, and ownership."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.number_likes import IntLike
from hostile.interfaces import ADDRESS, NUMBERS, Interface, at
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray

TYPESTRS = {
    "bool": "|b1",
    "int8": "|i1",
    "uint8": "|u1",
    "int16": "<i2",
    "uint16": "<u2",
    "int32": "<i4",
    "uint32": "<u4",
    "int64": "<i8",
    "uint64": "<u8",
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}
DTYPES_WITHOUT_TYPESTR = ["bfloat16", "complex32", "float8_e5m2", "float4_e2m1fn", "float32x2"]


class Memory(bytearray):
    """A bytearray that can be weakly referenced."""


# --- export


@run_each(("dtype", "typestr"), TYPESTRS.items())
def test_numpy_reads_the_interface(dtype: str, typestr: str) -> None:
    x = refarray.asarray([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    interface = x.__array_interface__
    assert interface["typestr"] == typestr == np.dtype(typestr).str
    assert interface == {
        "version": 3,
        "shape": (2, 3),
        "typestr": typestr,
        "strides": None,
        "data": (memoryview(x) and np.asarray(x).ctypes.data, False),
    }
    theirs = np.array(SimpleNamespace(__array_interface__=interface, keep=x), copy=False)
    assert (str(theirs.dtype), theirs.tolist()) == (dtype, x.tolist())
    theirs[0, 0] = 0
    assert x[0, 0].item() == 0


def test_strides_are_in_bytes_and_none_when_row_major() -> None:
    x = refarray.arange(12, dtype="int16").reshape((3, 4))
    assert x.T.__array_interface__["strides"] == (2, 8)
    assert x[::-1, ::2].__array_interface__["strides"] == (-8, 4)
    assert refarray.broadcast_to(x[0], (5, 4)).__array_interface__["strides"] == (0, 2)
    for rows in (x, x[1:], x[1:2, :], x[:, 1:2][:1], x[1, 2], x[:0], x[:, :0].T):
        assert rows.__array_interface__["strides"] is None
    first = x.__array_interface__["data"][0]
    assert x[::-1].__array_interface__["data"][0] == first + 16


def test_interface_has_the_read_only_flag() -> None:
    x = refarray.zeros(2)
    assert x.__array_interface__["data"][1] is False
    assert x.as_readonly().__array_interface__["data"][1] is True
    assert refarray.from_buffer(b"12").__array_interface__["data"][1] is True


@run_each("dtype", DTYPES_WITHOUT_TYPESTR)
def test_dtypes_without_a_typestr_have_no_interface(dtype: str) -> None:
    x = refarray.ones(4, dtype=dtype)
    assert not hasattr(x, "__array_interface__")
    with pytest.raises(AttributeError, match=f"no typestr for elements of {dtype}"):
        x.__array_interface__  # noqa: B018


def test_interface_of_an_empty_array_has_an_address() -> None:
    address, readonly = refarray.zeros((0, 3)).__array_interface__["data"]
    assert address != 0
    assert not readonly


# --- import


@run_each(("dtype", "typestr"), TYPESTRS.items())
def test_every_dtype_is_imported(dtype: str, typestr: str) -> None:
    theirs = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    owner = SimpleNamespace(__array_interface__=theirs.__array_interface__, keep=theirs)
    x = refarray.from_array_interface(owner)
    assert (x.dtype, x.shape, x.tolist()) == (dtype, (2, 3), theirs.tolist())
    x[1, 1] = False
    assert theirs[1, 1] == 0
    assert theirs.__array_interface__["typestr"] == typestr


shapes = st.lists(st.integers(0, 4), max_size=5).map(tuple)


@settings(deadline=None)
@given(st.data(), shapes, st.sampled_from(sorted(TYPESTRS)))
@pytest.mark.req("TENS-14")
def test_any_layout_round_trips(data: st.DataObject, shape: tuple[int, ...], dtype: str) -> None:
    size = int(np.prod(shape, dtype=int))
    theirs: Any = np.arange(size).reshape(shape).astype(dtype)
    steps = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in shape]
    theirs = np.asarray(theirs[(..., *(slice(None, None, step) for step in steps))])
    theirs = theirs.transpose(data.draw(st.permutations(range(len(shape)))))
    ours = refarray.from_array_interface(theirs)
    assert (ours.shape, ours.dtype, ours.tolist()) == (theirs.shape, dtype, theirs.tolist())
    again = np.array(
        SimpleNamespace(__array_interface__=ours.__array_interface__, keep=ours), copy=False
    )
    assert again.tolist() == theirs.tolist()
    if size:
        assert again.ctypes.data == theirs.ctypes.data


VALID: list[tuple[dict[str, Any], Any]] = [
    ({"data": at(NUMBERS), "typestr": "<i4", "shape": (3,)}, [0, 1, 2]),
    ({"data": at(NUMBERS), "typestr": "<i4", "shape": ()}, 0),
    ({"data": at(NUMBERS), "typestr": "<i4", "strides": None}, [0, 1]),
    ({"data": at(NUMBERS), "typestr": "<i4", "strides": (-0,)}, [0, 0]),
    ({"data": at(NUMBERS), "typestr": "<i4", "strides": (16,)}, [0, 4]),
    ({"data": at(NUMBERS), "typestr": "<i4", "shape": (1,), "strides": (3,)}, [0]),
    ({"data": at(NUMBERS), "typestr": "<i4", "offset": 0, "mask": None}, [0, 1]),
    ({"data": at(NUMBERS), "typestr": "<i4", "descr": [("", ">f8")]}, [0, 1]),
    ({"data": at(NUMBERS), "typestr": "=i4"}, [0, 1]),
    ({"data": at(NUMBERS), "typestr": "|i4"}, [0, 1]),
    ({"data": at(NUMBERS), "typestr": "i4"}, [0, 1]),
    ({"data": at(NUMBERS), "typestr": "<i4", "shape": [3], "strides": [8]}, [0, 2, 4]),
    ({"data": at(NUMBERS), "typestr": "<i4", "version": 2}, [0, 1]),
    ({"data": at(NUMBERS), "typestr": "<i4", "version": 4}, [0, 1]),
    ({"data": (np.uint64(ADDRESS), np.False_), "typestr": "<i4"}, [0, 1]),
    ({"data": b"abcd", "shape": (np.int32(2),), "strides": (np.int64(2),)}, [97, 99]),
    ({"data": (0, False), "shape": (0, 5)}, []),
    ({"data": (0, False), "shape": (3, 0), "strides": (7, 9)}, [[], [], []]),
    ({"data": b"abc"}, [97, 98]),
    ({"data": b"abc", "offset": 1}, [98, 99]),
    ({"data": b"abcd", "offset": 3, "strides": (-3,)}, [100, 97]),
    ({"data": b"abcd", "shape": (2, 2), "strides": (1, 2)}, [[97, 99], [98, 100]]),
    ({"data": b"", "shape": (0,), "offset": 9}, []),
    ({"data": b"\1", "typestr": ">b1", "shape": (1,)}, [True]),
    ({"data": memoryview(b"abcd")[1:3]}, [98, 99]),
    ({"data": np.arange(2, dtype="u1")}, [0, 1]),
]


@run_each(("fields", "values"), VALID)
def test_valid_interfaces_are_imported(fields: dict[str, Any], values: Any) -> None:
    for take in (refarray.from_array_interface, refarray.asarray):
        assert take(Interface(**fields)).tolist() == values


@run_each("value", [(), 5, "text", [("version", 3)], SimpleNamespace()])
def test_interface_that_is_not_a_dict_raises(value: Any) -> None:
    owner = SimpleNamespace(__array_interface__=value)
    for take in (refarray.from_array_interface, refarray.asarray):
        with pytest.raises(TypeError, match="of SimpleNamespace must be a dict"):
            take(owner)


@run_each("obj", [object(), 1, None, b"ab", np.ndarray, SimpleNamespace(__array_interface__=None)])
def test_object_without_an_interface_raises(obj: Any) -> None:
    with pytest.raises(TypeError, match="needs an object with __array_interface__"):
        refarray.from_array_interface(obj)


def test_exception_of_the_property_propagates() -> None:
    class Raises:
        @property
        def __array_interface__(self) -> Any:
            raise KeyError("mine")

    for take in (refarray.from_array_interface, refarray.asarray):
        with pytest.raises(KeyError, match="mine"):
            take(Raises())


def test_int_like_objects_are_accepted() -> None:
    x = refarray.from_array_interface(
        Interface(
            version=IntLike(3),
            shape=(IntLike(2),),
            strides=(IntLike(2),),
            data=b"abcd",
            offset=IntLike(1),
        )
    )
    assert x.tolist() == [98, 100]


def test_dict_may_change_while_it_is_read() -> None:
    class Clears:
        def __index__(self) -> int:
            owner.__array_interface__.clear()
            gc.collect()
            return 2

    owner = Interface(shape=(Clears(),), data=b"ab")
    assert refarray.from_array_interface(owner).tolist() == [97, 98]


def test_read_only_flag_is_imported() -> None:
    assert refarray.from_array_interface(Interface(data=b"ab")).readonly
    assert not refarray.from_array_interface(Interface(data=bytearray(2))).readonly
    assert refarray.from_array_interface(Interface(data=(ADDRESS, True))).readonly
    assert refarray.from_array_interface(Interface(data=(ADDRESS, [1]))).readonly
    assert not refarray.from_array_interface(Interface(data=(ADDRESS, 0))).readonly


def test_owner_of_an_address_lives_until_the_last_view_is_gone() -> None:
    owner = Interface(data=at(NUMBERS))
    alive = weakref.ref(owner)
    x = refarray.from_array_interface(owner)
    view = np.from_dlpack(x[1:])
    del owner, x
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


@run_each(
    "share",
    [
        refarray.from_array_interface,
        refarray.from_buffer,
        lambda x: refarray.from_buffer(memoryview(x)),
        refarray.from_dlpack,
        refarray.asarray,
    ],
    ids=["interface", "buffer", "memoryview", "dlpack", "asarray"],
)
def test_an_array_of_refarray_shares_its_storage_and_is_not_kept(
    share: Callable[[refarray.Array], refarray.Array],
) -> None:
    """Every way in opens the storage of our own array, so that no chain of holders grows."""
    x = refarray.arange(6, dtype="int32")
    alive = weakref.ref(x)
    y = share(x)
    x[5] = 9
    is_same = y is x
    del x
    gc.collect()
    assert is_same or alive() is None
    assert y.tolist() == [0, 1, 2, 3, 4, 9]


def test_an_object_with_our_interface_is_kept() -> None:
    """The dict describes an array of refarray, but the object that has it is another one."""
    x = refarray.arange(6, dtype="int32")
    owner = Interface(**{k: v for k, v in x.__array_interface__.items() if k != "version"})
    alive = weakref.ref(owner)
    y = refarray.from_array_interface(owner)
    del owner
    gc.collect()
    assert alive() is not None
    assert y.tolist() == x.tolist()


def test_buffer_is_held_until_the_last_view_is_gone() -> None:
    memory = Memory(b"ab")
    alive = weakref.ref(memory)
    x = refarray.from_array_interface(Interface(data=memory))
    view = x[1:]
    del x
    with pytest.raises(BufferError):
        memory.append(1)
    view[0] = 7
    assert memory[1] == 7
    del memory
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


def test_data_none_means_the_objects_own_buffer() -> None:
    class Own(bytearray):
        def __init__(self) -> None:
            super().__init__(b"abcdef")
            self.__array_interface__ = {
                "version": 3,
                "shape": (2,),
                "typestr": "<u2",
                "data": None,
                "offset": 2,
            }

    own = Own()
    x = refarray.from_array_interface(own)
    assert x.tolist() == [0x6463, 0x6665]
    with pytest.raises(BufferError):
        own.clear()
