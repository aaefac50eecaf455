"""Graph capture for tests: starts, queries, ends and launches captures by driver calls, as PyTorch
and CuPy do."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import fakegpu
from conftest import SETTINGS
from fakegpu.driving import Cuda, Driver, Hip, Number

import refarray as ra

MODES = {"global": 0, "thread-local": 1, "relaxed": 2}
ACTIVE = 1
DEVICES = ["cuda:0", "rocm:0"]
SIZE = 1024


def driver_of(device: str) -> Driver:
    """The driver, as another library uses it; makes its device 0 current."""
    files = fakegpu.Drivers.here(hip_version=str(SETTINGS.get("hip_version", "6.3")))
    return Cuda(files.cuda) if device.startswith("cuda") else Hip(files.hip)


class Capture:
    """One capture of a stream; `graph` is nonzero once it has ended successfully."""

    def __init__(self, driver: Driver, stream: int, mode: int) -> None:
        self.driver, self.stream, self.graph = driver, stream, 0
        self.cuda = isinstance(driver, Cuda)
        driver("cuStreamBeginCapture_v2" if self.cuda else "hipStreamBeginCapture", stream, mode)

    def state(self, stream: int | None = None) -> int:
        """0: the stream does not capture; 1: it captures; 2: its capture has been invalidated."""
        out = ctypes.c_int(77)
        name = "cuStreamIsCapturing" if self.cuda else "hipStreamIsCapturing"
        self.driver(name, self.stream if stream is None else stream, out)
        return out.value

    def end(self) -> None:
        out = Number()
        self.driver("cuStreamEndCapture" if self.cuda else "hipStreamEndCapture", self.stream, out)
        self.graph = out.value

    def launch(self, stream: int) -> None:
        """Launches the captured graph."""
        if self.cuda:
            run = self.driver.made("cuGraphInstantiateWithFlags", self.graph, 0)
            self.driver("cuGraphLaunch", run, stream)
            self.driver("cuGraphExecDestroy", run)
            return
        run = self.driver.made("hipGraphInstantiate", self.graph, 0, 0, 0)
        self.driver("hipGraphLaunch", run, stream)
        self.driver("hipGraphExecDestroy", run)

    def forget(self) -> None:
        if self.graph:
            self.driver("cuGraphDestroy" if self.cuda else "hipGraphDestroy", self.graph)


@contextmanager
def capturing(driver: Driver, stream: int, mode: int) -> Iterator[Capture]:
    """A capture that must still be valid at the end of the block."""
    capture = Capture(driver, stream, mode)
    try:
        yield capture
        if capture.graph == 0:
            assert capture.state() == ACTIVE
            capture.end()
    finally:
        if capture.state() != 0:
            capture.driver.code(
                "cuStreamEndCapture" if capture.cuda else "hipStreamEndCapture", stream, Number()
            )
        capture.forget()


def unfinished(device: str) -> tuple[ra.Stream, ra.Array]:
    """A held stream and an array whose fill with ones is queued there."""
    stream = ra.Stream(device)
    ones = ra.ones((SIZE,), dtype="uint8", device=device)
    ra.synchronize(device)
    fakegpu.hold(stream.handle)
    with ra.use_stream(stream):
        return stream, ones.copy()


class Foreign:
    """Another library's array over memory of refarray; records the keywords of __dlpack__."""

    def __init__(self, array: ra.Array) -> None:
        self.array = array
        self.keywords_seen: list[dict[str, Any]] = []

    def __dlpack__(self, **keywords: Any) -> object:
        self.keywords_seen.append(keywords)
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()
