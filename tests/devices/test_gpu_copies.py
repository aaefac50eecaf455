"""Device copies on the simulated drivers: the extension module launches the device kernels, which
are compiled for the host."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.not_repeated

SCENARIOS = ("layouts", "casts", "assignments", "large", "driver_calls", "no_kernels", "faults")


@pytest.mark.parametrize("vendor", ["cuda", "rocm"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_copies_equal_those_of_the_cpu(isolated: Any, scenario: str, vendor: str) -> None:
    assert isolated("gpu_copies.py", scenario, vendor, seconds=400, leaks=True) == "alive\n"
