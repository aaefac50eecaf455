"""Objects that offer their memory in chosen ways, tell which were asked, and refuse as they are
told."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

# In the order of docs/neighbours.md. Each way gives a value of its own, which tells the way.
WAYS = ("table", "dlpack", "buffer", "interface", "array")
VALUES = {"table": 1.0, "dlpack": 2.0, "buffer": 3.0, "interface": 4.0, "array": 5.0}

Answer = Callable[..., Any]


class Described(ctypes.Structure):
    """Exports a buffer whose format has no dtype."""

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
    """An object that offers these ways; `asked` lists those that were asked, in order. A way in
    `instead` answers by that function. The buffer protocol is not Python's before 3.12: a ctypes
    array offers it, and a structure offers one that is refused."""
    asked: list[str] = []

    def answer(way: str, usual: Answer) -> Answer:
        def give(*arguments: Any, **keywords: Any) -> Any:
            asked.append(way)
            return instead.get(way, usual)(*arguments, **keywords)

        return give

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
        said = kept["interface"].__array_interface__
        names["__array_interface__"] = property(answer("interface", lambda self: said))
    if "array" in ways:
        names["__array__"] = answer("array", lambda self: kept["array"])
    if "buffer" not in ways:
        return type("Offers", (), names)()
    if "buffer" in instead:
        return type("Offers", (Described,), names)()
    floats: Any = ctypes.c_float * 2
    return type("Offers", (floats,), names)(VALUES["buffer"], VALUES["buffer"])


def logged(*ways: str) -> list[str]:
    """What `asked` can show of these."""
    return [way for way in ways if way != "buffer"]
