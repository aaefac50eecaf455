"""D1, D2 and D10: the host time of an export of device memory, and of an allocation."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import UNIT, Statement, interleaved

from .session import DEVICE, OURS, NotMeasured, Row, Session

PENDING = 256  # arrays with pending work, exported one after the other
ROUNDS, WARM = 60, 10  # the first rounds create the events of the pool
POOL_ROUNDS, POOL_COUNT = 30, 2000
LIMIT_UNITS, LIMIT_POOL_NS = 2.0, 300.0


def compiled_loops() -> ctypes.CDLL:
    """Compiles and loads loops.cpp."""
    named = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if named is None:
        raise NotMeasured("no C++ compiler (c++, g++, $CXX), which loops.cpp needs")
    source = Path(__file__).parent / "loops.cpp"
    with tempfile.TemporaryDirectory(prefix="refarray-loops-") as folder:
        out = Path(folder) / "libloops.so"  # may be deleted once loaded
        command = [*named.split(), "-std=c++17", "-O2", "-shared", "-fPIC", "-o", out, source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotMeasured(f"{named} cannot compile loops.cpp: {done.stderr[-300:]}")
        loops = ctypes.CDLL(str(out))
    for name in ("time_record_wait", "time_allocate_free"):
        getattr(loops, name).restype = ctypes.c_double
    return loops


def calls_of_each(exports: list[Any], handle: int) -> float:
    """Driver calls per export, counted by the simulated driver."""
    import fakegpu

    fakegpu.reset()
    exported(exports, handle)
    return len(fakegpu.trace()) / len(exports)


def same_stream(session: Session) -> Iterator[Row]:
    """D1: the extra cost of an export over that of a CPU array, if no stream must wait."""
    ra = session.ra
    near = ra.zeros((16,), dtype="float32")
    far = ra.zeros((16,), dtype="float32", device=DEVICE)
    with ra.use_stream(session.stream):
        far[...] = 1.0
    session.stream.synchronize()
    cpu = Statement("f(stream=h)", {"f": near.__dlpack__, "h": None})
    unit = Statement("f(x)", {"f": session.native._noop, "x": None})
    for name, handle in (("its own", session.stream.handle), ("-1", -1)):
        row: Row = {"id": f"D1 {name}", "title": f"__dlpack__(stream={name})",
                    "unit": "U above the CPU's"}  # fmt: skip
        export = Statement("f(stream=h)", {"f": far.__dlpack__, "h": handle})
        if session.simulated:
            far.__dlpack__(stream=handle)  # the first call queries pending work
            yield {**row, "driver_calls": calls_of_each([far.__dlpack__] * 100, handle)}
            continue
        peers, refused = peer_exports(session, handle)
        found = {OURS: export, "cpu": cpu, UNIT: unit, **peers}
        timers = {each: of.timer(time.perf_counter_ns) for each, of in found.items()}
        times = interleaved(timers, 1.0, 400)
        ns = {each: round(statistics.median(of), 2) for each, of in times.items()}
        figure = (ns[OURS] - ns["cpu"]) / ns[UNIT]
        yield {
            **row,
            "ns": ns,
            "refused": refused,
            "ours": round(figure, 2),
            "target": f"<= {LIMIT_UNITS:g}",
            "met": figure <= LIMIT_UNITS,
        }


def peer_exports(session: Session, handle: int) -> tuple[dict[str, Statement], dict[str, str]]:
    """The same export of the peers' own arrays, and the errors of peers that refuse it. Entering
    our stream is included, because they use the current stream as the array's."""
    found, refused = {}, {}
    for name, module in session.peers.items():
        context = session.on_stream(name)
        try:
            with context:
                array = module.zeros(16, device=DEVICE) if name == "torch" else module.zeros(16)
            names = {"c": context, "f": array.__dlpack__, "h": handle}
            found[name] = Statement("with c: f(stream=h)", names)
            found[name].timer().timeit(1)
        except Exception as error:
            found.pop(name, None)
            refused[name] = (str(error).splitlines() or [""])[0][:120]
    return found, refused


def other_stream(session: Session, loops: ctypes.CDLL) -> Row:
    """D2: exports of arrays with pending work to another stream, which must wait for it."""
    ra, driver = session.ra, session.driver
    rounds, count = (2, 4) if session.simulated else (ROUNDS, PENDING)
    other = ra.Stream(DEVICE)
    events = (ctypes.c_void_p * count)(*(driver.event() for _ in range(count)))
    calls = [pointer_to(session, name) for name in ("cuEventRecord", "cuStreamWaitEvent")]
    streams = [ctypes.c_void_p(each.handle) for each in (session.stream, other)]
    ours, theirs = [], []
    for _ in range(rounds):
        arrays = [ra.zeros((16,), dtype="float32", device=DEVICE) for _ in range(count)]
        with ra.use_stream(session.stream):
            for array in arrays:
                array[...] = 1.0
        exports = [array.__dlpack__ for array in arrays]
        of_each = calls_of_each(exports, other.handle) if session.simulated else 0
        ours.append(exported(exports, other.handle))
        theirs.append(loops.time_record_wait(*calls, events, *streams, count))
        del arrays, exports
        ra.synchronize(DEVICE)
    row: Row = {"id": "D2", "title": "__dlpack__(stream=another)", "unit": "ns"}
    if session.simulated:
        return {**row, "driver_calls": of_each}
    own, loop = (statistics.median(found[WARM:]) for found in (ours, theirs))
    limit = 1.5 * loop + 100
    return {
        **row,
        "ns": {OURS: round(own, 1), "record + wait in C++": round(loop, 1)},
        "ours": round(own, 1),
        "target": f"<= {limit:.0f} (1.5 x (record + wait) + 100)",
        "met": own <= limit,
    }


def exported(exports: list[Any], handle: int) -> float:
    """Nanoseconds per export."""
    kept: list[Any] = [None] * len(exports)
    gc.disable()
    start = time.perf_counter_ns()
    for index, export in enumerate(exports):
        kept[index] = export(stream=handle)
    passed = time.perf_counter_ns() - start
    gc.enable()
    return passed / len(exports)


def pointer_to(session: Session, name: str) -> ctypes.c_void_p:
    return ctypes.cast(getattr(session.driver.library, name), ctypes.c_void_p)


def allocation(session: Session, loops: ctypes.CDLL) -> Row:
    """D10: creating and dropping an array, compared with the driver's pool from C++."""
    ra = session.ra
    rounds, count = (2, 4) if session.simulated else (POOL_ROUNDS, POOL_COUNT)
    calls = [pointer_to(session, name) for name in ("cuMemAllocAsync", "cuMemFreeAsync")]
    size, handle = ctypes.c_size_t(1024), ctypes.c_void_p(session.stream.handle)
    ours, theirs = [], []
    with ra.use_stream(session.stream):
        for _ in range(rounds):
            start = time.perf_counter_ns()
            for _ in range(count):
                ra.empty((256,), dtype="float32", device=DEVICE)
            ours.append((time.perf_counter_ns() - start) / count)
            theirs.append(loops.time_allocate_free(*calls, size, handle, count))
            session.stream.synchronize()
    row: Row = {"id": "D10", "title": "empty((256,)), and drop it", "unit": "ns"}
    if session.simulated:
        return row
    own, loop = statistics.median(ours), statistics.median(theirs)
    in_cpp = "allocate + free in C++"
    return {
        **row,
        "ns": {OURS: round(own, 1), in_cpp: round(loop, 1)},
        "ours": round(own, 1),
        "target": f"<= {LIMIT_POOL_NS:g}",
        "met": own <= LIMIT_POOL_NS,
    }
