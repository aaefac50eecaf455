"""Runs each file of `simulated` on several simulated driver versions, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parents[1] / "devices" / "simulated"
FILES = sorted(path.name for path in HERE.glob("sim_*.py"))
DRIVERS: dict[str, dict[str, Any]] = {
    "cuda12.8-hip6.3": {},
    "cuda12.0-hip5.2": {"cuda_version": 12000, "hip_version": "5.2"},
    "cuda11.4-hip7.0": {"cuda_version": 11040, "hip_version": "7.0"},
    "nopools-hip10.0": {"pools": 0, "hip_version": "10.0"},
    "latest-first": {"order": "latest", "reuse": 1},
}


def pairs() -> Iterator[Any]:
    """Every file on every driver. `make test` runs each on the driver that is hardest on it and on
    one of the others in turn."""
    *versions, hardest = DRIVERS
    for number, file in enumerate(FILES):
        short = {hardest, versions[number % len(versions)]}
        for name in DRIVERS:
            marks = [] if name in short else [pytest.mark.long]
            yield pytest.param(file, name, marks=marks, id=f"{file}-{name}")


@pytest.fixture(scope="session")
def libraries() -> Path:
    """Built before the first of the processes, which would wait for it."""
    from fakegpu import _libraries

    return _libraries.folder()


@pytest.mark.parametrize(("file", "drivers"), list(pairs()))
def test_simulated(libraries: Path, file: str, drivers: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
         "-o", "faulthandler_timeout=200", "-o", "faulthandler_exit_on_timeout=true",
         str(HERE / file)],
        env={**os.environ, "SIMULATED_DRIVERS": json.dumps(DRIVERS[drivers])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_device_that_somebody_resets(libraries: Path, isolated: Any) -> None:
    assert isolated("gpu_dead_context.py", leaks=True) == "alive\n"
