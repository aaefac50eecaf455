"""G: how the time of a call grows with the elements, the axes, the length of rows and the threads.

Nanoseconds per element, of processor time; with threads of wall time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .environment import Environment
from .measure import OURS, Case, Statement, interleaved, is_wanted

SECONDS = 0.15  # for each case
ROUNDS = 3  # at least
PLANE = 1 << 16  # elements of the arrays with many axes
TABLE = 1 << 20  # elements of the arrays of rows
SHARED = 1 << 24  # elements of an array that threads share
#: What of the calls below differs in a library.
NUMPY = {"l.amax": "l.max"}
TORCH = {"l.sort(x)": "l.sort(x)[0]", "axis": "dim"}


@dataclass(frozen=True)
class Curve:
    """`code` with each of the counts: of elements, axes, elements in a row, threads."""

    name: str
    question: str
    code: str
    counts: tuple[int, ...]
    dtype: str = "float32"


def decades(last: int) -> tuple[int, ...]:
    return tuple(10**n for n in range(last + 1))


ROWS = tuple(1 << n for n in (0, 1, 2, 3, 4, 6, 8, 10, 14, 20))
THREADS = tuple(sorted({1, 2, os.cpu_count() or 1}))
UNITS = {"size": "elements", "axes": "axes", "row": "elements in a row", "threads": "threads"}
#: What is on the axis of each plot.
QUESTIONS = {
    "size": "elements",
    "axes": f"axes of {PLANE:,} elements, one operand reversed",
    "row": f"elements in a row, of {TABLE:,}",
    "threads": f"threads that share {SHARED:,} elements",
}
CURVES = (
    Curve("add", "size", "x + y", decades(8)),
    Curve("exp", "size", "l.exp(x)", decades(8)),
    Curve("sum", "size", "l.sum(x)", decades(8)),
    Curve("sort", "size", "l.sort(x)", decades(7)),
    Curve("add", "axes", "x + y", (1, 2, 3, 4, 6, 8, 12, 16)),
    Curve("max", "row", "l.amax(x, axis=-1)", ROWS),
    Curve("sort", "row", "l.sort(x)", ROWS),
    Curve("fft", "row", "l.fft.fft(x)", ROWS, "complex64"),
    Curve("add", "threads", "x + y", THREADS),
    Curve("exp", "threads", "l.exp(x)", THREADS),
)


def cases() -> Iterator[Case]:
    for curve in CURVES:
        for count in curve.counts:
            code = curve.code.replace("l.", "").replace("amax", "max")
            title = f"{code}, {count:,} {UNITS[curve.question]}"
            yield Case(
                f"G{curve.question} {curve.name} {count}", title, label="ns", given=(curve, count)
            )


def elements(curve: Curve, count: int) -> int:
    return {"size": count, "axes": PLANE, "row": TABLE, "threads": SHARED}[curve.question]


def operands(numpy: Any, curve: Curve, count: int) -> dict[str, Any]:
    random = numpy.random.default_rng(7)
    x, y = (random.uniform(1, 50, elements(curve, count)).astype(curve.dtype) for _ in "xy")
    if curve.question == "row":
        x = x.reshape(-1, count)
    if curve.question == "axes":
        x, y = (each.reshape((2,) * (count - 1) + (-1,)) for each in (x, y))
        y = y.T.copy().T
    return {"x": x, "y": y}


def translated(code: str, differences: dict[str, str]) -> str:
    for ours, theirs in differences.items():
        code = code.replace(ours, theirs)
    return code


def statements(environment: Environment, curve: Curve, count: int) -> dict[str, Statement]:
    libraries = {OURS: environment.refarray, **environment.partners}
    arrays = operands(libraries["numpy"], curve, count)
    if curve.question == "threads":
        environment.refarray.set_copy_threads(count)
        if "torch" in libraries:
            libraries["torch"].set_num_threads(count)
        if count > 1:
            del libraries["numpy"]  # it has no threads
    found = {}
    for name, library in libraries.items():
        code = translated(curve.code, TORCH if name == "torch" else NUMPY)
        views = {
            key: array if name == "numpy" else library.from_dlpack(array)
            for key, array in arrays.items()
        }
        found[name] = Statement(code, {"l": library, **views})
    return found


def measured(environment: Environment, wanted: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
    if not environment.has("numpy"):
        raise SystemExit("NumPy is needed: it makes the operands")
    chosen = [case for case in cases() if is_wanted(case.id, wanted)]
    for number, case in enumerate(chosen):
        if sys.stderr.isatty():
            print(f"{number:>4} of {len(chosen)}", end="\r", file=sys.stderr, flush=True)
        curve, count = case.given
        is_shared = curve.question == "threads"
        clock: Callable[[], int] = time.perf_counter_ns if is_shared else time.thread_time_ns
        timers = {
            name: each.timer(clock) for name, each in statements(environment, curve, count).items()
        }
        times = interleaved(timers, SECONDS, ROUNDS)
        size = elements(curve, count)
        yield case.id, {name: min(found) / size for name, found in times.items()}
