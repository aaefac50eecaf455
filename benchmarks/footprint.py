"""The footprint cases E1 to E5: import, memory, allocations and wheel size, in fresh processes."""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .environment import Environment
from .exchange import MAX_VERSION, Skipped
from .targets import Target, Verdict
from .timing import Interval

HERE = Path(__file__).parent
OBJECTS = 300_000
CALLS = 2_000
ALIGNED_SLOT = 256

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


@dataclass
class Footprint:
    """One row: a figure of ours, its unit, the same figure of the peers, and the targets.

    A figure whose process failed is the text of its error.
    """

    id: str
    title: str
    unit: str
    value: Interval | str
    targets: tuple[Target, ...] = ()
    peers: dict[str, float | str] = field(default_factory=dict)

    def verdicts(self) -> list[Verdict]:
        if isinstance(self.value, str):
            return []
        return [Verdict(target, self.value) for target in self.targets]


def rows(environment: Environment, wheel: Path | None) -> Iterator[Footprint | Skipped]:
    yield from _imports(environment)
    yield from _live_objects(environment)
    yield from _allocations(environment)
    yield _wheel(wheel)


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


def tried(function: Callable[..., float], *arguments: str) -> float | str:
    """Returns the figure, or the error as text, so that a failing row does not lose the others."""
    try:
        return function(*arguments)
    except RuntimeError as error:
        return str(error)


def exact(value: float | str) -> Interval | str:
    return value if isinstance(value, str) else Interval(value, value, value)


def spread(values: list[float]) -> Interval:
    """Returns the minimum over fresh processes, because every disturbance adds time."""
    return Interval(min(values), min(values), statistics.median(values))


def empty_extension() -> str | None:
    """Returns a nearly empty stdlib extension module that is a shared library."""
    for name in ("_opcode", "_contextvars", "_bisect", "_heapq"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".so"):
            return name
    return None


def _imports(environment: Environment) -> Iterator[Footprint | Skipped]:
    empty = empty_extension()
    names = ["refarray", *([empty] if empty else [])]
    times: dict[str, list[float]] = {name: [] for name in names}
    modules: dict[str, float] = {}
    for _ in range(20):
        for name in names:
            elapsed, modules[name] = fresh(_IMPORT.format(module=name))
            times[name].append(elapsed)
    peer_times = {}
    peer_modules = {}
    for name in environment.partners:
        runs = [fresh(_IMPORT.format(module=name)) for _ in range(3)]
        peer_times[name] = min(elapsed for elapsed, _ in runs)
        peer_modules[name] = runs[0][1]
    ours = spread(times["refarray"])
    yield Footprint("E1", "import time", "ms", ours, (Target("value", 1.0),), peer_times)
    yield Footprint(
        "E1 modules",
        "modules loaded",
        "",
        exact(modules["refarray"]),
        (Target("value", 3),),
        peer_modules,
    )
    if empty is None:
        yield Skipped("E1 ratio", "import / empty extension", "no shared stdlib extension here")
    else:
        floor = min(times[empty])
        ratio = Interval(ours.value / floor, ours.low / floor, ours.high / floor)
        yield Footprint("E1 ratio", f"import / {empty}", "x", ratio, (Target("value", 8.0),))
    memory = {}
    for name in ("refarray", *environment.partners):
        code = _IMPORT_RSS.format(module=name, page=os.sysconf("SC_PAGE_SIZE"))
        memory[name] = statistics.median(fresh(code)[0] for _ in range(5))
    own = exact(memory.pop("refarray"))
    yield Footprint("E2", "RSS added by import", "MiB", own, (Target("value", 1.0),), memory)


def _live_objects(environment: Environment) -> Iterator[Footprint | Skipped]:
    ours = "import refarray"
    np = "import numpy as np"
    torch = "import torch"
    rows = (
        ("E3", "small array, all", ours, "refarray.empty((4,), dtype='float32')", 400),
        ("E3 view", "view", f"{ours}\nx = refarray.zeros((4,))", "x[:]", 128),
        (
            "E3 import",
            "imported from np",
            f"{ours}\n{np}\nx = np.zeros(4)",
            "refarray.from_dlpack(x)",
            240,
        ),
    )
    peers = {
        "E3": {"numpy": (np, "np.empty(4, 'f4')"), "torch": (torch, "torch.empty(4)")},
        "E3 view": {
            "numpy": (f"{np}\nx = np.zeros(4)", "x[:]"),
            "torch": (f"{torch}\nx = torch.zeros(4)", "x[:]"),
        },
        "E3 import": {
            "numpy": (f"{np}\nx = np.zeros(4)", "np.from_dlpack(x)"),
            "tvm_ffi": (f"import tvm_ffi\n{np}\nx = np.zeros(4)", "tvm_ffi.from_dlpack(x)"),
            "torch": (f"{torch}\n{np}\nx = np.zeros(4)", "torch.from_dlpack(x)"),
        },
    }
    for id_, title, setup, expression, limit in rows:
        if "numpy" in setup and not environment.has("numpy"):
            yield Skipped(id_, title, environment.absent["numpy"])
            continue
        value = tried(_live_bytes, setup, expression)
        theirs = {
            name: tried(_live_bytes, *code)
            for name, code in peers[id_].items()
            if environment.has(name, "numpy")
        }
        yield Footprint(id_, title, "B", exact(value), (Target("value", limit),), theirs)
        if id_ == "E3" and isinstance(value, float):
            yield Footprint(
                "E3 own",
                f"small array - {ALIGNED_SLOT} B data",
                "B",
                exact(value - ALIGNED_SLOT),
                (Target("value", 144),),
            )


def _live_bytes(setup: str, expression: str) -> float:
    return fresh(
        _LIVE_RSS.format(
            setup=setup, expression=expression, objects=OBJECTS, page=os.sysconf("SC_PAGE_SIZE")
        )
    )[0]


def _allocations(environment: Environment) -> Iterator[Footprint | Skipped]:
    setup = (
        "import refarray\nfrom refarray import _native\n"
        "x = refarray.zeros((16,), dtype='float32')\nf = refarray.from_dlpack"
    )
    rows = [
        ("E4 A1", "allocations, from_dlpack(own)", "f(x)", 1),
        ("E4 A2", "allocations, exchange API", "_native._from_exchange_api(x)", 2),
        ("E4 A3", "allocations, protocol", f"f(x, max_version={MAX_VERSION})", 3),
    ]
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        for id_, title, _, _ in rows:
            yield Skipped(id_, title, "no C++ compiler for the counter; set CXX")
        return
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder) / "count_allocations.so")
        source = str(HERE / "count_allocations.cpp")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        theirs = {}
        if environment.has("numpy"):
            code = "import numpy as np\nx = np.zeros(16, 'f4')\nf = np.from_dlpack"
            theirs["numpy"] = tried(_count, library, code, "f(x)")
        for id_, title, expression, limit in rows:
            value = exact(tried(_count, library, setup, expression))
            yield Footprint(id_, title, "", value, (Target("value", limit),), theirs)


def _count(library: str, setup: str, expression: str) -> float:
    code = _ALLOCATIONS.format(library=library, setup=setup, expression=expression, calls=CALLS)
    return fresh(code, LD_PRELOAD=library, PYTHONMALLOC="malloc")[0]


def _wheel(wheel: Path | None) -> Footprint | Skipped:
    if wheel is None or not wheel.is_file():
        return Skipped("E5", "wheel size", "no wheel in dist/; build one or name it with --wheel")
    size = wheel.stat().st_size / 1e6
    return Footprint("E5", "wheel size", "MB", exact(size), (Target("value", 1.5),))
