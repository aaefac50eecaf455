"""A simulated driver that runs the latest work first unless it is ordered, and checks after each
test that everything was."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import fakegpu
import pytest

import refarray as ra


@pytest.fixture(scope="session", autouse=True)
def driver() -> None:
    """Opened by the file's name, before a library opens libcuda.so.1."""
    ctypes.CDLL(str(fakegpu.load(cuda=1, hip=0, cuda_version=13000, order="latest").cuda))


@pytest.fixture(autouse=True)
def ordered(driver: None, request: pytest.FixtureRequest) -> Iterator[None]:
    fakegpu.reset()
    yield
    ra.synchronize("cuda:0")
    expected = {mark.args[0] for mark in request.node.iter_markers("violation")}
    # Numba synchronizes the device with the GIL held, which is not refarray's fault.
    assert {each["kind"] for each in fakegpu.violations()} - {"gil-held"} == expected


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "violation(kind): the partner violates the driver's rules")
