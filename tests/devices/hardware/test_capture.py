"""Graph capture: refarray's copies are captured, and exports that would invalidate the capture
raise without a driver call."""

from __future__ import annotations

import ctypes
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from devices.hardware.gpu_partners import COUNT, DEVICE, NEW, OLD, Partner, data_of, full
from fakegpu.driving import Cuda, Number

import refarray as ra

pytestmark = pytest.mark.hardware
THREAD_LOCAL = 1
ISOLATED = 905


class Graph:
    """A captured graph, which may be launched repeatedly."""

    def __init__(self, driver: Cuda, stream: ra.Stream) -> None:
        self.driver, self.stream, self.handle = driver, stream, Number()

    def launch(self) -> None:
        executable = self.driver.made("cuGraphInstantiateWithFlags", self.handle.value, 0)
        self.driver("cuGraphLaunch", executable, self.stream.handle)
        self.stream.synchronize()
        self.driver("cuGraphExecDestroy", executable)


@contextmanager
def capturing(driver: Cuda, stream: ra.Stream) -> Iterator[Graph]:
    """Captures the stream's work; fails if the capture was invalidated, since its end then does."""
    graph = Graph(driver, stream)
    driver("cuStreamBeginCapture_v2", stream.handle, THREAD_LOCAL)
    with ra.use_stream(stream):
        yield graph
    driver("cuStreamEndCapture", stream.handle, graph.handle)


def address_of(array: ra.Array) -> int:
    return data_of(array.__dlpack__(stream=-1))


def overwrite(driver: Cuda, address: int, value: float) -> None:
    """Overwrites the memory as another library would, in the default stream."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    driver("cuMemsetD32Async", address, bits, COUNT, 1)
    driver("cuCtxSynchronize")


def values_at(driver: Cuda, address: int) -> list[float]:
    into = (ctypes.c_float * COUNT)()
    driver("cuMemcpyDtoH_v2", ctypes.addressof(into), address, 4 * COUNT)
    return list(into)


@pytest.mark.needs("refarray")
def test_our_copies_are_captured(partner: Partner, driver: Cuda) -> None:
    here, there = full(OLD), full(0.0)
    source, target = address_of(here), address_of(there)
    ra.synchronize(DEVICE)
    with capturing(driver, ra.Stream(DEVICE)) as graph:
        there[...] = here
    overwrite(driver, source, NEW)
    assert Counter(values_at(driver, target)) == {0.0: COUNT}, (
        "the copy ran instead of being captured"
    )
    graph.launch()
    assert Counter(values_at(driver, target)) == {NEW: COUNT}


@pytest.mark.needs("refarray")
def test_exports_in_a_capture(partner: Partner, driver: Cuda, delay: Callable[[int], None]) -> None:
    other, stream, array = ra.Stream(DEVICE), ra.Stream(DEVICE), full(OLD)
    ra.synchronize(DEVICE)
    delay(other.handle)
    with ra.use_stream(other):
        array[...] = NEW
    with capturing(driver, stream) as graph:
        with pytest.raises(BufferError, match="capture"):
            array.__dlpack__(stream=stream.handle)
        array.__dlpack__(stream=-1)
    assert graph.handle.value != 0
    ra.synchronize(DEVICE)
    with capturing(driver, stream):
        array.__dlpack__(stream=stream.handle)  # the work has finished


@pytest.mark.needs("torch")
def test_a_graph_of_pytorch(partner: Any, driver: Cuda) -> None:
    """PyTorch captures a copy by refarray in its stream and its own use of the result."""
    torch = partner.library
    here, there = full(OLD), full(0.0)
    source = address_of(here)
    ra.synchronize(DEVICE)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    result = torch.zeros(COUNT, device=DEVICE)
    torch.cuda.synchronize()
    ours = ra.Stream(DEVICE, stream.cuda_stream)
    with torch.cuda.graph(graph, stream=stream), ra.use_stream(ours):
        there[...] = here
        result.copy_(torch.from_dlpack(there))
        result.mul_(2)
    overwrite(driver, source, NEW)
    graph.replay()
    torch.cuda.synchronize()
    assert Counter(result.tolist()) == {2 * NEW: COUNT}


@pytest.mark.needs("cupy")
def test_a_graph_of_cupy(partner: Any, driver: Cuda) -> None:
    cupy = partner.library
    here, there = full(OLD), full(0.0)
    source = address_of(here)
    result = cupy.zeros(COUNT, dtype="float32")
    stream = partner.stream()
    taken = cupy.from_dlpack(there)
    cupy.multiply(taken, 2, out=result)  # compiled before the capture
    ra.synchronize(DEVICE)
    with stream:
        stream.begin_capture()
        with ra.use_stream(ra.Stream(DEVICE, stream)):
            there[...] = here
        cupy.multiply(taken, 2, out=result)
        graph = stream.end_capture()
    overwrite(driver, source, NEW)
    graph.launch(stream)
    stream.synchronize()
    assert Counter(result.tolist()) == {2 * NEW: COUNT}
