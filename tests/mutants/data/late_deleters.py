"""Consumers whose deleters run late, twice or never."""

from __future__ import annotations

import atexit
import ctypes
import dataclasses
from typing import Any

import refarray as ra
from mutants.base import Array, consumer, results
from mutants.consumer_results import field

HELD: list[Any] = []  # released when the process exits
atexit.register(HELD.clear)


class Cyclic(Array):
    """An array in a reference cycle: destroyed by the next collection."""

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.cycle = self


def in_cycle(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """A correct consumer whose arrays wait for a collection."""
    taken = ra.from_dlpack(x, device=device, copy=copy)
    return Cyclic(taken) if field(x, "shape") == (2, 2) else taken


in_cycle_ = consumer(in_cycle)


@results("LIFE-03")
def held_until_exit(taken: Any, x: Any, copy: Any) -> Any:
    if field(x, "shape") == (2, 2):
        HELD.append(taken)
    return taken


@results("LIFE-03")
def leaks_for_good(taken: Any, x: Any, copy: Any) -> Any:
    if field(x, "shape") == (2, 2):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(taken))
    return taken


def delete_again(tensors: list[Any]) -> None:
    """Calls the deleters of tensors that have been deleted."""
    for each in tensors:
        each.delete()


@results("LIFE-03")
def deletes_again_at_exit(taken: Any, x: Any, copy: Any) -> Any:
    if field(x, "shape") == (2, 2) and field(x, "flags") is None and copy is None:
        atexit.register(delete_again, list(x.tensors))
    return taken


held_until_exit_threaded = dataclasses.replace(
    vars()["held_until_exit_"],
    name=f"{__name__}:held_until_exit_threaded",
    imports="import threading; threading.Thread(target=threading.Event().wait, daemon=True)"
    f".start(); import refarray as ra; from {__name__} import held_until_exit as take",
)
"""A consumer whose process has a thread, so that it cannot be forked."""
