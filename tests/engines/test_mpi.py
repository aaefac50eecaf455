"""mpi4py on two ranks, which mpi_ranks.py are: messages in place, and windows that both share."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.dtype_names import INTEGERS
from helpers.processes import python_path

from .samples import DTYPES

HERE = Path(__file__).resolve().parent


def run_ranks(
    part: str, monkeypatch: pytest.MonkeyPatch, *options: str
) -> subprocess.CompletedProcess[str]:
    """Runs a part of mpi_ranks.py on two ranks, with the mpiexec of the wheel `mpich`."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    assert mpiexec is not None, "the wheel mpich is not installed"
    monkeypatch.setenv("PYTHONPATH", python_path(HERE.parent))
    script = [sys.executable, "-W", "error", "-m", "mpi4py", HERE / "mpi_ranks.py", part]
    command = [mpiexec, "-n", "2", *script]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def exchanges() -> dict[str, int]:
    """How many exchanges each function of mpi_ranks.py has made, in one start of MPI."""
    with pytest.MonkeyPatch.context() as patch:
        done = run_ranks("all", patch)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("function", "count"),
    [
        ("every_dtype_travels_as_bytes", len(DTYPES)),
        ("dtypes_of_mpi_are_sent_as_they_are", len(INTEGERS) + 6),
        ("sums_are_made_in_place", len(INTEGERS) + 4),
        ("bytes_of_other_dtypes_are_not_added", 1),
        ("pickled_arrays_keep_dtype_and_shape", len(DTYPES)),
        ("windows_are_arrays", len(DTYPES)),
        ("views_that_are_not_dense_raise", 4),
        ("transposed_arrays_are_sent_in_the_order_of_memory", 1),
        ("read_only_arrays_are_not_received_into", 2),
        ("empty_arrays_are_sent", 3),
        ("arrays_that_are_too_small_raise", 1),
        ("arrays_of_a_device_raise", 2),
    ],
)
def test_two_ranks(exchanges: dict[str, int], function: str, count: int) -> None:
    assert exchanges[function] == count


def test_a_rank_that_dies_ends_the_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the window has no name any more, so that it ends with its ranks. MPICH leaves
    that of its messages."""
    done = run_ranks("die", monkeypatch)
    files, _, report = done.stdout.partition("\n")
    for name in json.loads(files):
        Path(name).unlink(missing_ok=True)
    assert done.returncode == signal.SIGKILL and "signal 9" in report, done.stdout + done.stderr
    (window,) = (name for name, is_window in json.loads(files).items() if is_window)
    assert window.endswith("(deleted)")
