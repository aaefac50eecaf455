"""pytest fixtures of hard inputs: `pytest_plugins = ["refarray.testing.fixtures"]` in a conftest.

A test that names `hard_array`, `hard_producer` or `importable_producer` runs once for each. The ini
option `hard_array_devices` adds devices to `cpu`: `simulated` loads refarray-fakegpu and adds
`cuda:0` and pinned memory.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from refarray.testing.arrays import HardArray, hard_arrays
from refarray.testing.checking import CheckedConsumer, checked
from refarray.testing.producers import PRODUCERS, HardProducer

if TYPE_CHECKING:
    from refarray import Array
    from refarray.conformance import Spy

DEVICES = "hard_array_devices"
SIMULATED = "simulated"
SIMULATED_DEVICES = ("cuda:0", "cuda_host")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        DEVICES,
        "devices of the fixture hard_array: names of refarray, or `simulated`",
        type="args",
        default=["cpu"],
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "hard_arrays(layouts=, dtypes=, devices=, xp=, kinds=): restrict the fixture hard_array; "
        "the arguments are those of refarray.testing.hard_arrays()",
    )


def devices(config: pytest.Config) -> list[str]:
    """The devices of the ini option. A UsageError if the simulated ones are not installed."""
    out: list[str] = []
    for name in config.getini(DEVICES):
        if name != SIMULATED:
            out.append(name)
            continue
        try:
            fakegpu = import_module("fakegpu")
        except ImportError:
            raise pytest.UsageError(
                f"{DEVICES} = simulated needs the package refarray-fakegpu"
            ) from None
        fakegpu.load()
        out += SIMULATED_DEVICES
    return out


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrizes `hard_array` by the marker and the ini option."""
    if "hard_array" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("hard_arrays")
    chosen: dict[str, Any] = dict(marker.kwargs) if marker else {}
    if "devices" not in chosen:
        chosen["devices"] = devices(metafunc.config)
    found = hard_arrays(**chosen)
    metafunc.parametrize("hard_array", found, indirect=True, ids=lambda each: each.id)


@pytest.fixture
def hard_array(request: pytest.FixtureRequest) -> Array:
    """A hard array; the test runs once for each of refarray.testing.hard_arrays()."""
    chosen: HardArray = request.param
    return chosen.make()


@pytest.fixture(params=list(PRODUCERS))
def hard_producer(request: pytest.FixtureRequest) -> HardProducer:
    """A hard producer; the test runs once for each kind. `importable` says what to expect."""
    return HardProducer(request.param)


@pytest.fixture(params=[name for name, kind in PRODUCERS.items() if kind.importable])
def importable_producer(request: pytest.FixtureRequest) -> HardProducer:
    """A hard producer that every consumer of the newest protocol can import."""
    return HardProducer(request.param)


@pytest.fixture
def checked_producer() -> Callable[..., AbstractContextManager[Spy]]:
    """The function checked: `with checked_producer(array) as x: mylib.total(x)`."""
    return checked


@pytest.fixture
def checked_consumer() -> CheckedConsumer:
    """A refarray.testing.CheckedConsumer."""
    return CheckedConsumer()
