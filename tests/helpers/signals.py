"""Long calls that a signal handler interrupts by an exception, as Ctrl-C does."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable
from functools import partial
from types import FrameType

INTERVAL = 0.001  # seconds between a handler's end and the next signal
RAISING = 3  # the number of the signal whose handler raises
SIZES = (1, 2, 4, 8)


class _Interrupted(Exception):
    """Raised by the handler."""


def start_timer() -> None:
    signal.setitimer(signal.ITIMER_REAL, INTERVAL)


def is_interrupted(call: Callable[[], object], start: Callable[[], None] = start_timer) -> bool:
    """Whether the exception of a signal handler ends the call. The handler arms each next signal
    and raises at the third: a call that runs no handlers until its end sees one."""
    ticks = 0
    is_over = False

    def tick(number: int, frame: FrameType | None) -> None:
        nonlocal ticks
        if is_over:  # the last signal arrived after the call
            return
        ticks += 1
        if ticks == RAISING:
            raise _Interrupted
        start_timer()

    gc.disable()  # a handler that ran in a callback of the collector would raise there
    before = signal.signal(signal.SIGALRM, tick)
    kept = []  # freeing a result may take so long that further signals come
    try:
        start()
        kept.append(call())
    except _Interrupted:
        return True
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    return False


def is_interrupted_when_long(call: Callable[[int], object]) -> bool:
    """The same for a call that takes a multiple of its work. Handlers run every 20 ms or so, and on
    a fast machine a call may end before the third signal: then it does more."""
    return any(is_interrupted(partial(call, size)) for size in SIZES)


def lateness(call: Callable[[], object], after: float) -> float:
    """How long the exception of a signal handler takes to end the call, as Ctrl-C would: seconds of
    processor time beyond `after`, or 0 for a call that ends by itself."""
    is_over = False

    def stop(number: int, frame: FrameType | None) -> None:
        if not is_over:
            raise _Interrupted

    before = signal.signal(signal.SIGPROF, stop)
    begin = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, after)
    try:
        call()
        is_over = True
        return 0.0
    except _Interrupted:
        return time.process_time() - begin - after
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
