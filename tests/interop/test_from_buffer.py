"""from_buffer: formats, reinterpretation as another dtype, errors, and how long a buffer is
held."""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import io
import mmap
import struct
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.leaks import blocks_left

import refarray


@run_each(
    ("obj", "dtype", "values"),
    [
        (array.array("l", [1, -2]), f"int{8 * struct.calcsize('l')}", [1, -2]),
        (array.array("L", [1]), f"uint{8 * struct.calcsize('L')}", [1]),
        ((ctypes.c_int32 * 2)(1, -2), "int32", [1, -2]),
        ((ctypes.c_int64 * 1)(-5), "int64", [-5]),
        ((ctypes.c_bool * 2)(True, False), "bool", [True, False]),
        (ctypes.create_string_buffer(b"ab", 2), "uint8", [97, 98]),
        (((ctypes.c_uint16 * 2) * 2)((1, 2), (3, 4)), "uint16", [[1, 2], [3, 4]]),
        (ctypes.c_double(2.5), "float64", 2.5),
        ((ctypes.c_uint8.__ctype_be__ * 2)(1, 2), "uint8", [1, 2]),
        (memoryview(bytes(struct.calcsize("N"))).cast("N"), f"uint{8 * struct.calcsize('N')}", [0]),
        (memoryview(bytes(8)).cast("n"), "int64", [0]),
        (np.float32(1.5), "float32", 1.5),
        (np.array(True), "bool", True),
        (mmap.mmap(-1, 3), "uint8", [0, 0, 0]),
        (b"", "uint8", []),
    ],
)
def test_from_buffer_values_and_dtype(obj: Any, dtype: str, values: Any) -> None:
    x = refarray.from_buffer(obj)
    assert x.dtype == dtype
    assert x.tolist() == values


@run_each(
    ("nbytes", "dtype", "size"),
    [
        (8, "float64", 1),
        (0, "float64", 0),
        (6, "uint16", 3),
        (3, "float4_e2m1fn", 6),
        (3, "float6_e2m3fn", 4),
        (3, "float6_e2m3fn_padded", 3),
        (16, "float32x2", 2),
        (3, "float4_e2m1fnx3", 2),
        (2, bool, 2),
    ],
)
def test_bytes_are_reinterpreted_as_a_dtype(nbytes: int, dtype: Any, size: int) -> None:
    x = refarray.from_buffer(bytes(nbytes), dtype=dtype)
    assert (x.shape, x.nbytes) == ((size,), nbytes)


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]


overlapping = np.zeros(4, [("a", "u1"), ("b", "<u2")])["b"]

INVALID: list[tuple[Any, Any, type[Exception], str]] = [
    (1, None, TypeError, "needs an object with the buffer protocol, not int"),
    ("text", None, TypeError, "str"),
    ([1], "int8", TypeError, "list"),
    (None, None, TypeError, "NoneType"),
    (bytes(7), "float64", ValueError, "7 bytes (56 bits), not a multiple of the 64 bits"),
    (bytes(2), "float6_e2m3fn", ValueError, "multiple of the 6 bits"),
    (bytes(2), "int31", ValueError, "int31"),
    (bytes(2), 5, TypeError, "int"),
    (memoryview(bytes(8))[::2], "int8", BufferError, ""),
    (np.zeros(2, ">i4"), None, BufferError, "format '>i'"),
    (np.zeros(2, [("a", "i4"), ("b", "f4")]), None, BufferError, "format 'T{i:a:f:b:}'"),
    (np.zeros(2, "S3"), None, BufferError, "format '3s'"),
    (np.zeros(2, "U3"), None, BufferError, "format '3w'"),
    (np.zeros(2, object), None, BufferError, "format 'O'"),
    (np.zeros(2, "longdouble"), None, BufferError, "format 'g'"),
    (np.zeros(2, "V5"), None, BufferError, "format '5x'"),
    (overlapping, None, BufferError, "strides[0] is 3 bytes; it must be a multiple of itemsize, 2"),
    (array.array("w" if sys.version_info >= (3, 13) else "u", "ab"), None, BufferError, "format"),
    ((Point * 2)(), None, BufferError, "T{<i:x:<i:y:}"),
    ((ctypes.c_char_p * 1)(), None, BufferError, "z"),
    ((ctypes.c_uint16.__ctype_be__ * 2)(1, 2), None, BufferError, "format '>H'"),
    (memoryview(bytes(8)).cast("P"), None, BufferError, "format 'P'"),
]


@pytest.mark.req("DTYPE-11", "TENS-11")
@run_each(("obj", "dtype", "error", "message"), INVALID)
def test_from_buffer_rejects_invalid_objects(
    obj: Any, dtype: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        refarray.from_buffer(obj, dtype=dtype)
    assert type(caught.value) is error
    assert message in str(caught.value)


def test_released_exporter_raises() -> None:
    view = memoryview(bytes(4))
    view.release()
    with pytest.raises(ValueError, match="released"):
        refarray.from_buffer(view)


def test_buffer_is_held_until_the_last_view_is_gone() -> None:
    class Memory(bytearray):
        pass

    memory = Memory(8)
    alive = weakref.ref(memory)
    x = refarray.from_buffer(memory, dtype="int16")
    y = np.from_dlpack(x[1:])
    with pytest.raises(BufferError):
        memory.clear()
    del memory, x
    gc.collect()
    assert alive() is not None
    thread = threading.Thread(target=lambda box: box.clear(), args=([y],))
    del y
    thread.start()
    thread.join()
    del thread
    gc.collect()
    assert alive() is None


Resize = Callable[[Any], object]
RESIZABLE: list[tuple[Callable[[], Any], Resize]] = [
    (lambda: bytearray(b"abcd"), lambda m: m.append(1)),
    (lambda: bytearray(b"abcd"), lambda m: m.clear()),
    (lambda: array.array("i", [1, 2]), lambda m: m.append(3)),
    (lambda: array.array("i", [1, 2]), lambda m: m.pop()),
    (lambda: mmap.mmap(-1, 4096, mmap.MAP_PRIVATE), lambda m: m.resize(8192)),
    (lambda: mmap.mmap(-1, 4096), lambda m: m.close()),
    (lambda: io.BytesIO(b"abcd"), lambda m: m.write(bytes(99))),
    (lambda: memoryview(bytearray(4)), lambda m: m.release()),
]


@pytest.mark.req("LIFE-18")
@run_each(("make", "resize"), RESIZABLE)
def test_memory_cannot_be_resized_while_it_is_held(make: Callable[[], Any], resize: Resize) -> None:
    owner = make()
    x = refarray.from_buffer(owner.getbuffer() if isinstance(owner, io.BytesIO) else owner)
    view = x[1:]
    before = x.tolist()
    del x
    with pytest.raises(BufferError):
        resize(owner)
    assert view.tolist() == before[1:]
    del view
    gc.collect()
    resize(owner)


@run_each(
    ("code", "dtype"), [("F", "complex64"), ("D", "complex128"), ("Zf", "complex64"), ("Ze", "")]
)
@run_each("mode", ["", "@", "^", "=", "<", ">"])
def test_every_format_of_complex_numbers(adv: Any, mode: str, code: str, dtype: str) -> None:
    """F and D are the formats of struct and ctypes in CPython 3.14."""
    dtype = dtype or "complex32"
    itemsize = refarray.DType(dtype).itemsize
    native = mode != (">" if sys.byteorder == "little" else "<")
    exporter = adv.exporter(
        data=bytes(2 * itemsize), format=mode + code, itemsize=itemsize, shape=(2,)
    )
    if native:
        x = refarray.from_buffer(exporter)
        assert (x.dtype, x.tolist()) == (dtype, [0j, 0j])
    else:
        with pytest.raises(BufferError, match="byte order"):
            refarray.from_buffer(exporter)


def test_format_that_is_cut_inside_a_utf_8_sequence() -> None:
    """The error message quotes it."""
    with pytest.raises(BufferError, match="buffer: format 'T"):
        refarray.from_buffer(np.zeros(1, [("\u00e4" * 40, "i4")]))


def test_nothing_leaks() -> None:
    def work() -> None:
        refarray.from_buffer(memoryview(bytes(8))[::-1])
        refarray.from_buffer(bytearray(8), dtype="int32")
        for obj, dtype, error, _ in INVALID:
            with contextlib.suppress(error):
                refarray.from_buffer(obj, dtype=dtype)

    assert blocks_left(work) < 25
