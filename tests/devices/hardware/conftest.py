"""Selects the driver of the hardware tests (a real NVIDIA driver, or the simulated one to test the
tests) and the partner library, one per process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from devices.hardware.gpu_partners import DEVICE, NEW, OLD, PARTNERS, Partner, full
from fakegpu.driving import Cuda
from helpers.processes import python

import refarray as ra

#: Duration of the kernel that delays a write; an exchange takes microseconds.
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
Busy = Callable[[int], bool]
Seen = Callable[[str], None]


def begin_write(kind: str, delay: Delay, is_busy: Busy) -> tuple[Any, ra.Stream]:
    """An array of that kind of memory whose last write is unfinished, and the stream of it."""
    array, new = full(OLD, kind), full(NEW)
    stream = ra.Stream(DEVICE)
    ra.synchronize(DEVICE)
    delay(stream.handle)
    with ra.use_stream(stream):
        array[...] = new
    assert is_busy(stream.handle)
    return array, stream


def printed(library: str, code: str, **variables: str) -> str:
    """What a process prints, or how it ends."""
    done = python("-c", code, **variables, REFARRAY_LIBCUDA=library)
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-600:]}"


def is_simulated(config: pytest.Config) -> bool:
    return bool(config.getoption("--hardware") == "simulated")


def load_simulated() -> str:
    """The simulated driver. It runs the latest work first unless it is ordered, so that a missing
    wait shows."""
    import fakegpu

    return str(fakegpu.load(cuda=1, hip=0, order="latest").cuda)


@pytest.fixture(scope="session")
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The driver library."""
    if not is_simulated(request.config):
        return os.environ.get("REFARRAY_LIBCUDA") or "libcuda.so.1"
    import fakegpu

    fakegpu.share_devices(tmp_path_factory.mktemp("room") / "room")
    return load_simulated()


@pytest.fixture(scope="session")
def driver(library: str) -> Cuda:
    return Cuda(library)


@pytest.fixture(scope="session")
def delay(driver: Cuda, request: pytest.FixtureRequest) -> Delay:
    """Queues a long kernel on a stream, so that later writes there are delayed."""
    if is_simulated(request.config):
        return lambda handle: None
    module = driver.made("cuModuleLoadData", SPIN)
    kernel = driver.made("cuModuleGetFunction", module, b"spin")
    return lambda handle: driver.launch(kernel, handle, NANOSECONDS)


@pytest.fixture(scope="session")
def is_busy(driver: Cuda) -> Busy:
    """Whether the stream has unfinished work; otherwise an order test proves nothing."""
    return lambda handle: driver.code("cuStreamQuery", handle) == UNFINISHED


@pytest.fixture(scope="session")
def partner(driver: Cuda, request: pytest.FixtureRequest) -> Partner:
    return PARTNERS[request.config.getoption("--partner")](driver)


@pytest.fixture(scope="session", autouse=True)
def loaded(driver: Cuda) -> None:
    """Loads refarray's kernels first: loading them in a test would wait for the delay kernel."""
    for kind in (DEVICE, "cuda_host", "cuda_managed:0"):
        array = ra.full((64,), 1.0, dtype="float32", device=kind)
        array[...] = 2.0
        array[::2] = array[1::2].copy()
        array.to_device("cpu")
    ra.synchronize(DEVICE)


@pytest.fixture
def seen(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Seen:
    """Says in the record what a test saw; what was expected is its docstring."""
    record_property("expected", " ".join(str(request.function.__doc__).split()))
    return lambda text: record_property("seen", text)


@pytest.fixture(autouse=True)
def settled(driver: Cuda, request: pytest.FixtureRequest) -> Iterator[None]:
    """Synchronizes before and after each test; the simulated driver must report no violation."""
    ra.synchronize(DEVICE)
    yield
    ra.synchronize(DEVICE)
    current = ctypes.c_uint64()
    driver("cuCtxGetCurrent", current)
    assert current.value == driver.contexts[0], "the current context has changed"
    if is_simulated(request.config):
        import fakegpu

        assert fakegpu.violations() == []
        fakegpu.reset()  # later work need not be checked against this test's


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects tests that the partner cannot run; see the marker `needs`."""
    here = Path(__file__).resolve().parent
    name = config.getoption("--partner")
    supported = getattr(PARTNERS[name], "protocols", frozenset())
    available = {name, *supported, *(f"import-{protocol}" for protocol in supported)}
    kept, dropped = [], []
    for item in items:
        marker = item.get_closest_marker("needs")
        is_ours = here in Path(str(item.path)).parents
        wanted = marker is None or set(marker.args) <= available
        (kept if not is_ours or wanted else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept
