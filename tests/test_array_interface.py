"""__array_interface__ both ways: what is said, what is taken, what is refused, and who is kept."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaks import blocks_left

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
UNSAYABLE = ["bfloat16", "complex32", "float8_e5m2", "float4_e2m1fn", "float32x2"]


class Interface:
    """Has the attribute, and nothing else that anybody would ask for."""

    def __init__(self, **fields: Any) -> None:
        self.__array_interface__ = {"version": 3, "shape": (2,), "typestr": "|u1", **fields}


class Memory(bytearray):
    """Can be weakly referenced."""


def at(memory: Any) -> tuple[int, bool]:
    """(address, read-only) of a ctypes array."""
    return (ctypes.addressof(memory), False)


NUMBERS = (ctypes.c_int32 * 12)(*range(12))


# --- out


@pytest.mark.parametrize(("dtype", "typestr"), TYPESTRS.items())
def test_numpy_reads_the_interface(dtype: str, typestr: str) -> None:
    x = refarray.asarray([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    said = x.__array_interface__
    assert said["typestr"] == typestr == np.dtype(typestr).str
    assert said == {
        "version": 3,
        "shape": (2, 3),
        "typestr": typestr,
        "strides": None,
        "data": (memoryview(x) and np.asarray(x).ctypes.data, False),
    }
    theirs = np.array(SimpleNamespace(__array_interface__=said, keep=x), copy=False)
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


def test_the_read_only_flag_is_said() -> None:
    x = refarray.zeros(2)
    assert x.__array_interface__["data"][1] is False
    assert x.as_readonly().__array_interface__["data"][1] is True
    assert refarray.from_buffer(b"12").__array_interface__["data"][1] is True


@pytest.mark.parametrize("dtype", UNSAYABLE)
def test_dtypes_without_a_typestr_have_no_interface(dtype: str) -> None:
    x = refarray.ones(4, dtype=dtype)
    assert not hasattr(x, "__array_interface__")
    with pytest.raises(AttributeError, match=f"no typestr for elements of {dtype}"):
        x.__array_interface__  # noqa: B018


def test_an_empty_array_has_an_address() -> None:
    address, readonly = refarray.zeros((0, 3)).__array_interface__["data"]
    assert address != 0
    assert not readonly


# --- in


@pytest.mark.parametrize(("dtype", "typestr"), TYPESTRS.items())
def test_every_dtype_comes_in(dtype: str, typestr: str) -> None:
    theirs = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    offer = SimpleNamespace(__array_interface__=theirs.__array_interface__, keep=theirs)
    x = refarray.from_array_interface(offer)
    assert (x.dtype, x.shape, x.tolist()) == (dtype, (2, 3), theirs.tolist())
    x[1, 1] = False
    assert theirs[1, 1] == 0
    assert theirs.__array_interface__["typestr"] == typestr


shapes = st.lists(st.integers(0, 4), max_size=5).map(tuple)


@settings(deadline=None)
@given(st.data(), shapes, st.sampled_from(sorted(TYPESTRS)))
@pytest.mark.req("TENS-14")
def test_layouts_survive_both_ways(data: st.DataObject, shape: tuple[int, ...], dtype: str) -> None:
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


TAKEN: list[tuple[dict[str, Any], Any]] = [
    ({"data": at(NUMBERS), "typestr": "<i4", "shape": (3,)}, [0, 1, 2]),
    ({"data": at(NUMBERS), "typestr": "<i4", "shape": ()}, 0),
    ({"data": at(NUMBERS), "typestr": "<i4", "strides": None}, [0, 1]),
    ({"data": at(NUMBERS), "typestr": "<i4", "strides": (-0,)}, [0, 0]),
    ({"data": at(NUMBERS), "typestr": "<i4", "strides": (16,)}, [0, 4]),
    ({"data": at(NUMBERS), "typestr": "<i4", "shape": (1,), "strides": (3,)}, [0]),
    ({"data": at(NUMBERS), "typestr": "<i4", "offset": 0, "mask": None}, [0, 1]),
    ({"data": at(NUMBERS), "typestr": "<i4", "descr": [("", ">f8")]}, [0, 1]),
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


@pytest.mark.parametrize(("fields", "values"), TAKEN)
def test_what_is_taken(fields: dict[str, Any], values: Any) -> None:
    for take in (refarray.from_array_interface, refarray.asarray):
        assert take(Interface(**fields)).tolist() == values


class Odd:
    """An int only by __index__."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Broken:
    """Raises when asked for anything."""

    def __index__(self) -> int:
        raise KeyError("index")

    def __bool__(self) -> bool:
        raise KeyError("bool")


ADDRESS = at(NUMBERS)[0]
MALFORMED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"version": 2}, BufferError, "version is 2; it must be 3"),
    ({"version": 4}, BufferError, "version is 4"),
    ({"version": None}, BufferError, "version must be an int, not missing"),
    ({"version": "3"}, BufferError, "version must be an int, not str"),
    ({"version": 2**70}, BufferError, "version does not fit 64 bits"),
    ({"typestr": None}, BufferError, "typestr must be a str, not missing"),
    ({"typestr": b"|u1"}, BufferError, "typestr must be a str, not bytes"),
    ({"typestr": ">i4"}, BufferError, "typestr '>i4' is no number"),
    ({"typestr": "|i4"}, BufferError, "typestr '|i4'"),
    ({"typestr": "=i4"}, BufferError, "typestr '=i4'"),
    ({"typestr": "i4"}, BufferError, "typestr 'i4'"),
    ({"typestr": "<i3"}, BufferError, "typestr '<i3'"),
    ({"typestr": "<i04"}, BufferError, "typestr '<i04'"),
    ({"typestr": "<i4,<i4"}, BufferError, "typestr"),
    ({"typestr": "<f16"}, BufferError, "typestr"),
    ({"typestr": "<c4"}, BufferError, "typestr"),
    ({"typestr": "<M8[s]"}, BufferError, "typestr"),
    ({"typestr": "|V4"}, BufferError, "typestr"),
    ({"typestr": "|O"}, BufferError, "typestr"),
    ({"typestr": "|S1"}, BufferError, "typestr"),
    ({"typestr": "<U1"}, BufferError, "typestr"),
    ({"typestr": "|t1"}, BufferError, "typestr"),
    ({"typestr": ""}, BufferError, "typestr ''"),
    ({"typestr": "<"}, BufferError, "typestr"),
    ({"typestr": "\udc80"}, BufferError, "typestr"),
    ({"typestr": "<i\u0664"}, BufferError, "typestr"),
    ({"typestr": "x" * 10**6}, BufferError, "..."),
    ({"shape": None}, BufferError, "shape must be a tuple, not missing"),
    ({"shape": [2]}, BufferError, "shape must be a tuple, not list"),
    ({"shape": 2}, BufferError, "shape must be a tuple, not int"),
    ({"shape": (1,) * 65}, BufferError, "shape has 65 items; the limit is 64"),
    ({"shape": (-1,), "data": b""}, BufferError, "shape[0] is -1"),
    ({"shape": (1.0,)}, BufferError, "shape[0] must be an int, not float"),
    ({"shape": (1, None)}, BufferError, "shape[1] must be an int, not NoneType"),
    ({"shape": (2**63,)}, BufferError, "shape[0] does not fit 64 bits"),
    ({"shape": (2**62, 2**62), "data": b""}, BufferError, "shape"),
    ({"shape": (Broken(),)}, KeyError, "index"),
    ({"strides": [1]}, BufferError, "strides must be a tuple, not list"),
    ({"strides": ()}, BufferError, "strides has 0 items, shape has 1"),
    ({"strides": (1, 1)}, BufferError, "strides has 2 items, shape has 1"),
    ({"strides": ("1",)}, BufferError, "strides[0] must be an int, not str"),
    ({"strides": (-(2**70),)}, BufferError, "strides[0] does not fit"),
    ({"strides": (2**62,), "data": b"ab"}, BufferError, "strides"),
    ({"typestr": "<i4", "strides": (6,)}, BufferError, "strides[0] is 6 bytes; it must be a mult"),
    ({"data": (0, False)}, BufferError, "data is NULL"),
    ({"data": (ADDRESS,)}, BufferError, "data has 1 items"),
    ({"data": (ADDRESS, False, 1)}, BufferError, "data has 3 items"),
    ({"data": ()}, BufferError, "data has 0 items"),
    ({"data": (str(ADDRESS), False)}, BufferError, "data[0] must be an int, not str"),
    ({"data": (None, False)}, BufferError, "data[0] must be an int, not NoneType"),
    ({"data": (True, False)}, BufferError, "data[0] must be an int, not bool"),
    ({"data": (2**64, False)}, BufferError, "which is no address"),
    ({"data": (2**64 - 1, False)}, BufferError, "leave the address space"),
    ({"data": (-1, False)}, BufferError, ""),
    ({"data": (ADDRESS, Broken())}, KeyError, "bool"),
    ({"data": [ADDRESS, False]}, BufferError, "data must be (address, read-only), None or"),
    ({"data": ADDRESS}, BufferError, "not int"),
    ({"data": "abc"}, BufferError, "not str"),
    ({"data": None}, BufferError, "not Interface"),
    ({}, BufferError, "not Interface"),
    ({"data": b"a"}, BufferError, "bytes 0 to 2 from offset 0; the buffer has 1"),
    ({"data": b"ab", "offset": 1}, BufferError, "bytes 0 to 2 from offset 1; the buffer has 2"),
    ({"data": b"ab", "offset": 9}, BufferError, "from offset 9; the buffer has 2"),
    ({"data": b"ab", "strides": (-1,)}, BufferError, "bytes -1 to 1 from offset 0"),
    ({"data": b"ab", "strides": (2,)}, BufferError, "bytes 0 to 3"),
    ({"data": b"ab", "shape": (10**12,)}, BufferError, "the buffer has 2"),
    ({"data": b"ab", "offset": -1}, BufferError, "offset is -1; the least is 0"),
    ({"data": b"ab", "offset": 2**80}, BufferError, "offset does not fit 64 bits"),
    ({"data": b"ab", "offset": 2**63 - 1}, BufferError, ""),
    ({"data": b"ab", "offset": 0.5}, BufferError, "offset must be an int, not float"),
    ({"data": at(NUMBERS), "offset": 1}, BufferError, "with an address it must be 0"),
    ({"data": memoryview(b"abcd")[::2]}, BufferError, "contiguous"),
    ({"data": b"ab", "mask": np.zeros(2, bool)}, BufferError, "mask is given"),
]


@pytest.mark.req("CONS-07", "TENS-11", "DTYPE-11")
@pytest.mark.parametrize(("fields", "error", "words"), MALFORMED)
def test_what_is_refused(fields: dict[str, Any], error: type[Exception], words: str) -> None:
    for take in (refarray.from_array_interface, refarray.asarray):
        offer = Interface(**fields)
        with pytest.raises(error) as caught:
            take(offer)
        assert type(caught.value) is error
        assert words in str(caught.value)
        gone = weakref.ref(offer)
        del offer, caught
        gc.collect()
        assert gone() is None


@pytest.mark.parametrize("value", [(), 5, "text", [("version", 3)], SimpleNamespace()])
def test_an_attribute_that_is_no_dict(value: Any) -> None:
    offer = SimpleNamespace(__array_interface__=value)
    for take in (refarray.from_array_interface, refarray.asarray):
        with pytest.raises(TypeError, match="of SimpleNamespace must be a dict"):
            take(offer)


@pytest.mark.parametrize(
    "obj", [object(), 1, None, b"ab", np.ndarray, SimpleNamespace(__array_interface__=None)]
)
def test_objects_without_an_interface(obj: Any) -> None:
    with pytest.raises(TypeError, match="needs an object with __array_interface__"):
        refarray.from_array_interface(obj)


def test_what_the_property_raises_comes_through() -> None:
    class Raises:
        @property
        def __array_interface__(self) -> Any:
            raise KeyError("mine")

    for take in (refarray.from_array_interface, refarray.asarray):
        with pytest.raises(KeyError, match="mine"):
            take(Raises())


def test_ints_may_be_ints_by_index_only() -> None:
    x = refarray.from_array_interface(
        Interface(version=Odd(3), shape=(Odd(2),), strides=(Odd(2),), data=b"abcd", offset=Odd(1))
    )
    assert x.tolist() == [98, 100]


def test_a_dict_that_changes_while_it_is_read() -> None:
    class Clears:
        def __index__(self) -> int:
            offer.__array_interface__.clear()
            gc.collect()
            return 2

    offer = Interface(shape=(Clears(),), data=b"ab")
    assert refarray.from_array_interface(offer).tolist() == [97, 98]


def test_read_only_is_kept() -> None:
    assert refarray.from_array_interface(Interface(data=b"ab")).readonly
    assert not refarray.from_array_interface(Interface(data=bytearray(2))).readonly
    assert refarray.from_array_interface(Interface(data=(ADDRESS, True))).readonly
    assert refarray.from_array_interface(Interface(data=(ADDRESS, [1]))).readonly
    assert not refarray.from_array_interface(Interface(data=(ADDRESS, 0))).readonly


def test_the_object_behind_an_address_is_kept_until_the_last_view_is_gone() -> None:
    offer = Interface(data=at(NUMBERS))
    alive = weakref.ref(offer)
    x = refarray.from_array_interface(offer)
    view = np.from_dlpack(x[1:])
    del offer, x
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


def test_a_buffer_is_held_until_the_last_view_is_gone() -> None:
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


def test_data_none_is_the_objects_own_buffer() -> None:
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


@pytest.mark.parametrize("owner", [True, False])
def test_hostile_exporters_are_released_once(adv: Any, owner: bool) -> None:
    """As the data of an interface: taken as bytes, so that only buf, len and readonly count."""
    for fields in ({}, {"len": -1}, {"len": 2}, {"data": None, "len": 8}, {"len": 2**62}):
        exporter = adv.exporter(**{"data": b"12345678", "owner": owner, **fields})
        with contextlib.suppress(BufferError):
            refarray.from_array_interface(Interface(data=exporter, shape=(8,)))
        gc.collect()
        assert exporter.releases == (exporter.gets if owner else 0)


def test_nothing_leaks() -> None:
    def work() -> None:
        refarray.from_array_interface(Interface(data=at(NUMBERS)))
        refarray.from_array_interface(Interface(data=b"abcd", strides=(2,)))
        refarray.zeros((2, 3)).T.__array_interface__  # noqa: B018
        for fields, error, _ in MALFORMED:
            if len(str(fields)) < 1000:
                with contextlib.suppress(error):
                    refarray.asarray(Interface(**fields))

    assert blocks_left(work, repeats=20) < 10
