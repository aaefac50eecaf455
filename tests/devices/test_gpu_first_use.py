"""Loading a driver for the first time does not keep other Python threads waiting, whoever asks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "isolated" / "gpu_first_use.py"
ENTRIES = re.findall(r'^    "(\w+)": lambda', SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="session", autouse=True)
def libraries() -> Path:
    """Built before the first of the processes, which would wait for it."""
    from fakegpu import _libraries

    return _libraries.folder()


@pytest.mark.parametrize("entry", [*ENTRIES, "all_at_once"])
def test_the_gil_is_given_up(isolated: Any, entry: str) -> None:
    assert isolated("gpu_first_use.py", entry, leaks=True) == "alive\n"
