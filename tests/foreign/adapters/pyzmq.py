"""pyzmq's tests of messages: frames are made of arrays of refarray."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import zmq

import refarray
from foreign import exchanges


def frame(data: Any = None, *arguments: Any, **keywords: Any) -> zmq.Frame:
    """zmq.Frame over an array of refarray."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        exchanges.note()
        data = refarray.from_buffer(data)
    return zmq.Frame(data, *arguments, **keywords)


def substitute(module: ModuleType, side: str) -> None:
    module.zmq = exchanges.Namespace(zmq, Frame=exchanges.stand_in(zmq.Frame, frame))
