"""Objects that support chosen protocols of asarray(), log which are tried, and refuse on demand."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from refarray.conformance.native_method import native_method

# In asarray()'s order. Each protocol exports a distinct value, which identifies it.
PROTOCOLS = ("table", "dlpack", "buffer", "interface", "array")
VALUES = {"table": 1.0, "dlpack": 2.0, "buffer": 3.0, "interface": 4.0, "array": 5.0}

Method = Callable[..., Any]


class Described(ctypes.Structure):
    """Exports a buffer whose format is a struct, which no dtype represents."""

    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float)]


def data(protocol: str) -> Any:
    return np.full(2, VALUES[protocol], "float32")


def raising(error: BaseException) -> Method:
    def method(*_: Any, **__: Any) -> Any:
        raise error

    return method


def refusing(protocol: str) -> Method:
    return raising(BufferError(f"{protocol} refuses"))


def exporting(adv: Any, *protocols: str, **instead: Method) -> Any:
    """An object that supports `protocols`. Its attribute `tried` lists those that were used, in
    order. `instead` maps a protocol to a function that replaces its implementation.
    Before Python 3.12 a Python class cannot implement the buffer protocol: a ctypes array serves
    instead, and a ctypes structure for a buffer that is refused."""
    tried: list[str] = []

    def method(protocol: str, default: Method) -> Method:
        def call(*arguments: Any, **keywords: Any) -> Any:
            tried.append(protocol)
            return instead.get(protocol, default)(*arguments, **keywords)

        return call

    def native(protocol: str, default: Method) -> Any:
        return native_method(method(protocol, default))

    kept = {protocol: data(protocol) for protocol in protocols}
    tensor = adv.make(shape=(2,), data=data("table").tobytes()) if "table" in protocols else None
    names: dict[str, Any] = {"tried": tried, "kept": kept}
    if "table" in protocols:
        names["__dlpack_c_exchange_api__"] = adv.table().capsule()
        names["tensor"] = property(method("table", lambda self: tensor))
    if "dlpack" in protocols:
        names["__dlpack__"] = native("dlpack", lambda self, **k: kept["dlpack"].__dlpack__(**k))
        names["__dlpack_device__"] = instead.get("device", lambda self: (1, 0))
    if "interface" in protocols:
        interface = kept["interface"].__array_interface__
        names["__array_interface__"] = property(method("interface", lambda self: interface))
    if "array" in protocols:
        names["__array__"] = native("array", lambda self: kept["array"])
    if "buffer" not in protocols:
        return type("Exporter", (), names)()
    if "buffer" in instead:
        return type("Exporter", (Described,), names)()
    floats: Any = ctypes.c_float * 2
    return type("Exporter", (floats,), names)(VALUES["buffer"], VALUES["buffer"])


def logged(*protocols: str) -> list[str]:
    """The protocols whose use `tried` can show."""
    return [protocol for protocol in protocols if protocol != "buffer"]
