"""First use of drivers and devices: the GIL is released, and no device is initialised in vain."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "isolated" / "gpu_first_use.py"
ENTRIES = re.findall(r'^    "(\w+)": lambda', SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="session", autouse=True)
def libraries() -> Path:
    """Builds the simulated drivers first: the time limits of the subprocesses exclude it."""
    from fakegpu import _libraries

    return _libraries.folder()


@pytest.mark.parametrize("entry", [*ENTRIES, "all_at_once"])
def test_the_gil_is_released(isolated: Any, entry: str) -> None:
    assert isolated("gpu_first_use.py", entry, leaks=True) == "alive\n"


@pytest.mark.parametrize("case", ["lookup_pinned", "lookup_interface"])
def test_a_lookup_initialises_no_device(isolated: Any, case: str) -> None:
    assert isolated("gpu_first_use.py", case, leaks=True) == "alive\n"
