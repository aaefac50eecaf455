"""Throughput of two threads relative to one on an interpreter without a GIL, each thread with its
own arrays. `make bench-threads` prints the table, and --save records it."""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from .environment import load, load_average, machine
from .timing import Loop, Statement

RESULTS = Path(__file__).resolve().parent / "results"
SECONDS = 0.4  # duration of one measurement
ROUNDS = 15
TARGET = 1.6
Work = Callable[[], Statement]


def statements(names: Mapping[str, object]) -> dict[str, Work]:
    """Returns factories of statements; each call creates its own objects. The first statement is an
    empty loop, which shows how well the machine runs two threads."""
    ra, np = names["refarray"], names["numpy"]

    def over(code: str, **extra: object) -> Work:
        return lambda: Statement(code, {"x": ra.arange(1000), **extra})

    return {
        "(nothing: the loop itself)": over("pass"),
        "from_dlpack(x)": over("f(x)", f=ra.from_dlpack),
        "x.__dlpack__(max_version=(1, 3))": over("x.__dlpack__(max_version=(1, 3))"),
        "from_capsule(x.__dlpack__())": over("f(x.__dlpack__())", f=ra.from_capsule),
        "numpy.from_dlpack(x)": over("f(x)", f=np.from_dlpack),
        "from_dlpack(numpy array)": lambda: Statement(
            "f(a)", {"f": ra.from_dlpack, "a": np.arange(1000)}
        ),
        "x[10:20]": over("x[10:20]"),
        "copy(x)": over("f(x)", f=ra.copy),
    }


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
        loop = Loop(self.make())
        begin.wait()
        done = 0
        begun = time.thread_time()
        while done == 0 or time.perf_counter() < until[0]:
            loop.run(self.chunk, time.perf_counter_ns)
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


def measure(make: Work, rounds: int) -> dict[str, object]:
    """Alternates one thread and two, so that other load affects both; returns the median ratios."""
    costs, ratios, shares = [], [], []
    for _ in range(rounds):
        one, one_cpu = rates([Worker(make)])
        two, two_cpu = rates([Worker(make), Worker(make)])
        costs.append(1e9 / one_cpu)
        ratios.append(two / one)
        shares.append(2 * two_cpu / one_cpu)
    ratios.sort()
    return {
        "ns": round(statistics.median(costs), 1),
        "factor": round(statistics.median(ratios), 2),
        "factor_cpu": round(statistics.median(shares), 2),
        "low": round(ratios[0], 2),
        "high": round(ratios[-1], 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.threads", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--save", action="store_true", help="write it to benchmarks/results")
    options = parser.parse_args()
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        parser.error("this interpreter has a GIL")
    found = load(("numpy",))
    before = load_average()
    print("one thread: CPU time per call; two threads: throughput by wall time and by CPU time")
    rows = []
    made = statements({"refarray": found.refarray, **found.partners})
    for number, (name, make) in enumerate(made.items()):
        rows.append({"id": f"T{number}", "case": name, **measure(make, options.rounds)})
        print("{id:4}{case:34}{ns:8} ns  x {factor:.2f}, x {factor_cpu:.2f}".format(**rows[-1]))
    record = {
        "id": f"threads-{found.refarray.build_info()['abi']}",
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "build": found.refarray.build_info(),
        "versions": found.versions,
        "absent": found.absent,
        "load": [before, load_average()],
        "target": TARGET,
        "rows": rows,
    }
    if options.save:
        path = RESULTS / f"{record['date']}-{record['id']}.json"
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"recorded in {path.name}")
    # Judged by CPU time, which other load on the machine does not change.
    return 0 if all(row["factor_cpu"] >= TARGET for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
