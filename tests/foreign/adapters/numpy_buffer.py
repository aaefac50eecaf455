"""NumPy's tests of the buffer protocol and of __array_interface__, through refarray."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

import refarray
from foreign import exchanges


def has_interface(x: Any) -> bool:
    return hasattr(x, "__array_interface__") and not isinstance(x, (np.ndarray, np.generic))


def consuming(function: Any) -> Any:
    """np.asarray and its like: refarray reads objects with __array_interface__."""

    def call(x: Any, *arguments: Any, **keywords: Any) -> Any:
        if has_interface(x):
            x = exchanges.from_array_interface(x)
        return function(x, *arguments, **keywords)

    return call


class Interface:
    """Only the __array_interface__ of an array."""

    def __init__(self, array: refarray.Array) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


def producing(function: Any) -> Any:
    """np.asarray and its like: NumPy reads the interface of refarray instead of the object's."""

    def call(x: Any, *arguments: Any, **keywords: Any) -> Any:
        if has_interface(x):
            x = Interface(exchanges.asarray(function(x)))
        return function(x, *arguments, **keywords)

    return call


def frombuffer(buffer: Any, *arguments: Any, **keywords: Any) -> Any:
    return np.frombuffer(exchanges.from_buffer(buffer), *arguments, **keywords)


def substitute(module: ModuleType, side: str) -> None:
    """consumer: refarray imports what the tests give to memoryview or np.array; producer: NumPy
    gets refarray's buffer or interface."""
    wrap = consuming if side == "consumer" else producing
    names = {name: wrap(getattr(np, name)) for name in ("array", "asarray", "asanyarray")}
    module.memoryview = exchanges.through
    module.np = exchanges.Namespace(np, frombuffer=frombuffer, **names)
