"""What the processes of tests/shared run: functions that `spawn` finds by name."""

from __future__ import annotations

import os
import signal
from typing import Any

import refarray
import refarray.shared as shared


def answer(requests: Any, answers: Any) -> None:
    """Writes into arrays and sends them back, with new ones, until None comes."""
    while (x := requests.get()) is not None:
        if not x.readonly:
            x[...] = 7
        answers.put((os.getpid(), x, shared.asarray(refarray.arange(5))))


def double(x: Any) -> Any:
    out = shared.empty(x.shape, x.dtype)
    out[...] = refarray.add(x, x)
    return out


def total(x: Any) -> tuple[float, bool]:
    return float(refarray.sum(x)), x.is_shared()


def identity(x: Any) -> Any:
    return x


def send_and_end(pipe: Any, count: int, how: str) -> None:
    for i in range(count):
        x = shared.empty(1000, "int64")
        x[...] = i
        pipe.send(x)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "_exit":
        os._exit(0)


def value_of(numbers: Any) -> int:
    """The number of which all elements are; -1 for others."""
    first = int(numbers[0])
    return first if bool(refarray.all(refarray.equal(numbers, first))) else -1


def send_in(arena: Any, pipe: Any, count: int, how: str) -> None:
    shared.use(arena)
    send_and_end(pipe, count, how)


def send_own(pipe: Any) -> None:
    """Sends an array of an arena that no other process has open."""
    pipe.send(shared.zeros(3, arena=shared.Arena(limit=1 << 20)))
    os._exit(0)


def write_to(x: Any) -> tuple[bool, bool]:
    """Whether the array is read-only, and whether its arena lets this process allocate."""
    try:
        shared.zeros(3, arena=shared.arena_of(x))
    except BufferError:
        return x.readonly, False
    return x.readonly, True
