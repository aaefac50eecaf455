"""Managed memory and the host: on devices that cannot share it with the host, no kernel of any
library may run while the host uses it."""

from __future__ import annotations

import fakegpu
import pytest
from capturing import ACTIVE, MODES, SIZE, capturing, driver_of
from conftest import SETTINGS

import refarray as ra
from refarray import Stream, use_stream

SHARED = bool(SETTINGS.get("concurrent_managed", 1))


def address_of(array: ra.Array) -> int:
    return int(ra._native._inspect_capsule(array.__dlpack__(stream=-1))["data"])


def synchronizations() -> list[str]:
    return [r["call"] for r in fakegpu.trace() if r["call"] == "cuCtxSynchronize"]


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


@pytest.mark.parametrize("mode", MODES.values())
def test_a_capture_is_not_invalidated_by_the_hosts_wait(mode: int) -> None:
    driver = driver_of("cuda:0")
    managed = ra.zeros((SIZE,), dtype="uint8", device="cuda_managed:0")
    ra.synchronize("cuda:0")
    inside = Stream("cuda:0")
    with capturing(driver, inside.handle, mode) as capture:
        if SHARED:
            managed.__dlpack__(stream=None)
        else:
            with pytest.raises(BufferError, match="graph"):
                managed.__dlpack__(stream=None)
        managed.__dlpack__(stream=-1)
        assert capture.state() == ACTIVE
