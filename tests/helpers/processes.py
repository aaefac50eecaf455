"""Runs this Python in a new process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def python(
    *command: str | Path, seconds: float = 300, cwd: str | Path | None = None, **variables: object
) -> subprocess.CompletedProcess[str]:
    """Runs this Python in a new process, with more environment variables."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, **{name: str(value) for name, value in variables.items()}},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def printed(code: str, **options: Any) -> str:
    """What the code prints, in a new process that must end with status 0."""
    done = python("-c", code, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def python_path(*first: str | Path) -> str:
    """A PYTHONPATH of these folders, and then of those of this process."""
    return os.pathsep.join(filter(None, [*map(str, first), os.environ.get("PYTHONPATH")]))
