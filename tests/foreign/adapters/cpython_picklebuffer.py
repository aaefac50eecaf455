"""CPython's test_picklebuffer: the buffers are those of refarray's arrays."""

from __future__ import annotations

import pickle
from types import ModuleType
from typing import Any

import refarray
from foreign import exchanges


def over(*arguments: Any, **keywords: Any) -> pickle.PickleBuffer:
    """PickleBuffer over an array of refarray that has imported the buffer."""
    if arguments and not isinstance(arguments[0], (str, memoryview)):
        exchanges.note()
        arguments = (refarray.from_buffer(arguments[0]),)
    return pickle.PickleBuffer(*arguments, **keywords)


def substitute(module: ModuleType, side: str) -> None:
    module.PickleBuffer = over
