"""What other libraries do, by driver calls: their arrays, streams and memory, and graph capture, as
PyTorch and CuPy start, query, end and launch it."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import fakegpu
import pytest
from fakegpu.driving import Cuda, Driver, Hip, Number

import refarray as ra

SETTINGS: dict[str, Any] = json.loads(os.environ.get("SIMULATED_DRIVERS", "{}"))
MODES = {"global": 0, "thread-local": 1, "relaxed": 2}
ACTIVE = 1
DEVICES = ["cuda:0", "rocm:0"]
SIZE = 1024


def driver_of(device: str) -> Driver:
    """The driver, as another library uses it; makes its device 0 current."""
    files = fakegpu.Drivers.here(hip_version=str(SETTINGS.get("hip_version", "6.3")))
    return Cuda(files.cuda) if device.startswith("cuda") else Hip(files.hip)


def current_device(driver: Driver) -> int:
    """The device that is current for the calling thread, as another library set it."""
    if isinstance(driver, Cuda):
        return driver.contexts.index(driver.made("cuCtxGetCurrent"))
    return driver.made("hipGetDevice")


def vendor(device: str) -> str:
    return device.partition(":")[0]


def host_of(device: str) -> str:
    """Pinned memory of the device's driver."""
    return f"{device[:4]}_host"


def legacy_handle(device: str) -> int:
    return 1 if device.startswith("cuda") else 0


def waits(since: int = 0) -> list[int]:
    """The streams that were made to wait for an event, from that record of the trace on."""
    calls = fakegpu.trace()[since:]
    return [record["stream"] for record in calls if "WaitEvent" in record["call"]]


def data_of(capsule: object) -> int:
    return int(ra._native._inspect_capsule(capsule)["data"])


def address_of(array: ra.Array) -> int:
    stream = None if array.device == "cpu" else -1
    return data_of(array.__dlpack__(stream=stream, max_version=(1, 3)))


def in_threads(*bodies: Callable[[], object]) -> None:
    """Runs each body in a thread of its own, all at once."""
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


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


def refuse(operation: Callable[[], object], forbidden: str = "") -> None:
    """The operation raises, and calls none of the driver functions whose name contains
    `forbidden`."""
    before = len(fakegpu.trace())
    with pytest.raises(BufferError, match="graph"):
        operation()
    calls = [record["call"] for record in fakegpu.trace()[before:]]
    assert not [name for name in calls if forbidden and forbidden in name], calls


#: A capture of a stream with the test's driver and in its mode.
Captures = Callable[[int], AbstractContextManager[Capture]]


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


class Interface:
    """Another library's array by __cuda_array_interface__."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = described
