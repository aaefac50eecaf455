"""Loops over elements answer signals: what a handler raises ends them, as Ctrl-C must."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

import refarray

# What each loop goes through: so much that dozens of ticks come before its end, and no memory that
# is not touched until then.
MANY = 1 << 26
TICK = 0.001  # seconds
TICKS = 3


class Interrupted(Exception):
    """What the handler raises."""


def start_clock() -> None:
    signal.setitimer(signal.ITIMER_REAL, TICK)


def stop_clock() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


class StartsClock:
    """A number that starts the clock when it is read."""

    def __index__(self) -> int:
        start_clock()
        return 0


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """The third tick raises. A loop that runs no handlers cannot see it: ticks that come meanwhile
    are one, and the next one is only started by the handler. No collections: a handler that runs in
    one of their callbacks raises into nothing."""
    ticks = 0

    def tick(number: int, frame: FrameType | None) -> None:
        nonlocal ticks
        ticks += 1
        if ticks == TICKS:
            raise Interrupted
        start_clock()

    gc.disable()
    before = signal.signal(signal.SIGALRM, tick)
    yield
    stop_clock()
    signal.signal(signal.SIGALRM, before)
    gc.enable()


def zeros(*shape: int) -> refarray.Array:
    return refarray.broadcast_to(refarray.zeros((), dtype="int8"), shape)


LOOPS: dict[str, Callable[[], object]] = {
    "tolist of one axis": zeros(MANY).tolist,
    "tolist of rows": zeros(MANY // 16, 4).tolist,
    "tolist of empty rows": zeros(MANY // 8, 0).tolist,
    "a sequence": lambda: refarray.asarray(range(MANY)),
    "an array in a sequence": lambda: refarray.asarray([zeros(MANY)]),
    "arange of ints": lambda: refarray.arange(MANY),
    "arange of unsigned ints": lambda: refarray.arange(MANY, dtype="uint64"),
    "arange of floats": lambda: refarray.arange(0.0, float(MANY)),
    "arange of ints beyond int64": lambda: refarray.arange(
        2**70, 2**70 + MANY, dtype=refarray.float64
    ),
}


def is_ended_by_handler(loop: Callable[[], object]) -> bool:
    try:
        loop()
    except Interrupted:
        return True
    finally:
        stop_clock()
    return False


@pytest.mark.parametrize("name", LOOPS)
def test_a_handler_ends_the_loop(name: str) -> None:
    start_clock()
    assert is_ended_by_handler(LOOPS[name])


def test_a_handler_ends_the_writing_of_what_was_read() -> None:
    """The last item starts the clock: all numbers are read by then."""
    items: list[object] = [0] * (MANY // 8)
    items.append(StartsClock())
    assert is_ended_by_handler(lambda: refarray.asarray(items))
