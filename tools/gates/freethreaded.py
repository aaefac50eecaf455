#!/usr/bin/env python3
"""The gate `test-freethreaded`: the test suite with NumPy on a free-threaded CPython, GIL off."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import debian
import interpreter
from abi3 import HEAVY
from common import (
    ROOT,
    TESTS,
    build,
    dlpack_include,
    ignore,
    loaded,
    located,
    marked,
    output,
    pip,
    run,
    say,
)

# PyTorch, JAX, PyArrow, mpi4py, tvm-ffi, tree-sitter and what readme-renderer needs have no
# free-threaded wheels, or enable the GIL.
NO_WHEEL = ("apache-tvm-ffi", "pyyaml", "readme-renderer", "tree-sitter")
WITHOUT = (*HEAVY, "tvm_ffi")
NOT_HERE = (
    "test_convert.py",  # needs ml_dtypes 0.6, which has no free-threaded wheel
    "test_oom.py",  # free-threaded CPython 3.13 fails by itself when allocations fail
)
#: Rounds of two threads per test of test_lockstep.py: a million in all over one capsule.
ROUNDS = 100_000
PROBE = """
import sys
assert not sys._is_gil_enabled(), "the GIL is on"
import refarray
assert not sys._is_gil_enabled(), "importing refarray turned the GIL on"
print(f"CPython {sys.version.split()[0]}, the GIL is off")
"""


def new_environment(base: Path, folder: Path) -> None:
    """The interpreter has no pip; ours installs one."""
    run([base, "-m", "venv", "--clear", "--without-pip", folder])
    pip(sys.executable, "--python", folder / "bin" / "python", "install", "pip>=24.1")


def requirements() -> list[str]:
    listed = [sys.executable, ROOT / "tools" / "requirements.py", "test"]
    return [line for line in output(listed).splitlines() if not line.startswith(NO_WHEEL)]


def python_with_tools() -> Path:
    """A cached environment of the free-threaded interpreter with the test requirements."""
    base = interpreter.interpreter("plain")
    wanted = requirements()
    digest = hashlib.sha256(repr((str(base), wanted)).encode()).hexdigest()[:12]
    folder = interpreter.cache_folder() / f"environment-{digest}"
    python, stamp = folder / "bin" / "python", folder / "ready"
    with debian.locked(folder.with_suffix(".lock")):
        if not stamp.is_file():
            say("environment of the free-threaded CPython")
            new_environment(base, folder)
            pip(python, "install", "--only-binary=:all:", *wanted)
            stamp.touch()
    return python


def main(arguments: list[str]) -> None:
    python = python_with_tools()
    folder = build(
        "test-freethreaded",
        python=python,
        options=["-DCMAKE_BUILD_TYPE=Release", "-DREFARRAY_TESTS=OFF"],
    )
    with_environment = loaded(folder, python=python, DLPACK_INCLUDE_DIR=dlpack_include())
    run([python, "-W", "error", "-c", PROBE], with_environment)
    if arguments[:1] == ["--bench"]:  # `make bench-threads`: no gate, but the same build
        return run([python, "-m", "benchmarks", "threads", *arguments[1:]], with_environment)
    # Enabling the GIL again is a RuntimeWarning, and warnings are errors.
    pytest = [python, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if arguments:
        return run([*pytest, *arguments], with_environment)
    say("two threads on one object, GIL off")
    races = located("test_lockstep.py")
    run([*pytest, "-x", f"--lockstep-rounds={ROUNDS}", races], with_environment)
    say("pytest, GIL off")
    without = " and ".join(f"not {name}" for name in WITHOUT)
    ignored = ignore([races, *map(located, NOT_HERE), *marked("repository")])
    return run([*pytest, "-m", without, *ignored, TESTS], with_environment)


if __name__ == "__main__":
    main(sys.argv[1:])
