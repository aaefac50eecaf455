#!/usr/bin/env python3
"""The gate `test-fakegpu`: builds the wheel of refarray-fakegpu, installs it into an environment of
its own, and runs its tests and the example with the missing wait there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import ROOT, quiet, run, say

SOURCE = ROOT / "fakegpu"
WORK = ROOT / "build" / "test-fakegpu"


def build_wheel() -> Path:
    """The wheel, built by the build tools of this environment."""
    say("wheel of refarray-fakegpu")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "wheel"]
    quiet([*pip, "--no-build-isolation", "--no-deps", "-w", WORK, SOURCE])
    [wheel] = WORK.glob("refarray_fakegpu-*.whl")
    with zipfile.ZipFile(wheel) as contents:
        libraries = [name for name in contents.namelist() if ".so" in name]
    print(f"{wheel.name}: {wheel.stat().st_size // 1024} KiB, {len(libraries)} libraries")
    return wheel


def environment(wheel: Path) -> Path:
    """The interpreter of a new environment with the wheel, pytest, and nothing else."""
    say("environment with the wheel and pytest")
    quiet([sys.executable, "-m", "venv", WORK / "venv"])
    python = WORK / "venv" / "bin" / "python"
    quiet([python, "-m", "pip", "--disable-pip-version-check", "-q", "install", wheel, "pytest"])
    return python


def run_rules(python: Path, plain: dict[str, str]) -> None:
    """The tests of the simulation, copied away from the package's sources."""
    shutil.copytree(ROOT / "tests" / "fakegpu" / "rules", WORK / "rules")
    options = ["-q", "-c", os.devnull, "-p", "no:cacheprovider", f"--rootdir={WORK}"]
    for rules in sorted((WORK / "rules").glob("*.py")):
        if rules.name not in {"conftest.py", "race.py"}:
            say(f"rules: {rules.stem}")
            run([python, "-m", "pytest", *options, rules], plain)


def run_example(python: Path, plain: dict[str, str]) -> None:
    """Exits unless the example's one test with the missing wait fails, by its race."""
    say("example: a missing wait")
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=ROOT / "examples" / "missing_wait",
        env=plain,
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout + done.stderr)
    if "1 failed, 3 passed" not in done.stdout or "race: a read is not ordered" not in done.stdout:
        sys.exit("the example's missing wait was not caught: expected 1 failed test by a race")


def main() -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    python = environment(build_wheel())
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    plain["PYTHONDONTWRITEBYTECODE"] = "1"
    run([python, "-c", "import fakegpu; print('loads', fakegpu.Drivers.here().cuda)"], plain)
    run_rules(python, plain)
    run_example(python, plain)


if __name__ == "__main__":
    main()
