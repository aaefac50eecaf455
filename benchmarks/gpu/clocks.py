"""Timers of work on a stream, for benchmarks.measure.interleaved()."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

#: Minimum duration of one measurement: events have a resolution of half a microsecond.
LEAST_NS = 2_000_000
Enqueue = Callable[[int], object]  # takes the repetition number, which selects the buffer


class DeviceTimer:
    """Measures between two events of a stream."""

    def __init__(self, driver: Any, stream: int, enqueue: Enqueue) -> None:
        self.driver, self.stream, self.enqueue = driver, stream, enqueue
        self.begin, self.end = driver.event(0), driver.event(0)

    def timeit(self, number: int) -> float:
        self.driver.record(self.begin, self.stream)
        for each in range(number):
            self.enqueue(each)
        self.driver.record(self.end, self.stream)
        self.driver.synchronize(self.stream)
        out = ctypes.c_float()
        self.driver("cuEventElapsedTime", out, self.begin, self.end)
        return 1e6 * out.value


class HostTimer:
    """Measures on the host until the stream has finished."""

    def __init__(self, driver: Any, stream: int, enqueue: Enqueue) -> None:
        self.driver, self.stream, self.enqueue = driver, stream, enqueue

    def timeit(self, number: int) -> float:
        self.driver.synchronize(self.stream)
        start = time.perf_counter_ns()
        for each in range(number):
            self.enqueue(each)
        self.driver.synchronize(self.stream)
        return time.perf_counter_ns() - start
