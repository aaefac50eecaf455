"""PyArrow's tests of DLPack, tensors and buffers: refarray consumes what PyArrow exports, or gives
PyArrow its arrays."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

import refarray
from foreign import exchanges


def consume(x: Any, /, **keywords: Any) -> np.ndarray[Any, Any]:
    """np.from_dlpack, but refarray imports, and NumPy reads the result as a buffer."""
    return np.asarray(exchanges.from_dlpack(x, **keywords))


def given_refarray(function: Any) -> Any:
    """A function of PyArrow that gets an array of refarray over its argument's memory."""

    def call(x: Any, /, *arguments: Any, **keywords: Any) -> Any:
        if isinstance(x, (np.ndarray, bytes, bytearray, memoryview)):
            exchanges.note()
            x = refarray.from_buffer(x)
        return function(x, *arguments, **keywords)

    return call


def substitute(module: ModuleType, side: str) -> None:
    if side == "consumer":
        module.np = exchanges.Namespace(np, from_dlpack=consume)
        return
    types = {
        name: exchanges.stand_in(
            getattr(pa, name), from_dlpack=given_refarray(getattr(pa, name).from_dlpack)
        )
        for name in ("Tensor", "Array", "FixedShapeTensorArray")
    }
    functions = {
        name: given_refarray(getattr(pa, name))
        for name in ("py_buffer", "BufferReader", "compress", "decompress")
    }
    module.pa = exchanges.Namespace(pa, **types, **functions)
