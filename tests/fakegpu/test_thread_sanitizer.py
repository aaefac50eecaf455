"""The simulator under ThreadSanitizer: a missing wait is a data race in every run, even if the
result is right."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from helpers.processes import printed, python

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "fakegpu"
RACE_FOUND = 66


@pytest.fixture(scope="module")
def sanitized() -> dict[str, str]:
    """Variables of a process that loads simulated drivers built with ThreadSanitizer."""
    variables = {"CXXFLAGS": "-fsanitize=thread -g", "PYTHONPATH": str(PACKAGE)}
    printed("from fakegpu import _libraries; _libraries.folder()", seconds=600, **variables)
    asked = [os.environ.get("CXX", "g++"), "-print-file-name=libtsan.so"]
    library = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return variables | {"LD_PRELOAD": library, "TSAN_OPTIONS": f"exitcode={RACE_FOUND}"}


@pytest.mark.long  # compiles the drivers once more
@pytest.mark.not_sanitized("only one sanitizer can be loaded in a process")
@pytest.mark.parametrize(
    ("scenario", "status", "reports"),
    [
        ("ordered", 0, []),
        ("missing-wait", RACE_FOUND, ["data race"]),
        ("early-free", RACE_FOUND, ["data race"]),
    ],
)
def test_only_missing_waits_are_reported(
    sanitized: dict[str, str], scenario: str, status: int, reports: list[str]
) -> None:
    done = python(HERE / "rules" / "race.py", scenario, seconds=300, **sanitized)
    assert done.returncode == status, done.stderr
    assert all(word in done.stderr for word in reports)
    assert bool(reports) == ("WARNING: ThreadSanitizer" in done.stderr)
