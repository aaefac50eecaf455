"""Hostile array interfaces: malformed or false __array_interface__, through every entry point."""

from __future__ import annotations

import array
import gc
import weakref
from typing import Any

import refarray

from .case import add, case, expect, refused


class Interface:
    """An object with __array_interface__ only."""

    def __init__(self, **fields: Any) -> None:
        self.__array_interface__ = {"version": 3, "shape": (2,), "typestr": "|u1", **fields}


def at(memory: array.array[int]) -> tuple[int, bool]:
    """(address, read-only) as `data` holds them. Not by ctypes, which 3.12 lacks in a
    sub-interpreter."""
    return (memory.buffer_info()[0], False)


NUMBERS = array.array("i", range(12))


class Broken:
    """Raises from every conversion."""

    def __index__(self) -> int:
        raise KeyError("index")

    def __bool__(self) -> bool:
        raise KeyError("bool")


ADDRESS = at(NUMBERS)[0]
MALFORMED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"version": 1}, BufferError, "version is 1; the minimum is 2"),
    ({"version": -3}, BufferError, "version is -3"),
    ({"version": None}, BufferError, "version must be an int, not missing"),
    ({"version": "3"}, BufferError, "version must be an int, not str"),
    ({"version": 2**70}, BufferError, "version does not fit 64 bits"),
    ({"typestr": None}, BufferError, "typestr must be a str, not missing"),
    ({"typestr": b"|u1"}, BufferError, "typestr must be a str, not bytes"),
    ({"typestr": ">m4"}, BufferError, "typestr '>m4' is not a numeric type"),
    ({"typestr": "@i4"}, BufferError, "typestr '@i4'"),
    ({"typestr": "<=i4"}, BufferError, "typestr '<=i4'"),
    ({"typestr": "=="}, BufferError, "typestr '=='"),
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
    ({"shape": {2}}, BufferError, "shape must be a tuple, not set"),
    ({"shape": [1.0]}, BufferError, "shape[0] must be an int, not float"),
    ({"shape": [1] * 65}, BufferError, "shape has 65 items; the limit is 64"),
    ({"shape": 2}, BufferError, "shape must be a tuple, not int"),
    ({"shape": (1,) * 65}, BufferError, "shape has 65 items; the limit is 64"),
    ({"shape": (-1,), "data": b""}, BufferError, "shape[0] is -1"),
    ({"shape": (1.0,)}, BufferError, "shape[0] must be an int, not float"),
    ({"shape": (1, None)}, BufferError, "shape[1] must be an int, not NoneType"),
    ({"shape": (2**63,)}, BufferError, "shape[0] does not fit 64 bits"),
    ({"shape": (2**62, 2**62), "data": b""}, BufferError, "shape"),
    ({"shape": (Broken(),)}, KeyError, "index"),
    ({"strides": 1}, BufferError, "strides must be a tuple, not int"),
    ({"strides": [1, 1]}, BufferError, "strides has 2 items, shape has 1"),
    ({"strides": ()}, BufferError, "strides has 0 items, shape has 1"),
    ({"strides": (1, 1)}, BufferError, "strides has 2 items, shape has 1"),
    ({"strides": ("1",)}, BufferError, "strides[0] must be an int, not str"),
    ({"strides": (-(2**70),)}, BufferError, "strides[0] does not fit"),
    ({"strides": (2**62,), "data": b"ab"}, BufferError, "strides"),
    ({"typestr": "<i4", "strides": (6,)}, BufferError, ""),  # asarray would copy, without data
    ({"typestr": ">i4"}, BufferError, ""),
    ({"data": (0, False)}, BufferError, "data is NULL"),
    ({"data": (ADDRESS,)}, BufferError, "data has 1 items"),
    ({"data": (ADDRESS, False, 1)}, BufferError, "data has 3 items"),
    ({"data": ()}, BufferError, "data has 0 items"),
    ({"data": (str(ADDRESS), False)}, BufferError, "data[0] must be an int, not str"),
    ({"data": (None, False)}, BufferError, "data[0] must be an int, not NoneType"),
    ({"data": (True, False)}, BufferError, "data[0] must be an int, not bool"),
    ({"data": (2**64, False)}, BufferError, "which is not a valid address"),
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
    ({"data": b"ab", "offset": -1}, BufferError, "offset is -1; the minimum is 0"),
    ({"data": b"ab", "offset": 2**80}, BufferError, "offset does not fit 64 bits"),
    ({"data": b"ab", "offset": 2**63 - 1}, BufferError, ""),
    ({"data": b"ab", "offset": 0.5}, BufferError, "offset must be an int, not float"),
    ({"data": at(NUMBERS), "offset": 1}, BufferError, "with an address it must be 0"),
    ({"data": memoryview(b"abcd")[::2]}, BufferError, "contiguous"),
    ({"data": b"ab", "mask": b"\0\1"}, BufferError, "mask is given"),
]


def import_interface(
    adv: Any, fields: dict[str, Any], error: type[BaseException], message: str
) -> int:
    """The refusal drops the object, which owns the memory."""
    for take in (refarray.from_array_interface, refarray.asarray):
        owner = Interface(**fields)
        with refused(error, message=message):
            take(owner)
        reference = weakref.ref(owner)
        del owner
        if reference() is not None:
            gc.collect()
        expect(reference() is None, "the object was kept", "leak")
    return 2


for _number, _row in enumerate(MALFORMED):
    _name = f"{_number}-{'-'.join(_row[0]) or 'nothing'}"
    add("RI", _name, "interface", import_interface, *_row)


@case("RI", "false-buffers", "interface")
def false_buffers(adv: Any) -> int:
    """Buffers with false fields as `data`: only buf, len and readonly are used; each buffer is
    released once."""
    fields_of_buffers = ({"len": -1}, {"len": 2}, {"data": None, "len": 8}, {"len": -(2**63)})
    for fields in fields_of_buffers:
        for owner in (True, False):
            exporter = adv.exporter(**{"data": b"12345678", "owner": owner, **fields})
            with refused(BufferError):
                refarray.from_array_interface(Interface(data=exporter, shape=(8,)))
            gc.collect()
            releases = exporter.gets if owner else 0
            expect(exporter.releases == releases, f"{exporter.releases} releases", "leak")
    return 2 * len(fields_of_buffers)
