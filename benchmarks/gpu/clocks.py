"""Interleaved timing of work on a stream: in each round every contender runs once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: Minimum duration of one measurement: events have a resolution of half a microsecond.
LEAST_MS = 2.0
Enqueue = Callable[[int], object]  # takes the repetition number, which selects the buffer


@dataclass
class Timed:
    """Nanoseconds of each contender; index i of each belongs to the same round."""

    rounds: dict[str, list[float]] = field(default_factory=dict)

    def summary(self, name: str) -> dict[str, float]:
        found = sorted(self.rounds[name])
        return {
            "median": round(statistics.median(found), 1),
            "min": round(found[0], 1),
            "max": round(found[-1], 1),
            "rounds": len(found),
        }

    def ratio(self, name: str, reference: str) -> dict[str, float]:
        """The reference's time over the contender's, paired by round: 1 is equally fast."""
        pairs = zip(self.rounds[reference], self.rounds[name], strict=True)
        found = sorted(theirs / own for theirs, own in pairs)
        return {
            "median": round(statistics.median(found), 4),
            "low": round(found[len(found) // 10], 4),
            "high": round(found[len(found) * 9 // 10], 4),
        }


class DeviceClock:
    """Measures milliseconds between two events of a stream."""

    def __init__(self, driver: Any, stream: int) -> None:
        self.driver, self.stream = driver, stream
        self.begin, self.end = driver.event(0), driver.event(0)

    def milliseconds(self, enqueue: Enqueue, count: int) -> float:
        import ctypes

        self.driver.record(self.begin, self.stream)
        for number in range(count):
            enqueue(number)
        self.driver.record(self.end, self.stream)
        self.driver.synchronize(self.stream)
        out = ctypes.c_float()
        self.driver("cuEventElapsedTime", out, self.begin, self.end)
        return out.value


class HostClock:
    """Measures host milliseconds until the stream has finished."""

    def __init__(self, driver: Any, stream: int) -> None:
        self.driver, self.stream = driver, stream

    def milliseconds(self, enqueue: Enqueue, count: int) -> float:
        self.driver.synchronize(self.stream)
        start = time.perf_counter_ns()
        for number in range(count):
            enqueue(number)
        self.driver.synchronize(self.stream)
        return (time.perf_counter_ns() - start) / 1e6


def interleaved(
    clock: DeviceClock | HostClock, contenders: dict[str, Enqueue], seconds: float, least: int = 7
) -> Timed:
    """Runs rounds until the time is up, rotating the order of the contenders."""
    counts = {}
    for name, enqueue in contenders.items():
        clock.milliseconds(enqueue, 1)  # warm-up
        once = max(clock.milliseconds(enqueue, 2) / 2, 1e-4)
        counts[name] = max(1, round(LEAST_MS / once))
    timed = Timed({name: [] for name in contenders})
    names = list(contenders)
    deadline = time.monotonic() + seconds
    number = 0
    while number < least or (time.monotonic() < deadline and number < 200):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            spent = clock.milliseconds(contenders[name], counts[name])
            timed.rounds[name].append(1e6 * spent / counts[name])
        number += 1
    return timed
