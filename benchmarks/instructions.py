"""Instructions per call of the exchange cases, counted by valgrind's callgrind.

A process under callgrind runs each case's statement N and 2N times and has both counted; the count
per call is (I(2N) - I(N)) / N, the interpreter's loop included, as in U. A process takes the median
of ATTEMPTS counts. One count can be too high or too low: the first runs warm caches, and where an
object lies first or last in a pool of the interpreter's allocator, each call of one run empties or
fills the pool. Whether names collide in the interpreter's cache of methods depends on addresses,
which all attempts of a process share: of PROCESSES with other addresses the lowest median is taken.

Only instructions of refarray's extension and of the interpreter count: NumPy, PyTorch and the C
library select functions for the processor when they are loaded. The count does not depend on the
machine's load or speed, but on the versions of everything that runs: see `facts`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from . import exchange
from .builds import Build
from .environment import Environment, load
from .measure import OURS, UNIT, Absent, Statement, is_wanted

HERE = Path(__file__).resolve().parent
COUNTED = ("A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A16")
CALLS = 1000
WARM_UP = 200  # more than the interpreter needs to specialise a loop
ATTEMPTS = 5
PROCESSES = 3
DUMP = re.compile(r"^desc: Trigger: Client Request: (.*) (\d+) (\d+)$", re.MULTILINE)
OBJECT = re.compile(r"^(c?)ob=\((\d+)\)(?: (.*))?$")
COST = re.compile(r"^(?:[+-]?\d+|\*) (\d+)$")
COUNTED_OBJECTS = re.compile(r"/refarray/_native[^/]*\.so$|/libpython3[^/]*$|/python3[.\d]*$")


def statements(environment: Environment) -> dict[str, Statement]:
    """The unit and our statement of every case of COUNTED that can run here, by id."""
    setup = exchange.Setup(environment)
    found = {UNIT: exchange.unit_statement(environment)}
    for case in exchange.cases():
        if is_wanted(case.id, COUNTED):
            with contextlib.suppress(Absent):
                found[case.id] = setup.statements(case)[OURS]
    return found


def facts(environment: Environment) -> dict[str, str]:
    """Everything that the counts depend on, except our sources."""
    options = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    return {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "python compiler": platform.python_compiler(),
        "python build": " ".join(
            name
            for name in ("--enable-optimizations", "--with-lto", "--enable-shared")
            if name in options
        )
        or "plain",
        "refarray compiler": environment.native._build_info()["compiler"],
        **{name: environment.versions[name] for name in environment.partners},
    }


def count_here(library: str, partners: tuple[str, ...]) -> None:
    """In the process under callgrind: run every loop, print the facts as JSON."""
    requests = ctypes.CDLL(library)
    environment = load(partners)
    timers = {id_: statement.timer() for id_, statement in statements(environment).items()}
    gc.collect()
    gc.disable()  # a collection in one of the two loops would distort the slope
    requests.refarray_start()
    padding = []  # moves the boundaries of the allocator's pools from attempt to attempt
    for attempt in range(ATTEMPTS):
        for id_, timer in timers.items():
            timer.timer = lambda: 0
            timer.timeit(WARM_UP)
            for count in (CALLS, 2 * CALLS):
                label = f"{id_} {count} {attempt}".encode()
                marks = iter((b"before", label))

                def mark(marks=marks) -> int:
                    requests.refarray_dump(next(marks))
                    return 0

                timer.timer = mark
                timer.timeit(count)
        padding += [bytes(size) for size in range(512)]
    print(json.dumps(facts(environment)))


def count(build: Build, partners: tuple[str, ...]) -> tuple[dict[str, str], dict[str, float]]:
    """Returns facts and instructions per call and case, of `build` under callgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        sys.exit("valgrind is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = compile_requests(folder)
        found = [
            count_in_process(build, partners, valgrind, library, folder, shift)
            for shift in range(PROCESSES)
        ]
    version = subprocess.run([valgrind, "--version"], capture_output=True, text=True, check=True)
    return {"valgrind": version.stdout.strip(), **found[0][0]}, {
        id_: min(medians[id_] for _, medians in found) for id_ in found[0][1]
    }


def count_in_process(
    build: Build, partners: tuple[str, ...], valgrind: str, library: Path, place: Path, shift: int
) -> tuple[dict[str, str], dict[str, float]]:
    """The facts, and the median of each case's counts. `shift` moves the addresses of objects."""
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        command = [valgrind, "-q", "--tool=callgrind", "--instr-atstart=no"]
        command += [f"--callgrind-out-file={folder / 'counts'}", str(build.python)]
        command += ["-m", "benchmarks.instructions", str(library), ",".join(partners), str(shift)]
        variables = build.environment()
        done = subprocess.run(
            command, env=variables, cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            sys.exit(f"{build.abi} under callgrind failed:\n{done.stderr[-4000:]}")
        known = json.loads(done.stdout.splitlines()[-1])
        totals = read_totals(folder)
    return known, {
        id_: statistics.median(
            (totals[id_, 2 * CALLS, attempt] - totals[id_, CALLS, attempt]) / CALLS
            for attempt in range(ATTEMPTS)
        )
        for id_, _, _ in totals
    }


def compile_requests(folder: Path) -> Path:
    compiler = os.environ.get("CXX", "g++")
    library = folder / "callgrind.so"
    command = [compiler, "-O2", "-shared", "-fPIC", str(HERE / "callgrind.cpp"), "-o", str(library)]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"benchmarks/callgrind.cpp does not compile: {error}")
    return library


def read_totals(folder: Path) -> dict[tuple[str, int, int], int]:
    """Reads the instructions by case, calls and attempt from callgrind's output files."""
    totals = {}
    for path in folder.glob("counts.*"):
        text = path.read_text(encoding="utf-8", errors="replace")
        label = DUMP.search(text)
        if label:
            totals[label[1], int(label[2]), int(label[3])] = sum_ours(text)
    if not totals:
        sys.exit("callgrind wrote no counts")
    return totals


def sum_ours(text: str) -> int:
    """Sums the instructions of COUNTED_OBJECTS in one output file. The line after `calls=` is the
    cost of the callee, which has lines of its own."""
    names: dict[str, str] = {}
    counted, inclusive, total = False, False, 0
    for line in text.splitlines():
        if found := OBJECT.match(line):  # a name stands only where its number is first used
            callee, number, name = found.groups()
            name = names.setdefault(number, name or "")
            counted = counted if callee else bool(COUNTED_OBJECTS.search(name))
        elif line.startswith("calls="):
            inclusive = True
        elif cost := COST.match(line):
            total += int(cost[1]) if counted and not inclusive else 0
            inclusive = False
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=count_here.__doc__)
    parser.add_argument("library")
    parser.add_argument("partners")
    parser.add_argument("shift", type=int)
    options = parser.parse_args()
    # Before the partners are imported: it moves what they allocate.
    padding = [bytes(size) for _ in range(7 * options.shift) for size in range(512)]
    count_here(options.library, tuple(options.partners.split(",")))
    del padding


if __name__ == "__main__":
    sys.exit(main())
