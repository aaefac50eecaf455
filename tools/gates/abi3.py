#!/usr/bin/env python3
"""Builds one abi3 wheel and tests it on the newest CPython >= 3.12 on PATH or among pyenv's, and
the array and its exchanges on the oldest too.

`abi3.py FOLDER` links the layers of a build of the C++ tests; see REFARRAY_LAYERS in
CMakeLists.txt. `abi3.py --environments` only prepares the environments.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from common import ROOT, candidates, ignore, marked, output, pip, say

WORK = ROOT / "build" / "abi3"
REQUIREMENTS = ROOT / "tools" / "requirements.py"
MINORS = range(12, 20)
# With a GIL, `make pytest` tests the same binary on the version of this environment.
OWN = "" if sysconfig.get_config_var("Py_GIL_DISABLED") else f"3.{sys.version_info.minor}"
# Folders of whose tests only those marked `every_python` run here. The others run once, with the
# interpreter of the environment: tests of the repository, of drivers, browsers and processes, of
# the kit itself, of huge arrays and of values, which layers compute that know no Python.
ONCE = ("compute", "devices", "fakegpu", "gates", "hard_inputs", "kit", "limits", "package")
# What the oldest repeats: the array and its exchanges, which use most of the C API, and its share
# of the failing allocations.
ON_OLDEST = ("array", "dlpack", "interop", "shared", "gates/test_oom.py")
PERCENT = re.compile(r"\[ *(\d+%)\]")
MOST_PROCESSES = 4  # for each interpreter
HEAVY = ("torch", "jax", "pyarrow", "mpi4py", "array_api_strict", "nanobind", "numba", "cuda_core")
LIGHT = " and ".join(f"not {name}" for name in HEAVY)
# Free-threaded interpreters cannot load abi3 modules; venv needs ensurepip.
PROBE = """
import sys, sysconfig, venv, ensurepip
sys.exit(1) if sysconfig.get_config_var("Py_GIL_DISABLED") else print(sys.executable)
"""


def interpreters() -> dict[str, Path]:
    """A working interpreter of the oldest and of the newest version, but not of this environment's;
    a pyenv shim may not run."""
    found = {}
    for minor in MINORS:
        for path in candidates(f"python3.{minor}"):
            probe = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, check=False)
            if probe.returncode == 0:
                found[f"3.{minor}"] = Path(probe.stdout.strip())
                break
    ends = (*list(found)[:1], *list(found)[-1:])
    return {version: found[version] for version in ends if version != OWN}


def environment(version: str, interpreter: Path) -> Path:
    """An environment with the light partners, rebuilt when the locks change."""
    folder = WORK / version
    python, stamp = folder / "bin" / "python", folder / "ready"
    inputs = [ROOT / "pyproject.toml", *sorted((ROOT / "tools" / "locks").glob("*.txt"))]
    wanted = "".join(path.read_text(encoding="utf-8") for path in inputs)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        say(f"environment for {version}")
        subprocess.run([interpreter, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, REQUIREMENTS, "--install", "test"], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def build_wheel(python: Path, layers: list[str]) -> Path:
    """Builds in isolation, with the versions of the lock."""
    dist = WORK / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    pins = output([python, REQUIREMENTS, "--pins", "build"])
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "pins.txt").write_text(pins, encoding="utf-8")
    os.environ["PIP_CONSTRAINT"] = str(WORK / "pins.txt")
    settings = [f"--config-settings=cmake.define.REFARRAY_LAYERS={folder}" for folder in layers]
    pip(python, "wheel", "--no-deps", *settings, "--wheel-dir", dist, ROOT)
    (wheel,) = dist.glob("refarray-*-abi3-*.whl")
    return wheel


def log(version: str) -> Path:
    return WORK / f"{version}.log"


def run_once() -> list[Path]:
    """The test files that do not run here."""
    here = set(marked("every_python"))
    files = (path for name in ONCE for path in (ROOT / "tests" / name).rglob("test_*.py"))
    return [path for path in sorted(files) if path not in here]


def start_tests(python: Path, version: str, is_newest: bool) -> subprocess.Popen[bytes]:
    """Starts the tests without heavy partners; their output goes to a log file."""
    processes = min(MOST_PROCESSES, (os.cpu_count() or 1) // (1 if is_newest else 2))
    tests = ROOT / "tests"
    paths = [tests] if is_newest else [tests / name for name in ON_OLDEST]
    # Only tests/partners declares the marks of heavy partners, and pytest refuses unknown ones.
    wanted = f"{LIGHT} and not repository" if is_newest else "not repository"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", wanted]
    if processes > 1:
        command += [f"--numprocesses={processes}", "--dist=worksteal"]
    with log(version).open("wb") as output:
        return subprocess.Popen([*command, *ignore(run_once()), *paths], stdout=output, cwd=ROOT)


def show_progress(runs: dict[str, subprocess.Popen[bytes]]) -> None:
    """Prints how far the tests are, every ten seconds until all have ended."""
    while any(run.poll() is None for run in runs.values()):
        time.sleep(10)
        shown = {version: PERCENT.findall(log(version).read_text()) for version in runs}
        ends = (f"{version}: {found[-1] if found else '0%'}" for version, found in shown.items())
        say(", ".join(ends))


def is_passed(version: str, run: subprocess.Popen[bytes]) -> bool:
    status = run.wait()
    text = log(version).read_text(encoding="utf-8")
    say(f"on {version}, exit status {status}")
    print(text if status != 0 else text.splitlines()[-1], flush=True)
    return status == 0


def main(arguments: list[str]) -> int:
    found = interpreters()
    if not found:
        say("no other CPython >= 3.12 was found: the abi3 wheel is not tested")
        return 0
    pythons = {version: environment(version, path) for version, path in found.items()}
    if arguments == ["--environments"]:
        return 0
    first = next(iter(pythons))
    say(f"one abi3 wheel, built in isolation by {first}")
    wheel = build_wheel(pythons[first], arguments)
    subprocess.run([sys.executable, "-m", "abi3audit", "--strict", "--summary", wheel], check=True)
    for python in pythons.values():
        pip(python, "install", "--no-deps", "--force-reinstall", wheel)
    say(f"{wheel.name} on {', '.join(pythons)}, side by side")
    *_, newest = pythons
    runs = {
        version: start_tests(python, version, version == newest)
        for version, python in pythons.items()
    }
    show_progress(runs)
    failed = [version for version, run in runs.items() if not is_passed(version, run)]
    if failed:
        say(f"failed on {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
