"""How many driver calls exchanges of device memory make, against the table of the manual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gpu.md"


def test_the_table_of_the_manual(isolated: Any) -> None:
    assert isolated("gpu_driver_calls.py") in PAGE.read_text(encoding="utf-8"), (
        "python tests/isolated/gpu_driver_calls.py prints the table for docs/gpu.md"
    )
