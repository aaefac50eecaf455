"""Calls public functions with arrays of very many elements in little memory, and with arrays of
very many indices but no elements. Each call must return, raise, or run the handlers of signals
while it works: a timer goes off at short intervals, and its handler raises. The process ends when a
call still works `LIMIT` seconds later, or when all have taken `PROCESSOR` seconds.

`huge_arrays.py DTYPE...`. The name of each call is printed before it is made."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import operator
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import refarray as ra
from refarray import fft, linalg

# Methods import them. An import that is interrupted and begins again warns.
with contextlib.suppress(ImportError):
    import decimal  # noqa: F401

    import numpy  # noqa: F401

Call = tuple[str, Callable[[], Any]]

INTERVAL = 0.005  # seconds of real time
LIMIT = 20.0
PROCESSOR = 120
MEMORY = 3 << 30  # bytes of addresses: larger results fail at once
HUGE = 2**40
EMPTY: tuple[tuple[int, ...], ...] = ((2**31, 0), (0, HUGE), (HUGE, 0, 0), (2**20, 0, 2**20))
REPEATED: tuple[tuple[int, ...], ...] = ((HUGE,), (2**20, 2**20), (HUGE, 2, 2), (1, HUGE))


class Interrupted(BaseException):
    """Raised by the handler of the timer."""


def arrays(dtype: str) -> Iterator[Any]:
    for shape in EMPTY:
        yield ra.zeros(shape, dtype=dtype)
    for shape in REPEATED:
        yield ra.broadcast_to(ra.ones((), dtype=dtype), shape)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (ra, linalg, fft):
        for name in sorted(vars(module) | dict.fromkeys(dir(module))):
            value = getattr(module, name)
            if not (name.startswith("_") or isinstance(value, type)) and callable(value):
                yield name, value


def ways(function: Callable[..., Any], x: Any) -> Iterator[Callable[[], Any]]:
    """Calls that fit some functions; the others raise TypeError."""
    index = ra.zeros(1, dtype="int64")
    for arguments in ((x,), (x, x), (x, x, x), ([x, x],), (x, 0), (x, 2), (ra.ones(3), x)):
        yield partial(function, *arguments)
    for axis in range(x.ndim):
        for arguments in ((x,), (x, 1), (x, x), (x, index), ([x, x],)):
            yield partial(function, *arguments, axis=axis)


def calls_of(x: Any) -> Iterator[Call]:
    for name, function in functions():
        if name not in ("doctor", "ledger", "namespace"):
            for call in ways(function, x):
                yield name, call
    for name in dir(x):
        if name not in ("__init_subclass__", "__class__"):
            for arguments in ((), (x,), (1,), (..., x)):
                yield name, partial(call_method, x, name, arguments)
    for index in ((0,), slice(None, None, 2), (..., 0), [0], ra.zeros(2, dtype="int64")):
        yield "x[i]", partial(operator.getitem, x, index)
    for value in (0, 1, 5, 2.5, None, "a", ra.ones((), dtype=x.dtype), x):
        yield f"{value!r:.9} in x", partial(operator.contains, x, value)
    for axis in range(x.ndim):
        yield "diff", partial(ra.diff, x, n=2**31, axis=axis)
        never = ra.broadcast_to(ra.zeros((), dtype="int8"), (x.shape[axis],))
        yield "repeat", partial(ra.repeat, x, never, axis=axis)
    yield "searchsorted of strided data", partial(ra.searchsorted, x, ra.ones(3, dtype=x.dtype))
    yield "list", partial(list, x)
    yield "tensordot", partial(ra.tensordot, x, x, axes=((0,), (0,)))
    yield "matrix_power", partial(linalg.matrix_power, x, 3)


def call_method(x: Any, name: str, arguments: tuple[Any, ...]) -> None:
    getattr(x, name)(*arguments)


def run(call: Callable[[], Any]) -> None:
    is_over = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_over
        if not is_over:  # the last signal may arrive after the call
            is_over = True
            raise Interrupted

    signal.signal(signal.SIGALRM, interrupt)
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    try:
        signal.setitimer(signal.ITIMER_REAL, INTERVAL, INTERVAL)
        with contextlib.suppress(Exception):
            call()
        is_over = True
    except Interrupted:
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    gc.disable()  # a handler that ran in a callback of the collector would raise there
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
    for dtype in sys.argv[1:]:
        for x in arrays(dtype):
            for name, call in calls_of(x):
                print(f"{name} of {x.dtype.name} {x.shape}", flush=True)
                run(call)
