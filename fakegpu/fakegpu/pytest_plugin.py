"""The pytest plugin: `simulated_gpu` runs a test on simulated drivers and fails it for unordered
accesses, other misuse of the driver, and device memory that it leaks.

The ini options `fakegpu_cuda` and `fakegpu_hip` set the numbers of devices. `--fakegpu NAME`
chooses the drivers among `fakegpu.PERSONALITIES`.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import fakegpu
import pytest

USUAL = next(iter(fakegpu.PERSONALITIES))
GPU = pytest.StashKey["SimulatedGpu"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("fakegpu", "simulated CUDA and HIP drivers")
    group.addoption(
        "--fakegpu",
        choices=list(fakegpu.PERSONALITIES),
        default=USUAL,
        help=f"the simulated drivers of the fixture simulated_gpu; default: {USUAL}",
    )
    parser.addini("fakegpu_cuda", "the number of simulated NVIDIA devices", default="2")
    parser.addini("fakegpu_hip", "the number of simulated AMD devices", default="1")


@dataclass
class SimulatedGpu:
    """The simulated drivers during one test."""

    drivers: fakegpu.Drivers
    """The files of the libraries; `ctypes.CDLL("libcuda.so.1")` opens the same."""
    before: frozenset[str]
    taken: list[dict[str, Any]] = field(default_factory=list)

    def violations(self, *kinds: str) -> list[dict[str, Any]]:
        """Wait for all work, and return the violations so far, which then do not fail the test."""
        fakegpu.run()
        found = fakegpu.violations(*kinds)
        self.taken += found
        return found

    def fail_for_violations(self) -> None:
        """Fail the test if the drivers saw a violation that it did not ask for."""
        seen = list(self.taken)
        if new := [each for each in self.violations() if each not in seen]:
            pytest.fail("\n".join(map(violation_text, new)), pytrace=False)

    def leaks(self) -> list[dict[str, Any]]:
        """The memory that was allocated since the test began and is not freed."""
        gc.collect()
        fakegpu.run()
        return [item for item in fakegpu.live("memory") if repr(item) not in self.before]


@pytest.fixture(scope="session")
def simulated_drivers(pytestconfig: pytest.Config) -> fakegpu.Drivers:
    """The simulated drivers, started and opened once: a process opens a driver only once."""
    counts = {name: device_count(pytestconfig, name) for name in ("cuda", "hip")}
    drivers = fakegpu.load(**counts, **fakegpu.PERSONALITIES[pytestconfig.getoption("--fakegpu")])
    for library in drivers:  # libraries that open one by its name get the open one
        ctypes.CDLL(str(library))
    return drivers


def device_count(config: pytest.Config, vendor: str) -> int:
    """The number of devices of an ini option. A UsageError unless it is 0 to 8."""
    text = str(config.getini(f"fakegpu_{vendor}"))
    if not text.isdecimal() or not 0 <= int(text) <= 8:
        raise pytest.UsageError(f"fakegpu_{vendor} is {text!r}; it must be a number from 0 to 8")
    return int(text)


@pytest.fixture
def simulated_gpu(
    request: pytest.FixtureRequest, simulated_drivers: fakegpu.Drivers
) -> Iterator[SimulatedGpu]:
    """Simulated CUDA and HIP devices.

    After the test all held work runs. The test fails if the drivers saw a violation that the test
    did not ask for with `violations()`. After the teardown of the fixtures that use this one, it
    also fails if memory was allocated that is not freed. Other objects, such as contexts and
    streams, may stay: libraries keep them.
    """
    gc.collect()
    fakegpu.run()
    fakegpu.reset()
    gpu = SimulatedGpu(simulated_drivers, frozenset(map(repr, fakegpu.live("memory"))))
    request.node.stash[GPU] = gpu
    yield gpu
    leaked = gpu.leaks()
    gpu.fail_for_violations()
    if leaked:
        pytest.fail("\n".join(map(leak_text, leaked)), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Checks what the test did before its fixtures are torn down, so that it counts as failed."""
    yield
    if gpu := item.stash.get(GPU, None):
        gpu.fail_for_violations()


def violation_text(violation: dict[str, Any]) -> str:
    """The violation and the calls involved, a line each."""
    lines = [f"{violation['kind']}: {violation['message']}"]
    for name in ("first", "second"):
        if call := violation[name]:
            lines.append(f"  {name}: {call_text(call)}")
    return "\n".join(lines)


def call_text(call: dict[str, Any]) -> str:
    """A driver call with its place: "cuMemcpyAsync, call 12, device 0, stream 0x7f…"."""
    parts = [call["call"], f"call {call['seq']}", f"device {call['device']}"]
    if call.get("stream"):
        parts.append(f"stream {call['stream']:#x}")
    if call.get("label"):
        parts.append(call["label"])
    return ", ".join(parts)


def leak_text(item: dict[str, Any]) -> str:
    """A line on memory that was not freed."""
    where = f"{item['vendor']} device {item['device']}"
    return f"leak: {item['bytes']} bytes of {item['kind']} memory of {where} were not freed"
