"""Long loops over elements run signal handlers, so that Ctrl-C interrupts them."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

import refarray

# Elements per loop: enough for dozens of signals before its end, without touching memory that is
# not written until then.
MANY = 1 << 26
SIGNAL_INTERVAL = 0.001  # seconds
RAISING_SIGNAL = 3  # the number of the signal whose handler raises


class Interrupted(Exception):
    """Raised by the signal handler."""


def start_timer() -> None:
    signal.setitimer(signal.ITIMER_REAL, SIGNAL_INTERVAL)


def stop_timer() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


class StartsTimer:
    """A number that starts the timer when it is converted."""

    def __index__(self) -> int:
        start_timer()
        return 0


@pytest.fixture(autouse=True)
def timer() -> Iterator[None]:
    """The handler raises at its third signal and arms each next one: a loop that runs no handlers
    sees at most one. Garbage collection is disabled, because a handler that runs in one of its
    callbacks would raise there."""
    ticks = 0

    def tick(number: int, frame: FrameType | None) -> None:
        nonlocal ticks
        ticks += 1
        if ticks == RAISING_SIGNAL:
            raise Interrupted
        start_timer()

    gc.disable()
    before = signal.signal(signal.SIGALRM, tick)
    yield
    stop_timer()
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
    "a product of matrices": lambda: refarray.matmul(zeros(1 << 11, 1 << 12), zeros(1 << 12, 2048)),
    "products of many vectors": lambda: refarray.vecdot(zeros(MANY, 4), zeros(MANY, 4)),
    "a product of long vectors": lambda: refarray.vecdot(zeros(MANY * 8), zeros(MANY * 8)),
    "a product of tensors": lambda: refarray.tensordot(
        zeros(64, MANY // 8), zeros(MANY // 8), axes=1
    ),
}


def is_interrupted(loop: Callable[[], object]) -> bool:
    try:
        loop()
    except Interrupted:
        return True
    finally:
        stop_timer()
    return False


@pytest.mark.parametrize("name", LOOPS)
def test_signal_handler_interrupts_the_loop(name: str) -> None:
    start_timer()
    assert is_interrupted(LOOPS[name])


def test_signal_handler_interrupts_writing_a_sequence() -> None:
    """The last item starts the timer, after all other items were read."""
    items: list[object] = [0] * (MANY // 8)
    items.append(StartsTimer())
    assert is_interrupted(lambda: refarray.asarray(items))
