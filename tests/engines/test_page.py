"""The examples of docs/engines.md, each in processes of its own."""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "engines"
COMMANDS = {
    "ray_store.py": [],
    "dask_workers.py": [],
    "mpi_window.py": ["-m", "mpi4py"],
}


def test_the_page_shows_these() -> None:
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\{literalinclude\} \.\./examples/engines/(\S+)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(COMMANDS) == sorted(path.name for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", COMMANDS)
def test_example_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    python = Path(sys.executable)
    ranks = [python.parent / "mpiexec", "-n", "2"] if "mpi" in name else []
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else it writes one into ~/.ray
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    command = [*ranks, python, *COMMANDS[name], FOLDER / name]
    with tempfile.TemporaryDirectory(prefix="ray") as folder:  # short, for names of sockets
        monkeypatch.setenv("RAY_TMPDIR", folder)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
