"""The memory pool of CUDA arrays: access from peer devices, and returning its memory."""

from __future__ import annotations

import gc

import fakegpu
import pytest
from capturing import DEVICES, SIZE, driver_of
from conftest import SETTINGS

import refarray as ra
from refarray.conformance import _adversary as adversary

HAS_POOLS = bool(SETTINGS.get("pools", 1))


def address_of(array: ra.Array) -> int:
    return int(ra._native._inspect_capsule(array.__dlpack__(stream=-1))["data"])


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
    cuda("cuStreamDestroy_v2", stream)
    cuda("cuCtxPopCurrent_v2", None)


def trims() -> list[int]:
    return [record["bytes"] for record in fakegpu.trace() if record["call"] == "cuMemPoolTrimTo"]


@pytest.mark.parametrize("device", ["cuda:0", "rocm:0"])
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


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_is_waited_for_only_if_memory_runs_out_again(device: str) -> None:
    """Waiting for a device waits for the work of every library: refarray's own work comes first."""
    pinned, cuda = f"{device[:4]}_host", device.startswith("cuda")
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
    for _ in range(70):
        ra.zeros((3,), device=f"{kind[:4]}_host").__dlpack__(stream=-1)
    live = [item["handle"] for item in fakegpu.live("memory")]
    assert address not in live
    driver.synchronize(stream)
    driver("cuMemFree_v2" if driver.prefix == "cu" else "hipFree", target)
    driver("cuStreamDestroy_v2" if driver.prefix == "cu" else "hipStreamDestroy", stream)
    driver.use(0)


@pytest.mark.parametrize("device", DEVICES)
def test_finished_work_is_noticed_before_a_device_is_waited_for(device: str) -> None:
    """Between two allocations many frees were deferred, and their work has finished since."""
    stream = ra.Stream(device)
    far = ra.zeros((SIZE,), dtype="uint8", device=device)
    near = [ra.zeros((SIZE,), dtype="uint8", device=f"{device[:4]}_host") for _ in range(70)]
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
    ra.zeros((3,), device=f"{device[:4]}_host")
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
    cuda("cuStreamDestroy_v2", raw)


@pytest.mark.parametrize("device", DEVICES)
def test_an_allocation_by_the_exchange_table_waits_for_nothing(device: str) -> None:
    """A thread that has the GIL may wait for it, and other threads' work and deleters need the GIL.
    The deferred frees stay for another allocation."""
    for _ in range(64):  # the next allocation waits for the device
        ra.zeros((3,), device=f"{device[:4]}_host").__dlpack__(stream=-1)
    gc.collect()
    deferred = len(fakegpu.live("memory"))
    assert deferred >= 64
    fakegpu.reset()
    like = ra.zeros((3,), device="cpu")
    prototype = adversary.make(device=ra.Device(device).dlpack, shape=like.shape, dtype=(2, 64, 1))
    code, made, errors = adversary.api(ra.Array).allocate(prototype, thread=True)
    assert (code, errors) == (0, [])
    assert synchronizations() == []
    assert len(fakegpu.live("memory")) == deferred + 1
    del made
    ra.zeros((3,), device=f"{device[:4]}_host")
    assert len(fakegpu.live("memory")) < deferred
