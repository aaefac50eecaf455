"""Every driver call that a scenario makes fails once: the right exception, nothing left behind."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).resolve().parent / "gpu" / "sweep_faults.py"
SCENARIOS = re.findall(r"^@scenario\ndef (\w+)", SWEEP.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="session")
def libraries() -> Path:
    """Built before the first of the processes, which would wait for it."""
    from fakegpu import _libraries

    return _libraries.folder()


@pytest.mark.not_sanitized("it forks hundreds of processes")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_call_fails_once(libraries: Path, scenario: str) -> None:
    done = subprocess.run(
        [sys.executable, SWEEP, scenario], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"\d+ calls, each failed once", done.stdout)
