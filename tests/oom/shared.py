"""Out-of-memory recipes of memory shared between processes."""

from __future__ import annotations

import os
from typing import Any

import refarray
import refarray.shared  # no import while allocations fail
from refarray import _native

from .recipe import recipe, refused

ARENA = _native._shared_new(True, 1 << 26)
SOURCE = _native._shared_source(ARENA)


def shared_matrix() -> Any:
    return _native._shared_empty(ARENA, (2, 3), "float32", True)


#: The array keeps the memory, so the message can be used many times.
MATRIX = shared_matrix()
MESSAGE = _native._shared_send(MATRIX)


def send(x: Any) -> bytes:
    """Gives up the message of before: it was for nobody."""
    before = _native._shared_limits(-1, -1)
    _native._shared_limits(0, -1)
    try:
        return _native._shared_send(x)
    finally:
        _native._shared_limits(*before)


def close_descriptors(_: Any) -> None:
    for fd in _native._shared_descriptors(ARENA):
        os.close(fd)


recipe("shares_memory", lambda x: refarray.shares_memory(x, x))
refused("shares_memory", TypeError, lambda x: refarray.shares_memory(x, 3))
recipe("_native._shared_new", lambda _: _native._shared_new(True, 1 << 22))
refused("_native._shared_new", ValueError, lambda _: _native._shared_new(True, -1))
recipe("_native._shared_empty", lambda _: shared_matrix())
recipe("_native._shared_arena_of", _native._shared_arena_of, shared_matrix)
recipe("_native._shared_find", _native._shared_find, shared_matrix)
recipe("_native._shared_send", send, lambda: MATRIX)
refused("_native._shared_send", BufferError, lambda x: _native._shared_send(x))
recipe("_native._shared_attach", lambda _: _native._shared_attach(MESSAGE))
refused("_native._shared_attach", BufferError, lambda _: _native._shared_attach(b"x"))
recipe("_native._shared_descriptor", _native._shared_descriptor, shared_matrix)
recipe("_native._shared_source", lambda _: _native._shared_source(ARENA))
recipe("_native._shared_open", lambda _: _native._shared_open(SOURCE, -1, -1))
recipe("_native._shared_descriptors", close_descriptors)
recipe("_native._shared_collect", lambda _: _native._shared_collect())
recipe("_native._shared_limits", lambda _: _native._shared_limits(-1, -1))
recipe("_native._shared_usage", lambda _: _native._shared_usage(ARENA))
