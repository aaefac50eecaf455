"""Interleaved timing of short statements: calibrated chunks, pooled samples, ratio intervals."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import repeat

CHUNK_NS = 35_000
BLOCK = 25
RESAMPLES = 1000

_TEMPLATE = """
def chunk({names}, _repeat, _clock):
    _start = _clock()
    for _ in _repeat:
        {code}
    return _clock() - _start
"""


@dataclass(frozen=True)
class Statement:
    """One line of Python and the objects its names stand for; they become fast locals."""

    code: str
    names: Mapping[str, object]


class Loop:
    """A compiled loop over one statement, between two readings of a clock."""

    def __init__(self, statement: Statement) -> None:
        scope: dict[str, Callable[..., int]] = {}
        source = _TEMPLATE.format(names=", ".join(statement.names), code=statement.code)
        exec(compile(source, f"<{statement.code}>", "exec"), scope)
        self._function = scope["chunk"]
        self._values = tuple(statement.names.values())

    def run(self, count: int, clock: Callable[[], int]) -> int:
        """What the clock gained over `count` executions, loop included."""
        return self._function(*self._values, repeat(None, count), clock)


class Chunk:
    """A loop with a count that makes it last about CHUNK_NS."""

    def __init__(self, statement: Statement) -> None:
        self._loop = Loop(statement)
        self.count = 1
        self._calibrate()

    def run(self) -> float:
        """Nanoseconds per execution, loop included, over one chunk."""
        return self._loop.run(self.count, time.perf_counter_ns) / self.count

    def _calibrate(self) -> None:
        while self.run() * self.count < CHUNK_NS / 4:
            self.count *= 2
        best = min(self.run() for _ in range(15))
        self.count = max(1, round(CHUNK_NS / best))


@dataclass
class Samples:
    """Nanoseconds per execution of each contender; index i of each belongs to the same round."""

    rounds: dict[str, list[float]] = field(default_factory=dict)

    def extend(self, chunks: Mapping[str, Chunk], count: int) -> None:
        """Add `count` rounds; in each round every contender runs one chunk, in rotating order."""
        names = list(chunks)
        for name in names:
            self.rounds.setdefault(name, [])
        for index in range(count):
            shift = index % len(names)
            for name in names[shift:] + names[:shift]:
                self.rounds[name].append(chunks[name].run())

    def summary(self, name: str) -> dict[str, float]:
        ordered = sorted(self.rounds[name])
        return {
            "median": round(statistics.median(ordered), 2),
            "min": round(ordered[0], 2),
            "p10": round(ordered[len(ordered) // 10], 2),
            "p90": round(ordered[len(ordered) * 9 // 10], 2),
        }


@dataclass(frozen=True)
class Interval:
    """A figure with the 95 % bootstrap interval of its median."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        return {
            "value": round(self.value, 4),
            "low": round(self.low, 4),
            "high": round(self.high, 4),
        }


def interval(per_round: list[float]) -> Interval:
    """Median over rounds; whole blocks of neighbouring rounds are resampled, because the state of
    a shared machine lasts longer than one round.
    """
    blocks = [
        statistics.median(per_round[start : start + BLOCK])
        for start in range(0, len(per_round), BLOCK)
    ]
    generator = random.Random(0)
    medians = sorted(
        statistics.median(generator.choices(blocks, k=len(blocks))) for _ in range(RESAMPLES)
    )
    centre = statistics.median(per_round)
    low, high = medians[RESAMPLES * 25 // 1000], medians[RESAMPLES * 975 // 1000]
    return Interval(centre, min(low, centre), max(high, centre))


def ratio(samples: Samples, name: str, reference: str) -> Interval:
    """Contender over reference, paired by round."""
    pairs = zip(samples.rounds[name], samples.rounds[reference], strict=True)
    return interval([own / other for own, other in pairs])


def excess(samples: Samples, name: str, reference: str, unit: str) -> Interval:
    """(Contender - reference) / unit, paired by round."""
    rows = zip(*(samples.rounds[key] for key in (name, reference, unit)), strict=True)
    return interval([(own - other) / scale for own, other, scale in rows])
