"""T: the work that two threads complete relative to one, on an interpreter without a GIL; each
thread has its own arrays."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator

from .environment import Environment
from .measure import OURS, Case, Statement, Target, is_wanted

SECONDS = 0.4  # duration of one measurement
ROUNDS = 15
TARGET = Target(1.6, least=True)
Work = Callable[[], Statement]
#: The first is an empty loop, which shows how well the machine runs two threads.
CASES = {
    "(nothing: the loop itself)": "pass",
    "from_dlpack(x)": "f(x)",
    "x.__dlpack__(max_version=(1, 3))": "x.__dlpack__(max_version=(1, 3))",
    "from_capsule(x.__dlpack__())": "c(x.__dlpack__())",
    "numpy.from_dlpack(x)": "n(x)",
    "from_dlpack(numpy array)": "f(a)",
    "x[10:20]": "x[10:20]",
    "copy(x)": "y(x)",
}


def cases() -> Iterator[Case]:
    for number, (title, code) in enumerate(CASES.items()):
        yield Case(f"T{number}", title, (TARGET,), (), "x", code)


def statement(environment: Environment, code: str) -> Statement:
    """The statement with arrays of its own."""
    own, numpy = environment.refarray, environment.partners["numpy"]
    known = {
        "x": own.arange(1000),
        "a": numpy.arange(1000),
        "f": own.from_dlpack,
        "c": own.from_capsule,
        "n": numpy.from_dlpack,
        "y": own.copy,
    }
    return Statement(code, known)


class Worker:
    """One thread's loop: repeats small chunks until it is told to stop. Each thread creates its own
    objects: objects of another thread may share a cache line with theirs, and are counted by
    slower atomic operations."""

    def __init__(self, make: Work) -> None:
        self.make = make
        self.chunk = 1000
        self.done = 0
        self.cpu = 0.0

    def run(self, begin: threading.Barrier, until: list[float]) -> None:
        timer = self.make().timer(time.perf_counter_ns)
        begin.wait()
        done = 0
        begun = time.thread_time()
        while done == 0 or time.perf_counter() < until[0]:
            timer.timeit(self.chunk)
            done += self.chunk
        self.done = done
        self.cpu = time.thread_time() - begun


def rates(workers: list[Worker]) -> tuple[float, float]:
    """Returns executions of all threads per second of wall time and per second of CPU time. Other
    load on the machine reduces the first, contention reduces both."""
    until = [0.0]
    begin = threading.Barrier(len(workers) + 1, action=lambda: start(until))
    threads = [threading.Thread(target=worker.run, args=(begin, until)) for worker in workers]
    for thread in threads:
        thread.start()
    begin.wait()
    for thread in threads:
        thread.join()
    done = sum(worker.done for worker in workers)
    return done / SECONDS, done / sum(worker.cpu for worker in workers)


def start(until: list[float]) -> None:
    until[0] = time.perf_counter() + SECONDS


def measured(environment: Environment, wanted: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Alternates one thread and two, so that other load affects both; yields median ratios, by
    processor time, which other load does not change, and by wall time."""
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        raise SystemExit("this interpreter has a GIL")
    for case in cases():
        if not is_wanted(case.id, wanted):
            continue

        def make(code: str = case.given) -> Statement:
            return statement(environment, code)

        costs, by_wall, by_cpu = [], [], []
        for _ in range(ROUNDS):
            one, one_cpu = rates([Worker(make)])
            two, two_cpu = rates([Worker(make), Worker(make)])
            costs.append(1e9 / one_cpu)
            by_wall.append(two / one)
            by_cpu.append(2 * two_cpu / one_cpu)
        medians = map(statistics.median, (by_cpu, by_wall, costs))
        yield case.id, dict(zip((OURS, "by wall time", "one thread, ns"), medians, strict=True))
