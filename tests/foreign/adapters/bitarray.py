"""bitarray's tests of buffers: bit arrays over, and extended by, the memory of refarray."""

from __future__ import annotations

import array
from types import ModuleType
from typing import Any

import bitarray

import refarray
from foreign import exchanges

BUFFERS = (bytes, bytearray, memoryview, array.array)


def over(*arguments: Any, **keywords: Any) -> bitarray.bitarray:
    """bitarray(…), whose `buffer` is an array of refarray."""
    if isinstance(keywords.get("buffer"), BUFFERS):
        exchanges.note()
        keywords["buffer"] = refarray.from_buffer(keywords["buffer"])
    return bitarray.bitarray(*arguments, **keywords)


def show(obj: Any) -> memoryview:
    """memoryview(obj); of a bit array it shows refarray's import of its buffer."""
    return exchanges.through(obj) if isinstance(obj, bitarray.bitarray) else memoryview(obj)


def substitute(module: ModuleType, side: str) -> None:
    module.bitarray = exchanges.stand_in(bitarray.bitarray, over)
    module.memoryview = exchanges.stand_in(memoryview, show)
