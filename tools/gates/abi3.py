#!/usr/bin/env python3
"""Builds one abi3 wheel and tests it on every CPython >= 3.12 on PATH or among pyenv's.

`abi3.py FOLDER` takes the kernels from another build of the same sources; see REFARRAY_OBJECTS in
CMakeLists.txt.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "abi3"
MINORS = range(12, 20)
# Tests of the repository, drivers, browsers, processes, of the kit itself and of values run only
# once, with the interpreter of the environment.
NOT_HERE = [
    "tests/fakegpu",
    "tests/gates/test_bench_check.py",
    "tests/hard_inputs/test_fixtures.py",
    "tests/package/test_bench_docs.py",
    "tests/kit/test_browser.py",
    "tests/gates/test_canary.py",
    "tests/kit/test_conformance.py",
    "tests/kit/test_conformance_devices.py",
    "tests/kit/test_kit_errors.py",
    "tests/package/test_docs.py",
    "tests/devices/test_driver_traps.py",
    "tests/devices/test_gpu.py",
    "tests/devices/test_gpu_faults.py",
    "tests/devices/test_gpu_hardware.py",
    "tests/devices/test_gpu_kernels.py",
    "tests/gates/test_architecture.py",
    "tests/gates/test_house.py",
    "tests/kit/test_matrix.py",
    "tests/kit/test_fork_server.py",
    "tests/package/test_extensions.py",
    "tests/package/test_headers.py",
    "tests/package/test_package.py",
    "tests/package/test_releases.py",
    "tests/kit/test_hang_detector.py",
    "tests/kit/test_requirements.py",
    "tests/kit/test_mutants.py",
    # The values of computations, which layers compute that know no Python.
    "tests/array_api/decompositions",
    "tests/array_api/fourier",
    "tests/array_api/linear_algebra",
    "tests/array_api/properties",
    "tests/array_api/test_complex_values.py",
    "tests/array_api/test_elementwise_layouts.py",
    "tests/array_api/test_elementwise_values.py",
    "tests/array_api/test_long_reductions.py",
    "tests/array_api/test_random_values.py",
    "tests/array_api/test_reduction_order.py",
    "tests/array_api/test_scan_layouts.py",
    "tests/array_api/test_special_cases.py",
    "tests/array_api/test_zero_strides.py",
]
MOST_PROCESSES = 4  # for each interpreter
HEAVY = ("torch", "jax", "pyarrow", "mpi4py", "array_api_strict", "nanobind")
LIGHT = " and ".join(f"not {name}" for name in HEAVY)
# Free-threaded interpreters cannot load abi3 modules; venv needs ensurepip.
PROBE = """
import sys, sysconfig, venv, ensurepip
sys.exit(1) if sysconfig.get_config_var("Py_GIL_DISABLED") else print(sys.executable)
"""


def candidates(minor: int) -> Iterator[Path]:
    if found := shutil.which(f"python3.{minor}"):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(pyenv.glob(f"3.{minor}.*/bin/python3.{minor}"), reverse=True)


def interpreters() -> dict[str, Path]:
    """The first working interpreter of each minor version; a pyenv shim may not run."""
    found = {}
    for minor in MINORS:
        for path in candidates(minor):
            probe = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, check=False)
            if probe.returncode == 0:
                found[f"3.{minor}"] = Path(probe.stdout.strip())
                break
    return found


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def pip(python: Path, *arguments: str | Path) -> None:
    command = [python, "-m", "pip", "--disable-pip-version-check", "-qq", *arguments]
    subprocess.run(command, check=True, cwd=ROOT)


def environment(version: str, interpreter: Path) -> Path:
    """An environment with the light partners, rebuilt when pyproject.toml changes."""
    folder = WORK / version
    python, stamp = folder / "bin" / "python", folder / "ready"
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != pyproject:
        say(f"environment for {version}")
        subprocess.run([interpreter, "-m", "venv", "--clear", folder], check=True)
        wanted = subprocess.run(
            [sys.executable, ROOT / "tools" / "requirements.py", "test"],
            check=True,
            capture_output=True,
            text=True,
        )
        pip(python, "install", *wanted.stdout.splitlines())
        stamp.write_text(pyproject, encoding="utf-8")
    return python


def build_wheel(python: Path, objects: list[str]) -> Path:
    dist = WORK / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    settings = [f"--config-settings=cmake.define.REFARRAY_OBJECTS={folder}" for folder in objects]
    pip(python, "wheel", "--no-deps", *settings, "--wheel-dir", dist, ROOT)
    (wheel,) = dist.glob("refarray-*-abi3-*.whl")
    return wheel


def log(version: str) -> Path:
    return WORK / f"{version}.log"


def start_tests(python: Path, version: str, processes: int) -> subprocess.Popen[bytes]:
    """Starts the tests without heavy partners; their output goes to a log file."""
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", LIGHT]
    if processes > 1:
        command += [f"--numprocesses={processes}", "--dist=worksteal"]
    ignored = [f"--ignore={path}" for path in NOT_HERE]
    with log(version).open("wb") as output:
        return subprocess.Popen([*command, *ignored, "tests"], stdout=output, cwd=ROOT)


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
    first = next(iter(pythons))
    say(f"one abi3 wheel, built in isolation by {first}")
    wheel = build_wheel(pythons[first], arguments)
    subprocess.run([sys.executable, "-m", "abi3audit", "--strict", "--summary", wheel], check=True)
    for python in pythons.values():
        pip(python, "install", "--no-deps", "--force-reinstall", wheel)
    say(f"{wheel.name} on {', '.join(pythons)}, side by side")
    processes = min(MOST_PROCESSES, (os.cpu_count() or 1) // len(pythons))
    runs = {version: start_tests(python, version, processes) for version, python in pythons.items()}
    failed = [version for version, run in runs.items() if not is_passed(version, run)]
    if failed:
        say(f"failed on {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
