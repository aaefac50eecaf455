"""numcodecs' tests: every codec encodes refarray's arrays, and decodes from and into them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

import refarray
from foreign import exchanges


class Codec:
    """A codec whose buffers are replaced by arrays of refarray over the same memory."""

    def __init__(self, codec: Any) -> None:
        object.__setattr__(self, "codec", codec)

    def encode(self, buffer: Any) -> Any:
        return self.codec.encode(replaced(buffer))

    def decode(self, buffer: Any, out: Any = None) -> Any:
        return self.codec.decode(replaced(buffer), out=replaced(out))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.codec, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.codec, name, value)


def replaced(buffer: Any) -> Any:
    """Objects, strings and times have no dtype in refarray."""
    if isinstance(buffer, np.ndarray) and buffer.dtype.kind not in "biufc":
        return buffer
    if isinstance(buffer, (np.ndarray, bytes, bytearray, memoryview)):
        exchanges.note()
        return refarray.from_buffer(buffer)
    return buffer


def substitute(module: ModuleType, side: str) -> None:
    """The tests call functions of numcodecs.tests.common with a codec."""
    for name, function in list(vars(module).items()):
        if name.startswith("check_") and callable(function):

            def check(*arguments: Any, _function: Any = function, **keywords: Any) -> Any:
                arguments = tuple(
                    Codec(each) if hasattr(each, "codec_id") else each for each in arguments
                )
                return _function(*arguments, **keywords)

            setattr(module, name, check)
