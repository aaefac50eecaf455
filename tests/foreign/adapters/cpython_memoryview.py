"""CPython's test_memoryview: its test classes again, with refarray's arrays as source of the
memory."""

from __future__ import annotations

import unittest
from types import ModuleType
from typing import Any

import refarray
from foreign import exchanges


def writable(data: bytes) -> refarray.Array:
    """A bytes-like source that can be written."""
    exchanges.note()
    return refarray.from_buffer(bytearray(data))


def read_only(data: bytes) -> refarray.Array:
    exchanges.note()
    return refarray.from_buffer(data)


def integers(data: bytes) -> refarray.Array:
    """A source of 4-byte integers."""
    exchanges.note()
    return refarray.asarray(list(data), dtype="int32")


def substitute(module: ModuleType, side: str) -> None:
    """Adds a class for each combination of view and source that the module has."""

    class Bytes(module.AbstractMemoryTests):  # type: ignore[misc, name-defined]
        ro_type = staticmethod(read_only)
        rw_type = staticmethod(writable)
        getitem_type = bytes
        itemsize, format = 1, "B"

    class Integers(module.BaseArrayMemoryTests):  # type: ignore[misc, name-defined]
        rw_type = staticmethod(integers)

    def check_contents(self: Any, tp: Any, obj: Any, contents: bytes) -> None:
        inner = memoryview(obj)[1:7] if len(self.source_bytes) == 8 else memoryview(obj)
        assert inner == memoryview(tp(contents))

    for name in [name for name in vars(module) if name.endswith("Test")]:
        delattr(module, name)
    for view in ("Memoryview", "MemorySlice", "MemorySliceSlice"):
        base = getattr(module, f"Base{view}Tests")
        for source in (Bytes, Integers):
            name = f"{source.__name__}{view}Test"
            bases = (unittest.TestCase, base, source)
            body = {"_check_contents": check_contents, "__module__": module.__name__}
            setattr(module, name, type(name, bases, body))
