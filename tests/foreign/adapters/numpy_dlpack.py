"""NumPy's test_dlpack.py: refarray consumes NumPy's arrays, or NumPy consumes refarray's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

import refarray
from foreign import exchanges

#: Functions of NumPy whose results the tests export.
MAKERS = ("arange", "array", "zeros", "asarray")


def consume(x: Any, /, **keywords: Any) -> np.ndarray[Any, Any]:
    """np.from_dlpack, but refarray imports, and NumPy reads the result as a buffer."""
    return np.asarray(exchanges.from_dlpack(x, **keywords))


def from_refarray(x: Any, /, **keywords: Any) -> np.ndarray[Any, Any]:
    """np.from_dlpack of an array of refarray over the memory of `x`."""
    exchanges.note()
    array = x if isinstance(x, refarray.Array) else refarray.asarray(x, copy=False)
    return np.from_dlpack(array, **keywords)


def substitute(module: ModuleType, side: str) -> None:
    if side == "consumer":
        module.np = exchanges.Namespace(np, from_dlpack=consume)
        return
    for test in vars(module.TestDLPack).values():
        for mark in getattr(test, "pytestmark", ()):  # arrays that were made by a generator
            if mark.name == "parametrize":
                object.__setattr__(mark, "args", (mark.args[0], list(mark.args[1])))
    makers = {name: exchanges.made_by(getattr(np, name)) for name in MAKERS}
    module.np = exchanges.Namespace(np, from_dlpack=from_refarray, **makers)
