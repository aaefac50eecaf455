"""Tests of the simulator itself. Each file of rules/ runs in a new process, because it restarts the
machine, which would break other tests of this session that use it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.processes import python, python_path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "fakegpu"
RULES = sorted({path.stem for path in HERE.glob("rules/*.py")} - {"conftest", "race"})


@pytest.mark.not_sanitized("under a sanitizer, expected crashes become reports")
@pytest.mark.parametrize("rules", RULES)
def test_the_rules_hold(rules: str) -> None:
    command = ["-X", "faulthandler", "-m", "pytest", "-q", "-c", os.devnull, f"rules/{rules}.py"]
    options = ["--rootdir=rules", "--confcutdir=rules", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = python(*command, *options, seconds=500, cwd=HERE, PYTHONPATH=python_path(PACKAGE))
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
