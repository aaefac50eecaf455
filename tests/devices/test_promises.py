"""Each promise of docs/gpu.md has a test, and the tables of scenarios and driver calls are up to
date."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from helpers.processes import python

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def test_each_promise_of_the_manual_has_a_test() -> None:
    page = " ".join((ROOT / "docs" / "gpu.md").read_text(encoding="utf-8").split())
    promises = tomllib.loads((HERE / "promises.toml").read_text(encoding="utf-8"))["promises"]
    assert len(promises) >= 60
    for words, test in promises.items():
        file, _, name = test.partition("::")
        (path,) = HERE.rglob(file)
        assert words in page
        assert f"def {name}(" in path.read_text(encoding="utf-8"), test


def test_the_table_of_scenarios_is_up_to_date() -> None:
    done = python(ROOT / "tools" / "docs" / "gpu_scenarios.py", "--check")
    assert done.returncode == 0, "run tools/docs/gpu_scenarios.py"
    page = (ROOT / "docs" / "gpu-scenarios.md").read_text(encoding="utf-8")
    found = re.search(r"^(\d+) scenarios", page, re.MULTILINE)
    assert found and int(found[1]) >= 150


def test_the_table_of_driver_calls(isolated: Any) -> None:
    assert isolated("gpu_driver_calls.py") in (ROOT / "docs" / "gpu.md").read_text("utf-8"), (
        "python tests/isolated/gpu_driver_calls.py prints the table for docs/gpu.md"
    )
