"""Buffer protocol export: every format, and layouts. test_buffer_requests.py has the requests."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import struct
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each, words
from helpers.leaks import blocks_left
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray

LONG_IS_64 = ctypes.sizeof(ctypes.c_long) == 8
FORMATS = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "l" if LONG_IS_64 else "q",
    "uint64": "L" if LONG_IS_64 else "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "complex64": "Zf",
    "complex128": "Zd",
}
NO_FORMAT = words("bfloat16 complex32 float8_e4m3fn float4_e2m1fn float6_e2m3fn float32x2")

# PyBUF_* flags of the C API.
SIMPLE, WRITABLE, FORMAT, ND, STRIDES = 0, 1, 4, 8, 0x18
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, INDIRECT = 0x38, 0x58, 0x98, 0x118
EXTRAS = [0, WRITABLE, FORMAT, WRITABLE | FORMAT]
REQUESTS = [
    base | extra
    for base in (SIMPLE, ND, STRIDES, C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, INDIRECT)
    for extra in EXTRAS
]


class Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


request = ctypes.pythonapi.PyObject_GetBuffer
request.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]


def get_buffer(x: Any, flags: int) -> dict[str, Any]:
    """The fields of the buffer that an exporter fills for one request."""
    view = Buffer()
    request(x, ctypes.byref(view), flags)
    axes = range(view.ndim)
    out = {
        "buf": view.buf,
        "len": view.len,
        "itemsize": view.itemsize,
        "readonly": view.readonly,
        "ndim": view.ndim,
        "format": view.format,
        "shape": [view.shape[i] for i in axes] if view.shape else None,
        "strides": [view.strides[i] for i in axes] if view.strides else None,
        "suboffsets": bool(view.suboffsets),
    }
    release = ctypes.pythonapi.PyBuffer_Release
    release.argtypes, release.restype = [ctypes.c_void_p], None
    release(ctypes.byref(view))
    return out


@run_each(("dtype", "code"), FORMATS.items())
def test_memoryview_has_the_arrays_attributes(dtype: str, code: str) -> None:
    x = refarray.asarray([[True, False, True], [False, True, True]]).astype(dtype)
    view = memoryview(x)
    assert view.format == code
    assert (view.shape, view.ndim, view.itemsize) == ((2, 3), 2, x.itemsize)
    assert view.strides == tuple(stride * x.itemsize for stride in x.strides)
    assert (view.nbytes, view.readonly) == (x.nbytes, False)
    assert view.obj is x
    if "Z" not in code:
        flat = [value for row in x.tolist() for value in row]
        assert list(struct.unpack(f"6{code}", view)) == flat
    if "Z" not in code and code != "e":  # formats that memoryview cannot index
        assert view.tolist() == x.tolist()
        assert view[1, 0] == x[1, 0].item()
    y = refarray.from_buffer(x)
    assert (y.dtype, y.shape, y.strides, y.tolist()) == (dtype, x.shape, x.strides, x.tolist())


@run_each("dtype", NO_FORMAT)
def test_dtypes_without_a_format_export_bytes_only(dtype: str) -> None:
    x = refarray.ones((4, 6), dtype=dtype)
    with pytest.raises(BufferError, match=f"no format for elements of {dtype}"):
        memoryview(x)
    seen = get_buffer(x, SIMPLE)
    assert (seen["len"], seen["itemsize"], seen["format"]) == (x.nbytes, x.itemsize, None)
    assert bytes_of(x) == ctypes.string_at(seen["buf"], seen["len"])
    seen = get_buffer(x, C_CONTIGUOUS)
    packed = dtype in ("float4_e2m1fn", "float6_e2m3fn")
    assert seen["shape"] == ([x.nbytes] if packed else [4, 6])
    assert math.prod(seen["shape"]) * seen["itemsize"] == seen["len"] == x.nbytes
    with pytest.raises(BufferError):
        get_buffer(x[:, ::2], SIMPLE)
    if packed:
        with pytest.raises(BufferError, match="must be C-contiguous and begin at bit 0"):
            get_buffer(x[:, 1:], STRIDES)
        with pytest.raises(BufferError, match="first at bit"):
            get_buffer(x[0, 1:2], SIMPLE)


def bytes_of(x: refarray.Array) -> bytes:
    """The bytes through pickling's flat buffer, which needs no format."""
    buffer = x.__reduce_ex__(2)[1][0]
    return bytes(buffer)


def test_read_only_flag_is_exported_and_imported() -> None:
    x = refarray.asarray([1, 2]).as_readonly()
    assert memoryview(x).readonly
    with pytest.raises(TypeError):
        memoryview(x)[0] = 1
    with pytest.raises(BufferError, match="read-only; a writable buffer was requested"):
        get_buffer(x, WRITABLE)
    with pytest.raises(TypeError, match="read-write"):
        struct.pack_into("q", x, 0, 1)
    assert refarray.from_buffer(x).readonly
    assert refarray.from_buffer(b"12").readonly
    assert refarray.from_buffer(b"12345678", dtype="int64").readonly
    assert not refarray.from_buffer(bytearray(2)).readonly


def test_a_null_view_raises() -> None:
    with pytest.raises(BufferError, match="to be filled in is NULL"):
        request(refarray.zeros(3), None, SIMPLE)


def test_writes_are_shared_in_both_directions() -> None:
    x = refarray.zeros((2, 2), dtype="int32")
    memoryview(x).cast("B").cast("i", (2, 2))[1, 0] = 7
    assert x.tolist() == [[0, 0], [7, 0]]
    memory = bytearray(8)
    y = refarray.from_buffer(memory, dtype="uint16")
    y[3] = 0x1234
    assert memory[6:] == (0x1234).to_bytes(2, sys.byteorder)


shapes = st.lists(st.integers(0, 4), max_size=5).map(tuple)


@settings(deadline=None)
@given(st.data(), shapes, st.sampled_from(sorted(FORMATS)))
def test_any_layout_round_trips(data: st.DataObject, shape: tuple[int, ...], dtype: str) -> None:
    theirs = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    steps = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in shape]
    theirs = theirs[(..., *(slice(None, None, step) for step in steps))]
    theirs = np.asarray(theirs).transpose(data.draw(st.permutations(range(len(shape)))))
    ours = refarray.from_buffer(theirs)
    assert (ours.shape, ours.dtype) == (theirs.shape, dtype)
    assert ours.tolist() == theirs.tolist()
    again = np.asarray(memoryview(ours))
    assert again.tolist() == theirs.tolist()
    assert again.dtype == theirs.dtype
    if theirs.size:
        assert again.ctypes.data == theirs.ctypes.data


def test_array_lives_as_long_as_its_buffers() -> None:
    x = refarray.asarray([1, 2, 3])
    alive = weakref.ref(x)
    view = memoryview(x)[1:]
    del x
    gc.collect()
    assert view.tolist() == [2, 3]
    view.release()
    gc.collect()
    assert alive() is None


def test_buffer_of_a_huge_broadcast_array() -> None:
    """Up to the largest size whose number of bits fits int64; CPython's memoryview works with
    it."""
    view = memoryview(refarray.broadcast_to(refarray.asarray(7, dtype="uint8"), (2**58, 2)))
    assert (view.nbytes, view.shape, view.strides) == (2**59, (2**58, 2), (0, 0))
    assert (view[0, 0], view[2**58 - 1, 1]) == (7, 7)
    most = memoryview(refarray.broadcast_to(refarray.asarray(7, dtype="uint8"), (2**60 - 1,)))
    assert (most.nbytes, most[2**60 - 2]) == (2**60 - 1, 7)
    wide = memoryview(refarray.broadcast_to(refarray.asarray(7.0), (2**56,)))
    assert (wide.nbytes, wide[2**56 - 1], wide[5:7].tolist()) == (2**59, 7.0, [7.0, 7.0])


@run_each(
    ("dtype", "shape"),
    [
        ("uint8", (2**61 + 1,)),  # 8 * (2**61 + 1) bits would wrap to one byte
        ("uint8", (2**60,)),
        ("uint8", (2**30, 2**30, 2)),
        ("float64", (2**58,)),
        ("complex128", (2**57,)),
        ("float4_e2m1fn", (2**61,)),
    ],
)
def test_array_whose_bits_overflow_int64_cannot_exist(dtype: str, shape: tuple[int, ...]) -> None:
    """So no buffer can have a wrapped size."""
    x = refarray.asarray(1, dtype=dtype)
    with pytest.raises(OverflowError):
        refarray.broadcast_to(x, shape)


def test_nothing_leaks() -> None:
    x = refarray.asarray([[1, 2], [3, 4]])

    def work() -> None:
        for view in (x, x.T, x[:, :1], x.as_readonly(), x[0, 0], x[:0]):
            for flags in REQUESTS:
                with contextlib.suppress(BufferError):
                    get_buffer(view, flags)

    assert blocks_left(work) < 25
