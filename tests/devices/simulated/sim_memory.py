"""The memory pool of CUDA arrays, access from peer devices, returning memory. Managed memory: on
devices that cannot share it with the host, no kernel may run while the host uses it."""

from __future__ import annotations

import gc

import fakegpu
import pytest
from capturing import (
    SETTINGS,
    SIZE,
    address_of,
    capturing,
    driver_of,
    host_of,
    refuse,
)

import refarray as ra
from refarray import Stream, use_stream
from refarray.conformance import _adversary as adversary

HAS_POOLS = bool(SETTINGS.get("pools", 1))
VERSION = int(SETTINGS.get("cuda_version", 12080))


@pytest.mark.skipif(not HAS_POOLS, reason="without pools the consumer enables peer access itself")
def test_a_peers_kernel_may_use_the_memory() -> None:
    """The order checker reports accesses that peers have no right to."""
    array = ra.ones((SIZE, 2), dtype="uint8", device="cuda:0")
    ra.synchronize("cuda:0")
    cuda = driver_of("cuda:0")
    cuda("cuCtxPushCurrent_v2", cuda.contexts[1])
    stream = cuda.stream()
    cuda.launch(cuda.kernel("fakegpu_increment"), stream, address_of(array), SIZE // 4)
    cuda.synchronize(stream)
    cuda.destroy(stream)
    cuda("cuCtxPopCurrent_v2", None)


def trims() -> list[int]:
    return [record["bytes"] for record in fakegpu.trace() if record["call"] == "cuMemPoolTrimTo"]


def test_empty_cache_returns_unused_memory(device: str) -> None:
    ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    fakegpu.reset()
    ra.empty_cache(device)
    assert trims() == [0] * (HAS_POOLS and device == "cuda:0")


@pytest.mark.parametrize("device", ["cpu", "cuda_host", "cuda_managed:0"])
def test_empty_cache_needs_a_device(device: str) -> None:
    with pytest.raises(ValueError, match="has no streams"):
        ra.empty_cache(device)


@pytest.mark.skipif(not HAS_POOLS, reason="there is no pool to trim")
@pytest.mark.parametrize(
    ("device", "call"),
    [("cuda:0", "cuMemAllocFromPoolAsync"), ("cuda_managed:0", "cuMemAllocManaged")],
)
def test_the_pool_is_trimmed_when_memory_runs_out(device: str, call: str) -> None:
    """Other allocators cannot use what the pool keeps."""
    driver_of("cuda:0")
    ra.ones((SIZE,), device="cuda:0")
    fakegpu.reset()
    fakegpu.fail(call, code=2)
    array = ra.zeros((SIZE,), device=device)
    assert trims() == [0]
    assert array.to_device("cpu").tolist() == [0.0] * SIZE


def synchronizations() -> list[str]:
    calls = [record["call"] for record in fakegpu.trace()]
    return [name for name in calls if name in ("cuCtxSynchronize", "hipDeviceSynchronize")]


def test_a_device_is_waited_for_only_if_memory_runs_out_again(device: str) -> None:
    """Waiting for a device waits for the work of every library: refarray's own work comes first."""
    pinned, cuda = host_of(device), device.startswith("cuda")
    ra.zeros((SIZE,), device=pinned).__dlpack__(stream=-1)  # a consumer may still use it
    for failures in (1, 2):
        fakegpu.reset()
        for k in range(failures):
            fakegpu.fail("cuMemHostAlloc" if cuda else "hipHostMalloc", k + 1, code=2)
        ra.zeros((SIZE,), device=pinned)
        assert len(synchronizations()) == 2 * (failures - 1)  # pinned memory is used on all devices


@pytest.mark.parametrize("unit", [0, 1])
@pytest.mark.parametrize("kind", ["cuda:0", "cuda_host", "rocm:0", "rocm_host"])
def test_many_deferred_frees_wait_for_the_consumers(kind: str, unit: int) -> None:
    """On each of their devices. The order checker reports a free before the consumer's read."""
    driver = driver_of(kind)
    driver.use(unit)
    stream, target = driver.stream(), driver.memory(SIZE)
    given = ra.Stream(f"{kind[:4]}:{unit}", stream)
    array = ra.zeros((SIZE,), dtype="uint8", device=kind)
    ra.synchronize(f"{kind[:4]}:0")
    address = address_of(array)
    array.__dlpack__(stream=given)
    driver.copy(target, address, stream, SIZE)
    del array
    for _ in range(300):
        ra.zeros((3,), device=f"{kind[:4]}_host").__dlpack__(stream=-1)
    live = [item["handle"] for item in fakegpu.live("memory")]
    assert address not in live
    driver.synchronize(stream)
    driver.free(target)
    driver.destroy(stream)
    driver.use(0)


@pytest.mark.skipif(VERSION < 12050, reason="CUDA before 12.5 has no cuCtxRecordEvent")
def test_many_deferred_frees_wait_for_no_device() -> None:
    """One event for each device stands for the work of all consumers."""
    driver = driver_of("cuda:0")
    stream = driver.stream()
    near = [ra.zeros((SIZE,), dtype="uint8", device="cuda_host") for _ in range(100)]
    ra.synchronize("cuda:0")
    target = driver.memory(SIZE)
    fakegpu.hold(stream)
    for array in near:
        driver.copy(target, address_of(array), stream, SIZE)
    before, waits = len(fakegpu.live("memory")), len(synchronizations())
    del array
    near.clear()
    keep = ra.zeros((SIZE,), device="cuda_host")
    assert len(fakegpu.live("memory")) == before + 1
    assert len(fakegpu.trace("cuCtxRecordEvent")) == 2  # the simulated devices
    fakegpu.run()
    driver.synchronize(stream)
    del keep
    ra.zeros((SIZE,), device="cuda_host")
    assert len(fakegpu.live("memory")) <= before - 98
    assert len(synchronizations()) == waits
    driver.free(target)
    driver.destroy(stream)


def test_finished_work_is_noticed_before_a_device_is_waited_for(device: str) -> None:
    """Between two allocations many frees were deferred, and their work has finished since."""
    stream = ra.Stream(device)
    far = ra.zeros((SIZE,), dtype="uint8", device=device)
    near = [ra.zeros((SIZE,), dtype="uint8", device=host_of(device)) for _ in range(70)]
    ra.synchronize(device)
    fakegpu.hold(stream.handle)
    with ra.use_stream(stream):
        for array in near:
            array[...] = far
    del array
    near.clear()
    fakegpu.run()
    stream.synchronize()
    fakegpu.reset()
    ra.zeros((3,), device=host_of(device))
    calls = {record["call"] for record in fakegpu.trace()}
    assert calls & {"cuMemFreeHost", "hipHostFree", "hipFreeHost"}
    assert not calls & {"cuCtxSynchronize", "hipDeviceSynchronize"}


@pytest.mark.skipif(not HAS_POOLS, reason="there are no frees in a stream")
def test_memory_of_an_array_that_cannot_be_made() -> None:
    """An event marks the allocation in another library's stream. Without it only a wait for the
    device orders the free after the allocation."""
    cuda = driver_of("cuda:0")
    raw = cuda.stream()
    fakegpu.hold(raw)
    fakegpu.fail("cuEventRecord")
    with (
        ra.use_stream(ra.Stream("cuda:0", raw)),
        pytest.raises(ra.DriverError, match="recording an event"),
    ):
        ra.empty((SIZE,), device="cuda:0")
    fakegpu.run()
    cuda.synchronize(raw)
    cuda.destroy(raw)


def test_an_allocation_by_the_exchange_table_waits_for_nothing(device: str) -> None:
    """A thread that has the GIL may wait for it, and other threads' work and deleters need the GIL.
    The deferred frees stay for another allocation."""
    driver = driver_of(device)
    stream, target = driver.stream(), driver.memory(SIZE)
    fakegpu.hold(stream)
    driver.copy(target, target, stream, 1)
    most = 256 if device.startswith("cuda") and VERSION >= 12050 else 64
    for _ in range(most):  # the next allocation waits for the device
        ra.zeros((3,), device=host_of(device)).__dlpack__(stream=-1)
    gc.collect()
    deferred = len(fakegpu.live("memory"))
    assert deferred >= most
    waits = len(synchronizations())
    like = ra.zeros((3,), device="cpu")
    prototype = adversary.make(device=ra.Device(device).dlpack, shape=like.shape, dtype=(2, 64, 1))
    code, made, errors = adversary.api(ra.Array).allocate(prototype, thread=True)
    assert (code, errors) == (0, [])
    assert len(synchronizations()) == waits
    assert len(fakegpu.live("memory")) == deferred + 1
    del made
    fakegpu.run()
    ra.zeros((3,), device=host_of(device))
    assert len(fakegpu.live("memory")) < deferred
    driver.synchronize(stream)
    driver.free(target)
    driver.destroy(stream)


# --- Managed memory and the host


SHARED = bool(SETTINGS.get("concurrent_managed", 1))


def kernel_elsewhere(device: str) -> ra.Array:
    """A strided copy in a stream of its own, in memory that is not managed."""
    source = ra.ones((SIZE, 2), dtype="uint8", device=device)
    with use_stream(Stream(device)):
        return source[:, 0].copy()


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_the_host_waits_for_kernels_on_other_memory(device: str) -> None:
    managed = ra.zeros((SIZE,), dtype="uint8", device="cuda_managed:0")
    ra.synchronize("cuda:0")
    keep = kernel_elsewhere(device)
    fakegpu.reset()
    managed.__dlpack__(stream=None)
    assert bool(synchronizations()) is not SHARED
    fakegpu.touch(address_of(managed), SIZE, write=True)
    del keep


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_every_device_in_use_is_waited_for(device: str) -> None:
    """Each for its own kernels, also if the memory has no unfinished work itself."""
    managed = ra.zeros((SIZE,), dtype="uint8", device="cuda_managed:0")
    for name in ("cuda:0", "cuda:1"):
        ra.synchronize(name)
    keep = kernel_elsewhere(device)
    fakegpu.reset()
    with ra.ledger() as ledger:
        managed.__dlpack__(stream=None)
    assert len(synchronizations()) == (0 if SHARED else 2)
    assert ledger.synchronizations == 1
    with ra.ledger() as ledger:
        managed.__dlpack__(stream=None)
    assert ledger.synchronizations == (0 if SHARED else 1)
    del keep


def test_only_devices_in_use_are_waited_for() -> None:
    """Waiting for a device that nobody uses would initialise it."""
    managed = ra.zeros((SIZE,), dtype="uint8", device="cuda_managed:0")
    before = fakegpu.live("context")
    managed.__dlpack__(stream=None)
    assert fakegpu.live("context") == before


def test_a_capture_is_not_invalidated_by_the_hosts_wait(mode: int) -> None:
    driver = driver_of("cuda:0")
    managed = ra.zeros((SIZE,), dtype="uint8", device="cuda_managed:0")
    ra.synchronize("cuda:0")
    inside = Stream("cuda:0")
    with capturing(driver, inside.handle, mode):
        if SHARED:
            managed.__dlpack__(stream=None)
        else:
            refuse(lambda: managed.__dlpack__(stream=None))
        managed.__dlpack__(stream=-1)
