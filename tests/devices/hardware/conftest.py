"""Chooses what the tests of this folder run on: a real NVIDIA driver, or the simulated one, which
shows that the tests themselves are right; and the partner, one in each process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from devices.hardware.gpu_partners import DEVICE, PARTNERS, Partner
from fakegpu.driving import Cuda

import refarray as ra

#: How long the kernel runs behind which a write stands; an exchange takes microseconds.
NANOSECONDS = 200_000_000
SPIN = b"""
.version 6.0
.target sm_60
.address_size 64
.visible .entry spin(.param .u64 nanoseconds)
{
  .reg .pred %more;
  .reg .b64 %wanted, %start, %now;
  ld.param.u64 %wanted, [nanoseconds];
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %more, %now, %wanted;
  @%more bra again;
  ret;
}
\0"""
UNFINISHED = 600  # CUDA_ERROR_NOT_READY

Delay = Callable[[int], None]


def is_simulated(config: pytest.Config) -> bool:
    return bool(config.getoption("--hardware") == "simulated")


@pytest.fixture(scope="session")
def library(request: pytest.FixtureRequest) -> str:
    """The driver's file; simulated, each consumer's work runs before its producer's wherever no
    rule of the driver forbids it."""
    if not is_simulated(request.config):
        return os.environ.get("REFARRAY_LIBCUDA") or "libcuda.so.1"
    import fakegpu

    return str(fakegpu.load(cuda=1, hip=0, order="latest").cuda)


@pytest.fixture(scope="session")
def driver(library: str) -> Cuda:
    return Cuda(library)


@pytest.fixture(scope="session")
def delay(driver: Cuda, request: pytest.FixtureRequest) -> Delay:
    """Keeps a stream busy, so that what is written behind it is not there yet."""
    if is_simulated(request.config):
        return lambda handle: None
    module = driver.made("cuModuleLoadData", SPIN)
    kernel = driver.made("cuModuleGetFunction", module, b"spin")
    return lambda handle: driver.launch(kernel, handle, NANOSECONDS)


@pytest.fixture(scope="session")
def is_busy(driver: Cuda) -> Callable[[int], bool]:
    """Whether the stream has unfinished work: without it a test of order would show nothing."""
    return lambda handle: driver.code("cuStreamQuery", handle) == UNFINISHED


@pytest.fixture(scope="session")
def partner(driver: Cuda, request: pytest.FixtureRequest) -> Partner:
    return PARTNERS[request.config.getoption("--partner")](driver)


@pytest.fixture(scope="session", autouse=True)
def loaded(driver: Cuda) -> None:
    """Our kernels are on the device: loading them in a test would wait for what keeps it busy."""
    for kind in (DEVICE, "cuda_host", "cuda_managed:0"):
        array = ra.full((64,), 1.0, dtype="float32", device=kind)
        array[...] = 2.0
        array[::2] = array[1::2].copy()
        array.to_device("cpu")
    ra.synchronize(DEVICE)


@pytest.fixture(autouse=True)
def settled(driver: Cuda, request: pytest.FixtureRequest) -> Iterator[None]:
    """The device is idle before and after; on the simulated driver nothing was left unordered."""
    ra.synchronize(DEVICE)
    yield
    ra.synchronize(DEVICE)
    current = ctypes.c_uint64()
    driver("cuCtxGetCurrent", current)
    assert current.value == driver.contexts[0], "another context is current than before"
    if is_simulated(request.config):
        import fakegpu

        assert fakegpu.violations() == []
        fakegpu.reset()  # what is long over need not be compared with what comes


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A partner is not asked for a protocol that it does not speak."""
    here = Path(__file__).resolve().parent
    name = config.getoption("--partner")
    spoken = getattr(PARTNERS[name], "ways", frozenset())
    ways = {*spoken, *(f"takes-{way}" for way in spoken)}
    kept, dropped = [], []
    for item in items:
        marker = item.get_closest_marker("way")
        is_ours = here in Path(str(item.path)).parents
        wanted = marker is None or set(marker.args) <= {*ways, name}
        (kept if not is_ours or wanted else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept
