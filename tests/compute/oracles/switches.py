"""Threads and instruction sets, which results do not depend on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import refarray
from refarray import _native

#: The levels of this machine, the best one first; the last one is plain.
ISAS = refarray.build_info()["isas"].split(", ")


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    before = refarray.get_copy_threads()
    refarray.set_copy_threads(count)
    try:
        yield
    finally:
        refarray.set_copy_threads(before)


@contextlib.contextmanager
def instruction_set(name: str) -> Iterator[None]:
    before = refarray.build_info()["isa"]
    _native._use_isa(name)
    try:
        yield
    finally:
        _native._use_isa(before)
