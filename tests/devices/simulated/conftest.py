"""Loads the simulated drivers for the files of this folder. test_gpu.py runs each file in its own
process, because a process opens a driver only once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[3] / "fakegpu"), str(Path(__file__).parent)]

import fakegpu  # noqa: E402
from capturing import DEVICES, MODES, SETTINGS, Captures, capturing, driver_of  # noqa: E402
from fakegpu.driving import Driver  # noqa: E402

#: Kinds of objects that refarray keeps for the life of the process.
KEPT = {"context", "pool", "event", "module"}


@pytest.fixture(scope="session", autouse=True)
def drivers() -> fakegpu.Drivers:
    settings = {"cuda": 2, "hip": 2, **SETTINGS}
    return fakegpu.load(**settings)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def driver(device: str) -> Driver:
    """The driver of the device, as another library uses it; its device 0 is current."""
    return driver_of(device)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> int:
    """A mode of capture."""
    return MODES[request.param]


@pytest.fixture
def captures(driver: Driver, mode: int) -> Captures:
    return partial(capturing, driver, mode=mode)


def finish() -> None:
    """Completes all work and releases everything that waits for it."""
    import refarray

    gc.collect()
    fakegpu.run()
    for device in ("cuda:0", "cuda:1", "rocm:0", "rocm:1"):
        refarray.synchronize(device)
    fakegpu.run()


def is_kept(item: dict[str, Any]) -> bool:
    """Whether refarray keeps the object for the life of the process; so it does the pinned staging
    memory."""
    return item["what"] in KEPT or (item.get("kind") == "pinned" and item["bytes"] == 4 << 20)


def left() -> list[dict[str, Any]]:
    return [item for item in fakegpu.live() if not is_kept(item)]


@pytest.fixture(autouse=True)
def clean(drivers: fakegpu.Drivers) -> Iterator[None]:
    """Fails a test that leaks driver objects or misuses the driver; 8 streams may stay pooled."""
    finish()
    gc.freeze()  # the next collection visits what this test makes alone
    before = left()
    fakegpu.reset()
    yield
    finish()
    assert fakegpu.violations() == []
    new = [item for item in left() if item not in before]
    assert [item for item in new if item["what"] != "stream" or len(new) > 8] == [], new
