"""Runs each file of simulated/ on several simulated driver versions, each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakegpu import PERSONALITIES as DRIVERS

HERE = Path(__file__).resolve().parents[1] / "devices" / "simulated"
FILES = sorted(path.name for path in HERE.glob("sim_*.py"))


def pairs() -> Iterator[Any]:
    """Every file with every driver version. `make test` runs each file with its strictest driver
    and one other, chosen in rotation."""
    *versions, hardest = DRIVERS
    for number, file in enumerate(FILES):
        short = {hardest, versions[number % len(versions)]}
        for name in DRIVERS:
            marks = [] if name in short else [pytest.mark.long]
            yield pytest.param(file, name, marks=marks, id=f"{file}-{name}")


@pytest.fixture(scope="session")
def libraries() -> Path:
    """Builds the simulated drivers first: the time limits of the subprocesses exclude it."""
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


def test_a_device_reset_by_another_library(libraries: Path, isolated: Any) -> None:
    assert isolated("gpu_dead_context.py", leaks=True) == "alive\n"


ALLOCATES = """
import fakegpu
fakegpu.load()
import refarray as ra
try:
    ra.zeros(3, device="cuda:0")
except BufferError as error:
    print(error)
print({r["call"] for r in fakegpu.trace()} & {"cuMemAlloc", "cuMemAllocFromPoolAsync"})
"""


@pytest.mark.parametrize(
    ("chosen", "printed"),
    [
        ("", "{'cuMemAllocFromPoolAsync'}"),
        ("pool", "{'cuMemAllocFromPoolAsync'}"),
        ("plain", "{'cuMemAlloc'}"),
        ("Plain", "REFARRAY_CUDA_ALLOCATOR is 'Plain'; it must be pool or plain"),
    ],
)
def test_the_environment_chooses_the_allocator(libraries: Path, chosen: str, printed: str) -> None:
    """cuMemAlloc is for memory that other processes open by cudaIpcGetMemHandle."""
    path = [str(HERE.parents[1] / "fakegpu"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", ALLOCATES],
        env={
            **os.environ,
            "REFARRAY_CUDA_ALLOCATOR": chosen,
            "PYTHONPATH": os.pathsep.join(path),
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert printed in done.stdout
