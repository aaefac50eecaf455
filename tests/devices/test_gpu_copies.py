"""Copies on, to, from and between devices, on the simulated drivers: the device kernels themselves,
compiled for the host, launched by the shipped extension module."""

from __future__ import annotations

from typing import Any

import pytest

SCENARIOS = ("layouts", "casts", "assignments", "large", "driver_calls", "no_kernels", "faults")


@pytest.mark.parametrize("vendor", ["cuda", "rocm"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_copies_are_those_of_the_cpu(isolated: Any, scenario: str, vendor: str) -> None:
    assert isolated("gpu_copies.py", scenario, vendor, seconds=400, leaks=True) == "alive\n"
