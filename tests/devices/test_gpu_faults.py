"""Fault injection: each driver call of a scenario fails once, with the right exception and no leak.
`make test` fails only a scenario's first call of each driver function."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.not_repeated

SWEEP = Path(__file__).resolve().parents[1] / "devices" / "driver" / "sweep_faults.py"
SCENARIOS = re.findall(r"^@scenario\ndef (\w+)", SWEEP.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="session")
def libraries() -> Path:
    """Builds the simulated drivers first: the time limits of the subprocesses exclude it."""
    from fakegpu import _libraries

    return _libraries.folder()


def sweep(*arguments: str) -> str:
    """The output of sweep_faults.py, which must find no problem."""
    command = [sys.executable, str(SWEEP), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.not_sanitized("it forks hundreds of processes")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_first_call_of_each_function_fails(libraries: Path, scenario: str) -> None:
    counts = re.search(r"(\d+) calls, (\d+) of them failed once", sweep(scenario, "--first"))
    assert counts and 5 < int(counts[2]) < int(counts[1])


@pytest.mark.long
@pytest.mark.not_sanitized("it forks hundreds of processes")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_call_fails(libraries: Path, scenario: str) -> None:
    counts = re.search(r"(\d+) calls, (\d+) of them failed once", sweep(scenario))
    assert counts and counts[1] == counts[2]
