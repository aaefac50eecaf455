"""E: import, memory, allocations and wheel size, in fresh processes; minima of several."""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .environment import Environment
from .exchange import MAX_VERSION
from .measure import OURS, Absent, Case, Target, is_wanted

HERE = Path(__file__).parent
OBJECTS = 300_000
CALLS = 2_000
ALIGNED_SLOT = 256
Figures = dict[str, float]

_IMPORT = """
import sys, time
before = len(sys.modules)
start = time.perf_counter_ns()
import {module}
stop = time.perf_counter_ns()
print((stop - start) / 1e6, len(sys.modules) - before)
"""

_RSS = """
def rss():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * {page}
"""

_IMPORT_RSS = _RSS + "before = rss()\nimport {module}\nprint((rss() - before) / 2**20)\n"

_LIVE_RSS = (
    _RSS
    + """
import gc
{setup}
kept = [None] * {objects}
for index in range(1000):
    kept[index] = {expression}
gc.collect()
kept = [None] * {objects}
gc.collect()
before = rss()
for index in range({objects}):
    kept[index] = {expression}
gc.collect()
print((rss() - before) / {objects})
"""
)

_ALLOCATIONS = """
import ctypes
from itertools import repeat
counted = ctypes.CDLL({library!r}).counted_allocations
counted.restype = ctypes.c_uint64
{setup}
def measure(calls):
    start = counted()
    for _ in repeat(None, calls):
        {expression}
    return counted() - start
measure(100)
print((measure({calls}) - measure(0)) / {calls})
"""


CASES = (
    ("E1", "import time", "ms", 1.0),
    ("E1 modules", "modules loaded", "", 3),
    ("E1 ratio", "import / an empty extension", "x", 8.0),
    ("E2", "RSS added by import", "MiB", 1.0),
    ("E3", "small array, all", "B", 400),
    ("E3 own", f"small array - {ALIGNED_SLOT} B data", "B", 144),
    ("E3 view", "view", "B", 128),
    ("E3 import", "imported from np", "B", 240),
    ("E4 A1", "allocations, from_dlpack(own)", "", 1),
    ("E4 A2", "allocations, exchange API", "", 2),
    ("E4 A3", "allocations, protocol", "", 3),
    ("E5", "wheel size", "MB", 1.5),
)
RA, NP, TORCH = "import refarray", "import numpy as np", "import torch"
#: Setup and expression of one live object, for each library.
LIVE = {
    "E3": {
        OURS: (RA, "refarray.empty((4,), dtype='float32')"),
        "numpy": (NP, "np.empty(4, 'f4')"),
        "torch": (TORCH, "torch.empty(4)"),
    },
    "E3 view": {
        OURS: (f"{RA}\nx = refarray.zeros((4,))", "x[:]"),
        "numpy": (f"{NP}\nx = np.zeros(4)", "x[:]"),
        "torch": (f"{TORCH}\nx = torch.zeros(4)", "x[:]"),
    },
    "E3 import": {
        OURS: (f"{RA}\n{NP}\nx = np.zeros(4)", "refarray.from_dlpack(x)"),
        "numpy": (f"{NP}\nx = np.zeros(4)", "np.from_dlpack(x)"),
        "tvm_ffi": (f"import tvm_ffi\n{NP}\nx = np.zeros(4)", "tvm_ffi.from_dlpack(x)"),
        "torch": (f"{TORCH}\n{NP}\nx = np.zeros(4)", "torch.from_dlpack(x)"),
    },
}
ALLOCATING = {
    "E4 A1": "f(x)",
    "E4 A2": "_native._from_exchange_api(x)",
    "E4 A3": f"f(x, max_version={MAX_VERSION})",
}


def cases() -> Iterator[Case]:
    for id_, title, unit, limit in CASES:
        yield Case(id_, title, (Target(limit),), (), unit)


def measured(environment: Environment, wanted: list[str]) -> Iterator[tuple[str, Figures]]:
    """Yields the figures of the wanted rows; those that cannot be measured are named."""
    for ids, measure in (
        (["E1", "E1 modules", "E1 ratio"], _imports),
        (["E2"], _memory),
        (["E3", "E3 own", "E3 view", "E3 import"], _live_objects),
        (list(ALLOCATING), _allocations),
        (["E5"], _wheel),
    ):
        if any(is_wanted(id_, wanted) for id_ in ids):
            try:
                yield from measure(environment)
            except (Absent, RuntimeError) as error:
                print(f"{', '.join(ids)}: {error}")


def fresh(code: str, **variables: str) -> list[float]:
    """Returns the numbers that a new interpreter prints; -P keeps the working tree off its path."""
    result = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "0", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"exit status {result.returncode}: {reason}")
    return [float(word) for word in result.stdout.split()]


def empty_extension() -> str | None:
    """Returns a nearly empty stdlib extension module that is a shared library."""
    for name in ("_opcode", "_contextvars", "_bisect", "_heapq"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".so"):
            return name
    return None


def _imports(environment: Environment) -> Iterator[tuple[str, Figures]]:
    times, modules = {}, {}
    empty = empty_extension()
    names = {OURS: 20, **dict.fromkeys(environment.partners, 3), **({empty: 20} if empty else {})}
    for name, count in names.items():
        runs = [fresh(_IMPORT.format(module=name)) for _ in range(count)]
        times[name], modules[name] = min(elapsed for elapsed, _ in runs), runs[0][1]
    floor = times.pop(empty, 0.0) if empty else 0.0
    modules.pop(empty, None)
    yield "E1", times
    yield "E1 modules", modules
    if floor:
        yield "E1 ratio", {OURS: times[OURS] / floor}


def _memory(environment: Environment) -> Iterator[tuple[str, Figures]]:
    page = os.sysconf("SC_PAGE_SIZE")
    memory = {}
    for name in (OURS, *environment.partners):
        code = _IMPORT_RSS.format(module=name, page=page)
        memory[name] = statistics.median(fresh(code)[0] for _ in range(5))
    yield "E2", memory


def _live_objects(environment: Environment) -> Iterator[tuple[str, Figures]]:
    page = os.sysconf("SC_PAGE_SIZE")
    for id_, by_library in LIVE.items():
        found = {}
        for name, (setup, expression) in by_library.items():
            needed = [each for each in ("numpy", "torch", "tvm_ffi") if each in setup]
            if environment.has(*needed):
                found[name] = fresh(
                    _LIVE_RSS.format(setup=setup, expression=expression, objects=OBJECTS, page=page)
                )[0]
        if OURS in found:
            yield id_, found
        if id_ == "E3":
            yield "E3 own", {OURS: found[OURS] - ALIGNED_SLOT}


def _allocations(environment: Environment) -> Iterator[tuple[str, Figures]]:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        raise Absent("no C++ compiler for the counter; set CXX")
    ours = f"{RA}\nfrom refarray import _native\nx = refarray.zeros((16,), dtype='float32')"
    numpy = f"{NP}\nx = np.zeros(16, 'f4')\nf = np.from_dlpack"
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder) / "count_allocations.so")
        source = str(HERE / "count_allocations.cpp")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        theirs = {"numpy": _count(library, numpy, "f(x)")} if environment.has("numpy") else {}
        for id_, expression in ALLOCATING.items():
            own = _count(library, f"{ours}\nf = refarray.from_dlpack", expression)
            yield id_, {OURS: own, **theirs}


def _count(library: str, setup: str, expression: str) -> float:
    code = _ALLOCATIONS.format(library=library, setup=setup, expression=expression, calls=CALLS)
    return fresh(code, LD_PRELOAD=library, PYTHONMALLOC="malloc")[0]


def _wheel(_: Environment) -> Iterator[tuple[str, Figures]]:
    """The newest wheel in dist/."""
    wheels = (HERE.parent / "dist").glob("refarray-*.whl")
    newest = max(wheels, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        raise Absent("no wheel in dist/; `make wheels` builds one")
    yield "E5", {OURS: newest.stat().st_size / 1e6}
