"""The memory pool of CUDA arrays: access from peer devices, and returning its memory."""

from __future__ import annotations

import fakegpu
import pytest
from capturing import SIZE, driver_of
from conftest import SETTINGS

import refarray as ra

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
