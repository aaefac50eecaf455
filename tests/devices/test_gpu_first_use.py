"""First use of drivers and devices: the GIL is released, and no device is initialised in vain. A
device's first kernels and memory pool, and the exit of the process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.every_python, pytest.mark.usefixtures("simulated_drivers")]

SCRIPT = Path(__file__).resolve().parents[1] / "isolated" / "gpu_first_use.py"
ENTRIES = re.findall(r'^    "(\w+)": lambda', SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("entry", [*ENTRIES, "all_at_once"])
def test_the_gil_is_released(isolated: Any, entry: str) -> None:
    assert isolated("gpu_first_use.py", entry, leaks=True) == "alive\n"


@pytest.mark.parametrize("case", ["lookup_pinned", "lookup_interface"])
def test_a_lookup_initialises_no_device(isolated: Any, case: str) -> None:
    assert isolated("gpu_first_use.py", case, leaks=True) == "alive\n"


@pytest.mark.parametrize("case", ["kernels", "pool", "pool_without_peers"])
def test_the_first_kernels_and_the_pool(isolated: Any, case: str) -> None:
    assert isolated("gpu_first_use.py", case, leaks=True) == "alive\n"


@pytest.mark.parametrize("mode", ["busy", "lent"])
def test_exit_waits_without_the_gil(isolated: Any, mode: str) -> None:
    """The simulated driver reports a wait with the GIL held: a host function that the driver runs
    for a stream, or a thread that ends, may need it."""
    assert "waited []\n" in isolated("gpu_exit.py", mode, leaks=True, seconds=300)
