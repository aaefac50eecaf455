"""Every driver call that a scenario makes fails once: the right exception, nothing left behind.
`make test` lets each function of the drivers fail where a scenario calls it first."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).resolve().parents[1] / "devices" / "simulated" / "sweep_faults.py"
SCENARIOS = re.findall(r"^@scenario\ndef (\w+)", SWEEP.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="session")
def libraries() -> Path:
    """Built before the first of the processes, which would wait for it."""
    from fakegpu import _libraries

    return _libraries.folder()


def sweep(*arguments: str) -> str:
    """What it printed, having found nothing."""
    command = [sys.executable, str(SWEEP), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.not_sanitized("it forks hundreds of processes")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_function_fails_once(libraries: Path, scenario: str) -> None:
    said = re.search(r"(\d+) calls, (\d+) of them failed once", sweep(scenario, "--first"))
    assert said and 5 < int(said[2]) < int(said[1])


@pytest.mark.long
@pytest.mark.not_sanitized("it forks hundreds of processes")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_call_fails_once(libraries: Path, scenario: str) -> None:
    said = re.search(r"(\d+) calls, (\d+) of them failed once", sweep(scenario))
    assert said and said[1] == said[2]
