"""Interleaved timing of short statements, the cases that are made of them, and pyperf's records.

pyperf's own runner starts a process for each benchmark and ends it before the next. Here contenders
take turns in one process, so that what else the machine does meets all alike: `timeit` times, and
pyperf keeps the values, writes them and compares files.

Times are processor time of the one thread: while the machine gives it to others, that does not
count. Figures are minima, because other work can only add to a time.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

OURS, UNIT = "refarray", "no-op"
CHUNK_NS = 35_000  # one turn of a contender
SLOW_NS = 100_000_000  # slower contenders are timed only twice


@dataclass(frozen=True)
class Statement:
    """One line of Python and the objects its names stand for; they become fast locals."""

    code: str
    names: Mapping[str, object]

    def timer(self, clock: Callable[[], int] = time.thread_time_ns) -> timeit.Timer:
        setup = "; ".join(f"{name} = given[{name!r}]" for name in self.names)
        return timeit.Timer(self.code, setup or "pass", clock, {"given": self.names})


class Timer(Protocol):
    """timeit.Timer, or what times work on a device."""

    def timeit(self, number: int) -> float:
        """Nanoseconds of so many executions."""


def calibrated(timer: Timer, chunk_ns: float) -> int:
    """The number of executions that last about `chunk_ns`, by the faster of two: the first may load
    code, and other work may come between."""
    count = 1
    while (passed := min(timer.timeit(count), timer.timeit(count))) < chunk_ns / 4:
        count *= 2
    return max(1, round(count * chunk_ns / passed))


def interleaved(
    timers: Mapping[str, Timer], seconds: float, least: int = 7, chunk_ns: float = CHUNK_NS
) -> dict[str, list[float]]:
    """Nanoseconds per execution of each contender, loop included. They take turns, in rotating
    order, for a time and at least `least` rounds."""
    counts = {name: calibrated(timer, chunk_ns) for name, timer in timers.items()}
    times: dict[str, list[float]] = {name: [] for name in timers}
    names = list(timers)
    start = time.perf_counter()
    number = 0
    while number < least or time.perf_counter() - start < seconds:
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            if len(times[name]) < 2 or min(times[name]) < SLOW_NS:
                times[name].append(timers[name].timeit(counts[name]) / counts[name])
        number += 1
    return times


class Absent(Exception):
    """The reason why a case cannot run here."""


@dataclass(frozen=True)
class Target:
    """`what` must be at most `limit`: in the case's unit, or relative to the contender `of`, or
    above it; or at least `limit`."""

    limit: float
    of: str = ""
    above: bool = False
    least: bool = False
    what: str = OURS

    def at(self, figures: Mapping[str, float]) -> float | None:
        """The limit in the case's unit; None if the contender was not measured."""
        if not self.of:
            return self.limit
        if self.of not in figures:
            return None
        return figures[self.of] + self.limit if self.above else figures[self.of] * self.limit

    def met(self, figures: Mapping[str, float]) -> bool | None:
        limit, found = self.at(figures), figures.get(self.what)
        if limit is None or found is None:
            return None
        return found >= limit if self.least else found <= limit

    def describe(self) -> str:
        sign = "≥" if self.least else "≤"
        if self.above:
            return f"{sign} {self.of} + {self.limit:g} U"
        return f"{sign} {self.limit:.4g}{f' x {self.of}' if self.of else ''}"


@dataclass(frozen=True)
class Case:
    """One row. Figures are times relative to the fastest contender of `by`, unless the case is
    measured in another way, or derived from others. `label` is the unit's short name."""

    id: str
    title: str
    targets: tuple[Target, ...] = ()
    by: tuple[str, ...] = (UNIT,)
    label: str = "U"
    given: Any = None
    shown: bool = True  # on the page of the manual

    def figures(self, ns: Mapping[str, float]) -> dict[str, float]:
        unit = min((ns[name] for name in self.by if name in ns), default=None)
        if unit is None:
            raise Absent(f"none of {', '.join(self.by)} ran")
        return {name: value / unit for name, value in ns.items() if name not in (UNIT, "memcpy")}

    def missed(self, figures: Mapping[str, float]) -> bool:
        return any(target.met(figures) is False for target in self.targets)


def is_wanted(id_: str, wanted: Sequence[str]) -> bool:
    """`A1` chooses A1 and its variants, never A12; `A` chooses every A."""
    first = id_.split()[0]
    return not wanted or any(word in (id_, first, first.rstrip("0123456789")) for word in wanted)


def write_values(values: Mapping[tuple[str, str], Sequence[float]], path: Path) -> None:
    """Writes all values, by case and contender, as JSON for `pyperf stats`, `pyperf compare_to`
    and others read it. pyperf's facts about the machine, host name and paths, are left out."""
    import pyperf

    runs = {f"{id_}: {name}": [ns * 1e-9 for ns in found] for (id_, name), found in values.items()}
    suite = pyperf.BenchmarkSuite(
        [
            pyperf.Benchmark([pyperf.Run(found, metadata={"name": name}, collect_metadata=False)])
            for name, found in runs.items()
        ]
    )
    suite.dump(str(path), replace=True)
