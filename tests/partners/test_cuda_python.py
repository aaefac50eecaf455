"""Numba and cuda.core on the simulated driver, each in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.processes import python, python_path

HERE = Path(__file__).resolve().parent / "simulated"
FAKEGPU = HERE.parents[2] / "fakegpu"


@pytest.mark.not_sanitized("the driver's pages trap, which a sanitizer reports")
@pytest.mark.parametrize(
    "file",
    [
        pytest.param("sim_numba.py", marks=pytest.mark.numba),
        pytest.param("sim_cuda_core.py", marks=pytest.mark.cuda_core),
    ],
)
def test_a_library_on_the_simulated_driver(file: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    path = python_path(FAKEGPU, HERE.parents[1])
    done = python("-m", "pytest", *options, HERE / file, seconds=300, PYTHONPATH=path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
