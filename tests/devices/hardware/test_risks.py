"""The greatest risks of the GPU layer on a device. The record of `make gpu-hardware` has what was
expected, the docstring, and what was seen."""

from __future__ import annotations

import ctypes
import gc
from collections import Counter
from typing import Any

import pytest
from devices.hardware.conftest import NANOSECONDS, SPIN, Delay, Seen, is_simulated, printed
from devices.hardware.gpu_partners import COUNT, DEVICE, NEW, OLD, Driver, Memory, full
from fakegpu.driving import NON_BLOCKING, Cuda

import refarray as ra
from refarray.conformance import _adversary as adversary

pytestmark = pytest.mark.hardware
PAGEABLE_MEMORY_ACCESS, CONCURRENT_MANAGED_ACCESS = 88, 89
STREAMING_MULTIPROCESSORS = 1


def attribute(driver: Cuda, number: int) -> int:
    value = ctypes.c_int()
    driver("cuDeviceGetAttribute", value, number, 0)
    return value.value


@pytest.mark.needs("torch")
def test_a_drop_beside_a_capture_of_pytorch(partner: Any, driver: Cuda, seen: Seen) -> None:
    """cuCtxRecordEvent, which orders a free after all consumers, invalidates captures: a drop of an
    exported array leaves PyTorch's alone once refarray was given its stream while it captured."""
    torch = partner.library
    exported, target = full(OLD), torch.zeros(COUNT, device=DEVICE)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    taken = [torch.from_dlpack(exported)]
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        with ra.use_stream(ra.Stream(DEVICE, stream.cuda_stream)):
            ra.from_dlpack(target)
        del exported
        taken.clear()
        gc.collect()
        target.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    assert Counter(target.tolist()) == {1.0: COUNT}
    seen("the capture survived the drop")


def green_stream(driver: Cuda) -> tuple[int, int, int]:
    """A green context with some of the device's multiprocessors: handle, context, stream."""
    resource, part, rest = (ctypes.create_string_buffer(4096) for _ in range(3))
    driver("cuDeviceGetDevResource", 0, resource, STREAMING_MULTIPROCESSORS)
    split = getattr(driver.library, "cuDevSmResourceSplitByCount", None)
    if split is not None:
        driver("cuDevSmResourceSplitByCount", part, ctypes.c_uint(1), resource, rest, 0, 8)
        resource = part
    description = driver.made("cuDevResourceGenerateDesc", resource, 1)
    green = driver.made("cuGreenCtxCreate", description, 0, 1)
    context = driver.made("cuCtxFromGreenCtx", green)
    return green, context, driver.made("cuGreenCtxStreamCreate", green, NON_BLOCKING, 0)


@pytest.mark.needs("driver")
def test_memory_outlives_a_read_in_a_green_context(
    partner: Driver, driver: Cuda, seen: Seen, request: pytest.FixtureRequest
) -> None:
    """Events and waits of the primary context cover its green contexts, so memory is not reused
    while a consumer reads it there, and refarray works on such a stream."""
    if not hasattr(driver.library, "cuGreenCtxCreate"):
        pytest.skip("green contexts need CUDA 12.4")
    array, into = full(NEW), Memory(driver, driver.memory(4 * COUNT), 0)
    ra.synchronize(DEVICE)
    green, context, stream = green_stream(driver)
    with partner.on(stream):
        theirs = partner.take(array)
    if not is_simulated(request.config):
        driver("cuCtxPushCurrent_v2", context)
        kernel = driver.kernel("spin", SPIN)
        driver.launch(kernel, stream, NANOSECONDS)
        driver("cuCtxPopCurrent_v2", None)
    driver("cuMemcpyDtoDAsync_v2", into.pointer, theirs.pointer, 4 * COUNT, stream)
    del theirs, array
    gc.collect()
    later = [full(OLD) for _ in range(8)]
    ra.current_stream(DEVICE).synchronize()
    driver.synchronize(stream)
    assert Counter(partner.values(into, 1)) == {NEW: COUNT}
    with ra.use_stream(ra.Stream(DEVICE, stream)):
        assert Counter(later[0][::-1].copy().tolist()) == {OLD: COUNT}
    ra.synchronize(DEVICE)
    driver.destroy(stream)
    driver("cuGreenCtxDestroy", green)
    seen("the consumer read its own values, and refarray copied on the green context's stream")


NEIGHBOUR = """
import ctypes, gc, os, sys
import refarray as ra
array, stream = ra.ones((100,), device="cuda:0").copy(), ra.Stream("cuda:0")
ra.synchronize("cuda:0")
ctypes.CDLL(os.environ["REFARRAY_LIBCUDA"]).cuDevicePrimaryCtxReset_v2(0)
for use in (array.copy, array.tolist, lambda: ra.zeros((3,), device="cuda:0")):
    try:
        use()
        print("worked", end=" ")
    except (ra.DriverError, BufferError) as error:
        print(getattr(error, "code", error), end=" ")
del array, stream
gc.collect()
print("alive")
"""


@pytest.mark.needs("driver")
def test_a_reset_by_a_neighbour(library: str, seen: Seen) -> None:
    """cudaDeviceReset destroys what every library has on the device: refarray's operations raise
    the driver's error, and the process ends normally."""
    text = printed(library, NEIGHBOUR)
    assert text.endswith("alive\n"), text
    assert "worked" not in text, text
    seen(f"errors {text.removesuffix('alive' + chr(10)).strip()}, then a normal exit")


@pytest.mark.needs("driver")
def test_host_memory_labelled_as_cuda(driver: Cuda, seen: Seen) -> None:
    """Memory of malloc() is refused as device memory, also where the device could access it."""
    host = ctypes.create_string_buffer(4096)
    tensor = adversary.make(
        device=(2, 0), data=ctypes.addressof(host), shape=(16,), dtype=(2, 32, 1), versioned=True
    )
    with pytest.raises(BufferError) as info:
        ra.from_capsule(tensor.capsule())
    access = "can" if attribute(driver, PAGEABLE_MEMORY_ACCESS) else "cannot"
    seen(f"refused on a device that {access} access pageable memory: {info.value}")


FIRST_KERNEL = """
import ctypes, os, time
import refarray as ra
driver = ctypes.CDLL(os.environ["REFARRAY_LIBCUDA"])
source, target = (ra.zeros((64, 64), dtype="float32", device="cuda:0") for _ in range(2))
stream, graph = ra.Stream("cuda:0"), ctypes.c_void_p()
ra.synchronize("cuda:0")
context = ctypes.c_void_p()
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxPushCurrent_v2(context)
handle = ctypes.c_void_p(stream.handle)
assert driver.cuStreamBeginCapture_v2(handle, 0) == 0
start = time.perf_counter()
with ra.use_stream(stream):
    target[...] = source.T
took = time.perf_counter() - start
assert driver.cuStreamEndCapture(handle, ctypes.byref(graph)) == 0
print(f"{1e3 * took:.1f}")
"""


@pytest.mark.needs("driver")
def test_the_first_kernel_is_compiled_in_a_capture(
    library: str, seen: Seen, request: pytest.FixtureRequest
) -> None:
    """The driver compiles our PTX at the first launch, which may be in a global capture: that
    becomes part of the graph. Without the driver's cache it takes less than 10 s."""
    if is_simulated(request.config):
        pytest.skip("the simulated driver compiles nothing")
    text = printed(library, FIRST_KERNEL, CUDA_CACHE_DISABLE="1")
    assert not text.startswith("exit"), text
    assert float(text) < 10_000
    seen(f"{float(text):.0f} ms without the driver's cache of compiled kernels")


@pytest.mark.needs("driver")
def test_pageable_copies(delay: Delay, seen: Seen) -> None:
    """A copy from pageable memory has read it when the call returns, and one to pageable memory has
    written it, of any size and behind a long kernel."""
    sizes = (16, 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 24)
    for count in sizes:
        stream = ra.Stream(DEVICE)
        host = ra.full((count,), OLD, dtype="float32")
        delay(stream.handle)
        with ra.use_stream(stream):
            far = host.to_device(DEVICE)
            host[...] = NEW
            back = far.to_device("cpu")
        assert bool(ra.all(back == OLD)), count
    seen(f"the old values arrived, {4 * sizes[0]} B to {4 * sizes[-1] >> 20} MiB")


@pytest.mark.needs("driver")
def test_host_use_of_managed_memory_beside_a_kernel(driver: Cuda, delay: Delay, seen: Seen) -> None:
    """The host reads managed memory while a kernel runs; where the device cannot share it (WDDM),
    refarray waits for the device first."""
    managed, stream = full(NEW, "cuda_managed:0"), driver.stream()
    ra.synchronize(DEVICE)
    delay(stream)
    assert Counter(ra.from_dlpack(managed, device="cpu").tolist()) == {NEW: COUNT}
    is_busy = driver.code("cuStreamQuery", stream) != 0
    concurrent = attribute(driver, CONCURRENT_MANAGED_ACCESS)
    driver.synchronize(stream)
    seen(f"concurrent access {concurrent}; the kernel {'still ran' if is_busy else 'had finished'}")


@pytest.mark.needs("driver")
def test_the_pool_on_several_devices(driver: Cuda, seen: Seen) -> None:
    """Arrays of one device can be copied to and from any other."""
    count = len(driver.contexts)
    if count < 2:
        pytest.skip("one device")
    for other in range(1, count):
        far = full(NEW).to_device(f"cuda:{other}")
        assert Counter(far[::-1].to_device(DEVICE).tolist()) == {NEW: COUNT}
    seen(f"{count} devices")
