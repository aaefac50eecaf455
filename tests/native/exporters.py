"""Objects that support chosen protocols of asarray(), log which are tried, and refuse on demand."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

# In asarray()'s order. Each protocol exports a distinct value, which identifies it.
WAYS = ("table", "dlpack", "buffer", "interface", "array")
VALUES = {"table": 1.0, "dlpack": 2.0, "buffer": 3.0, "interface": 4.0, "array": 5.0}

Answer = Callable[..., Any]


class Described(ctypes.Structure):
    """Exports a buffer whose format is a struct, which no dtype represents."""

    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float)]


def data(way: str) -> Any:
    return np.full(2, VALUES[way], "float32")


def raising(error: BaseException) -> Answer:
    def answer(*_: Any, **__: Any) -> Any:
        raise error

    return answer


def refusing(way: str) -> Answer:
    return raising(BufferError(f"{way} refuses"))


def offering(adv: Any, *ways: str, **instead: Answer) -> Any:
    """An object that supports the protocols `ways`. Its attribute `asked` lists those that were
    tried, in order. `instead` maps a protocol to a function that replaces its implementation.
    Before Python 3.12 a Python class cannot implement the buffer protocol: a ctypes array serves
    instead, and a ctypes structure for a buffer that is refused."""
    asked: list[str] = []

    def answer(way: str, default: Answer) -> Answer:
        def call(*arguments: Any, **keywords: Any) -> Any:
            asked.append(way)
            return instead.get(way, default)(*arguments, **keywords)

        return call

    kept = {way: data(way) for way in ways}
    tensor = adv.make(shape=(2,), data=data("table").tobytes()) if "table" in ways else None
    names: dict[str, Any] = {"asked": asked, "kept": kept}
    if "table" in ways:
        names["__dlpack_c_exchange_api__"] = adv.table().capsule()
        names["tensor"] = property(answer("table", lambda self: tensor))
    if "dlpack" in ways:
        names["__dlpack__"] = answer("dlpack", lambda self, **k: kept["dlpack"].__dlpack__(**k))
        names["__dlpack_device__"] = instead.get("device", lambda self: (1, 0))
    if "interface" in ways:
        interface = kept["interface"].__array_interface__
        names["__array_interface__"] = property(answer("interface", lambda self: interface))
    if "array" in ways:
        names["__array__"] = answer("array", lambda self: kept["array"])
    if "buffer" not in ways:
        return type("Offers", (), names)()
    if "buffer" in instead:
        return type("Offers", (Described,), names)()
    floats: Any = ctypes.c_float * 2
    return type("Offers", (floats,), names)(VALUES["buffer"], VALUES["buffer"])


def logged(*ways: str) -> list[str]:
    """The protocols whose use `asked` can show."""
    return [way for way in ways if way != "buffer"]
