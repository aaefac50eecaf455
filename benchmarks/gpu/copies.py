"""D5 to D8: copies on and across devices, relative to the driver's copy of the same number of
bytes."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.measure import interleaved

from .session import DEVICE, DRIVER, OURS, NotMeasured, Row, Session

Enqueue = Callable[[int], object]  # takes the repetition number, which selects the buffer
GIB, MIB = 1 << 30, 1 << 20
#: Minimum memory that a row cycles through: an H200 has 60 MB of L2 cache.
TURN_BYTES = 512 * MIB
WIDTHS = {8: "uint8", 16: "uint16", 32: "float32", 64: "float64"}
DIRECTIONS = {  # (source, destination): the driver's copy function
    (DEVICE, DEVICE): "cuMemcpyDtoDAsync_v2",
    ("cuda_host", DEVICE): "cuMemcpyHtoDAsync_v2",
    (DEVICE, "cuda_host"): "cuMemcpyDtoHAsync_v2",
    ("cpu", DEVICE): "cuMemcpyHtoD_v2",
    (DEVICE, "cpu"): "cuMemcpyDtoH_v2",
}


def permuted(*axes: int) -> Callable[[Any], Any]:
    def view(array: Any) -> Any:
        if hasattr(array, "permute"):  # PyTorch's
            return array.permute(axes)
        if hasattr(array, "transpose"):  # CuPy's
            return array.transpose(axes)
        import refarray  # this module is also imported where refarray is not installed

        return refarray.permute_dims(array, axes)

    return view


VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda array: array,
    "T": lambda array: array.T,
    "0231": permuted(0, 2, 3, 1),
    "0213": permuted(0, 2, 1, 3),
    "::2": lambda array: array[::2],
    "::-1": lambda array: array[::-1],
}


@dataclass(frozen=True)
class Case:
    """One row: `to[...] = view(source)`."""

    id: str
    title: str
    dtype: str
    shape: tuple[int, ...]
    view: str
    target: float | None
    source: str = DEVICE
    to: str = DEVICE

    def views(self, array: Any) -> Any:
        return VIEWS[self.view](array)

    @property
    def is_pageable(self) -> bool:
        """Pageable memory, which the driver copies synchronously."""
        return "cpu" in (self.source, self.to)


def of_floats(shape: tuple[int]) -> str:
    nbytes = 4 * shape[0]
    return f"{nbytes // MIB} MiB" if nbytes >= MIB else f"{nbytes // 1024} KiB"


def cases(simulated: bool) -> Iterator[Case]:
    """Yields all rows; on the simulated driver with small arrays."""
    flat = (1 << 12,) if simulated else (GIB // 4,)
    yield Case("D5", f"contiguous f32, {of_floats(flat)}", "float32", flat, "whole", 0.98)
    for size in (64, 65) if simulated else (8192, 8193):
        for width, dtype in WIDTHS.items():
            target = 0.9 if width == 8 else 0.93
            yield Case(f"D6 {width} {size}", f".T {dtype} {size}", dtype, (size, size), "T", target)
    for view, shape, small in (
        ("0231", (32, 64, 112, 112), (2, 3, 8, 9)),
        ("0213", (16, 2048, 16, 64), (2, 8, 3, 4)),
    ):
        shape = small if simulated else shape
        yield Case(f"D7 {view}", f"axes {view} f32 {shape}", "float32", shape, view, 0.85)
    flat = (1 << 12,) if simulated else (1 << 26,)
    yield Case("D7 ::2", "a[::2] f32", "float32", flat, "::2", None)
    yield Case("D7 ::-1", "a[::-1] f32", "float32", flat, "::-1", 0.95)
    for name, target in (("cuda_host", 0.97), ("cpu", 1.0)):
        for source, to in ((name, DEVICE), (DEVICE, name)):
            title = f"{source} to {to}, {of_floats(flat)}"
            yield Case(f"D8 {source} {to}", title, "float32", flat, "whole", target, source, to)


class Buffers:
    """Source and destination arrays; several of each if one pair would stay in the cache."""

    def __init__(self, session: Session, case: Case) -> None:
        ra = session.ra
        source = session.numbers(case.shape, case.dtype, case.source)
        view = case.views(source)
        self.nbytes = int(view.nbytes)
        wanted = 1 if session.simulated else TURN_BYTES // (source.nbytes + self.nbytes)
        self.turns = max(1, min(8, wanted))
        sources = [source, *(ra.asarray(source, copy=True) for _ in range(self.turns - 1))]
        self.pairs = [
            (each, ra.empty(view.shape, dtype=case.dtype, device=case.to)) for each in sources
        ]
        ra.synchronize(DEVICE)


def by_us(case: Case, buffers: Buffers) -> Enqueue:
    pairs = [(case.views(source), to) for source, to in buffers.pairs]

    def enqueue(number: int) -> None:
        source, to = pairs[number % buffers.turns]
        to[...] = source

    return enqueue


def by_driver(session: Session, case: Case, buffers: Buffers) -> Enqueue:
    """The driver's copy of the same number of bytes, ignoring the layout."""
    pairs = [(session.address(to), session.address(source)) for source, to in buffers.pairs]
    function, driver = DIRECTIONS[case.source, case.to], session.driver
    last = (session.stream.handle,) if "Async" in function else ()

    def enqueue(number: int) -> None:
        to, source = pairs[number % buffers.turns]
        driver(function, to, source, buffers.nbytes, *last)

    return enqueue


def by_peer(session: Session, name: str, case: Case, buffers: Buffers) -> Enqueue:
    """The peer's copy of the same memory, imported by the peer, on our stream."""
    if name == "cupy" and case.is_pageable:
        raise NotMeasured("CuPy has no arrays in the CPU's memory")
    if name == "torch" and case.view == "::-1":
        raise NotMeasured("PyTorch has no negative strides")
    take = session.peers[name].from_dlpack
    pairs = [(case.views(take(source)), take(to)) for source, to in buffers.pairs]
    context = session.on_stream(name)

    def torch(number: int) -> None:
        source, to = pairs[number % buffers.turns]
        with context:
            to.copy_(source, non_blocking=True)

    def cupy(number: int) -> None:
        source, to = pairs[number % buffers.turns]
        with context:
            to[...] = source

    return torch if name == "torch" else cupy


# Timers of work on a stream, for benchmarks.measure.interleaved().

#: Minimum duration of one measurement: events have a resolution of half a microsecond.
LEAST_NS = 2_000_000


class HostTimer:
    """Measures on the host until the stream has finished."""

    def __init__(self, driver: Any, stream: int, enqueue: Enqueue) -> None:
        self.driver, self.stream, self.enqueue = driver, stream, enqueue

    def timeit(self, number: int) -> float:
        self.driver.synchronize(self.stream)
        start = time.perf_counter_ns()
        for each in range(number):
            self.enqueue(each)
        self.driver.synchronize(self.stream)
        return time.perf_counter_ns() - start


class DeviceTimer(HostTimer):
    """Measures between two events of a stream."""

    def __init__(self, driver: Any, stream: int, enqueue: Enqueue) -> None:
        super().__init__(driver, stream, enqueue)
        self.begin, self.end = driver.event(0), driver.event(0)

    def timeit(self, number: int) -> float:
        self.driver.record(self.begin, self.stream)
        for each in range(number):
            self.enqueue(each)
        self.driver.record(self.end, self.stream)
        self.driver.synchronize(self.stream)
        out = ctypes.c_float()
        self.driver("cuEventElapsedTime", out, self.begin, self.end)
        return 1e6 * out.value


def verify(session: Session, case: Case, buffers: Buffers) -> None:
    """Compares the result with the same copy on the CPU."""
    source, to = buffers.pairs[0]
    with session.ra.use_stream(session.stream):
        to[...] = case.views(source)
    here = case.views(source.to_device("cpu")).copy()
    there = to.to_device("cpu")
    # memcmp, because comparing memoryviews of a gibibyte takes seconds.
    compare = ctypes.CDLL(None).memcmp
    addresses = [ctypes.c_void_p(session.address(each)) for each in (here, there)]
    if compare(*addresses, ctypes.c_size_t(here.nbytes)) != 0:
        raise AssertionError(f"{case.id}: the copy is wrong")


def row(session: Session, case: Case) -> Row:
    """Measures one row; on the simulated driver it only runs it."""
    found: Row = {"id": case.id, "title": case.title, "unit": "of the driver's copy"}
    buffers = Buffers(session, case)
    verify(session, case, buffers)
    contenders = {OURS: by_us(case, buffers), DRIVER: by_driver(session, case, buffers)}
    for name in session.peers:
        try:
            contenders[name] = by_peer(session, name, case, buffers)
        except Exception as error:
            found.setdefault("refused", {})[name] = (str(error).splitlines() or [""])[0][:120]
    if session.simulated:
        with session.ra.use_stream(session.stream):
            for enqueue in contenders.values():
                enqueue(0)
        return found
    timer = HostTimer if case.is_pageable else DeviceTimer
    stream = session.stream.handle
    timers = {name: timer(session.driver, stream, each) for name, each in contenders.items()}
    with session.ra.use_stream(session.stream):
        for each in timers.values():
            each.timeit(1)  # a first run compiles and allocates
        times = interleaved(timers, session.seconds, chunk_ns=LEAST_NS)
    ns = {name: round(statistics.median(of), 1) for name, of in times.items()}
    ratios = {name: round(ns[DRIVER] / own, 4) for name, own in ns.items() if name != DRIVER}
    ours = ratios[OURS]
    moved = 1 if case.source != case.to else 2  # on one device each byte is read and written
    return {
        **found,
        "nbytes": buffers.nbytes,
        "ns": ns,
        "gb_per_s": {name: round(moved * buffers.nbytes / own, 1) for name, own in ns.items()},
        "ratios": ratios,
        "ours": ours,
        "target": None if case.target is None else f">= {case.target:g}",
        "met": None if case.target is None else ours >= case.target,
    }
