"""SciPy's functions take the arrays of a strict namespace and return some, with the same values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("scipy_calls.py")


def test_scipy_works_with_strict_arrays() -> None:
    for module in ("scipy", "array_api_strict"):
        pytest.importorskip(module)
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"calls": 33, "differences": {}}
