"""Interleaved rounds over the same memory; minima, because other work can only add to a time.

Times are processor time of the one thread that copies: while the machine gives it to others, that
does not count. (What others do to the caches and to the memory's bandwidth does.)
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from math import exp, log
from typing import Any

from benchmarks.timing import Loop, Statement

from .cases import Case
from .contenders import MEMCPY, OURS, Memory

CHUNK_NS = 50_000
SLOW_NS = 100_000_000  # slower contenders are timed only twice
LINE = 64
Row = dict[str, Any]


class Timer:
    """One statement with a count that makes a chunk of it last about CHUNK_NS."""

    def __init__(self, statement: Statement) -> None:
        self._loop = Loop(statement)
        self.count = 1
        self.times = [self._run()]
        self.count = max(1, round(CHUNK_NS / max(min(self._run(), self.times[0]), 1)))

    def _run(self) -> float:
        return self._loop.run(self.count, time.thread_time_ns) / self.count

    def run(self) -> None:
        if min(self.times) < SLOW_NS:
            self.times.append(self._run())

    @property
    def least(self) -> float:
        return min(self.times)


def rounds(found: Mapping[str, Statement], seconds: float, least: int) -> dict[str, Timer]:
    """Runs the contenders in turn for a time and a minimum number of rounds."""
    timers = {name: Timer(statement) for name, statement in found.items()}
    names = list(timers)
    start = time.perf_counter()
    number = 0
    while number < least or time.perf_counter() - start < seconds:
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            timers[name].run()
        number += 1
    return timers


def measured(case: Case, timers: Mapping[str, Timer]) -> Row:
    """The record of one case: nanoseconds, and each contender in units of memcpy."""
    unit = timers[MEMCPY].least
    others = {name: timer for name, timer in timers.items() if name != MEMCPY}
    return {
        "id": case.id,
        "title": case.title,
        "kind": "copy",
        "dtype": case.dtype,
        "nbytes": 0,
        "target": case.target,
        "rounds": len(timers[OURS].times),
        "ns": {
            name: {
                "min": round(timer.least, 1),
                "median": round(statistics.median(timer.times), 1),
            }
            for name, timer in timers.items()
        },
        "ratios": {name: round(timer.least / unit, 3) for name, timer in others.items()},
    }


def is_missed(row: Row) -> bool:
    return row["target"] is not None and row["ratios"][OURS] > row["target"]


def lines_per_line(memory: Memory, case: Case) -> dict[str, float]:
    """Cache lines that each side touches per cache line of elements copied."""
    numpy = memory.numpy
    dst, src = memory.arrays(case)
    library = type("Library", (), {"permute": numpy.transpose, "broadcast": numpy.broadcast_to})
    found = {}
    for name, view in zip(("dst", "src"), case.views(dst, src, library), strict=True):
        offsets = numpy.zeros((), dtype=numpy.int64)
        for extent, stride in zip(view.shape, view.strides, strict=True):
            offsets = numpy.add.outer(offsets, numpy.arange(extent) * stride)
        lines = numpy.unique((offsets + view.ctypes.data % LINE) // LINE).size
        found[name] = round(lines * LINE / (case.moved * view.itemsize), 2)
    return found


def explanation(memory: Memory, case: Case, ours: Statement) -> Row:
    """Where the time of a missed row goes: the time per instruction set (equal times mean memory
    bound), the cache lines touched per line copied, and the planning time."""
    native = memory.environment.native
    before = native._build_info()["isa"]
    by_isa = {}
    for isa in native._build_info()["isas"]:
        native._use_isa(isa)
        by_isa[isa] = round(rounds({OURS: ours}, 0.15, 5)[OURS].least, 1)
    native._use_isa(before)
    out: Row = {"ns_by_isa": by_isa, "plan_ns": planning(native, ours)}
    if case.moved <= 1 << 20:
        out["lines"] = lines_per_line(memory, case)
    return out


def planning(native: Any, ours: Statement) -> float:
    """Nanoseconds to plan the copy of our statement."""
    count = 1000
    plan = Statement("f(d, s, n)", {"f": native._plan_copies, "n": count, **arrays_of(ours)})
    return round(rounds({OURS: plan}, 0.05, 5)[OURS].least / count, 1)


def arrays_of(statement: Statement) -> dict[str, object]:
    return {name: statement.names[name] for name in ("d", "s")}


def mean(values: Iterator[float]) -> float:
    """Geometric mean."""
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))
