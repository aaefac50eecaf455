#!/usr/bin/env python3
"""The gate `tsan`: the C++ tests, the lock-step races and the threaded tests under TSAN, on an
instrumented free-threaded CPython and on this one."""

from __future__ import annotations

import sys
from pathlib import Path

import interpreter
from common import (
    TESTS,
    build,
    dlpack_include,
    environment,
    loaded,
    output,
    run,
    runtime_library,
    say,
    tool,
)
from freethreaded import python_with_tools

FLAGS = "-fsanitize=thread -fno-omit-frame-pointer"
#: Tests in which threads share arrays, capsules, deleters and large copies.
WHAT = (
    "dlpack/test_lockstep.py",
    "dlpack/test_lifetime.py",
    "array/test_copying.py::test_large_copies_by_threads",
)
#: Few rounds are enough: TSAN also reports races that did not happen.
ROUNDS = 1_000
OPTIONS = {
    # Reports go to stderr. TSAN assumes that a forked child has its parent's threads.
    "TSAN_OPTIONS": f"exitcode=66:die_after_fork=0:suppressions={TESTS}/gates/sanitizers/tsan.supp",
}


def pytest(python: str | Path, with_environment: dict[str, str], arguments: list[str]) -> None:
    run(
        [
            *(python, "-m", "pytest", "-q", "--capture=sys", "-p", "no:cacheprovider"),
            *("-m", "not not_sanitized", f"--lockstep-rounds={ROUNDS}"),
            *("-k", "not allocation_failures"),  # one thread, and thousands of runs
            *(arguments or [f"{TESTS}/{name}" for name in WHAT]),
        ],
        with_environment,
    )


def free_threaded(arguments: list[str]) -> None:
    """Threads run Python in parallel. The interpreter must be instrumented, or TSAN does not see
    its locks and reports everything that they order."""
    tools = python_with_tools()
    python = interpreter.interpreter("tsan")
    folder = build("tsan", sanitize="thread", python=python)
    say("C++ tests")
    # kernels_test is single-threaded and slow; test_copying.py has the threaded copies.
    ctest = [tool("ctest"), "--test-dir", folder, "--output-on-failure", "-E", "^kernels_test$"]
    run(ctest, {**environment(folder), **OPTIONS})
    packages = output([tools, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    variables = {
        "CXXFLAGS": FLAGS,
        "DLPACK_INCLUDE_DIR": dlpack_include(),
        "PYTHONPATH": f"{folder / 'python'}:{packages}",
    }
    sanitized = loaded(folder, OPTIONS, python=python, **variables)
    say("pytest, GIL off, instrumented interpreter")
    pytest(python, sanitized, arguments)


def with_a_gil(arguments: list[str]) -> None:
    """State that only the GIL protects (shared references, cached memory), and code that runs
    without it (deleters, large copies)."""
    folder = build("tsan-gil", sanitize="thread", options=["-DREFARRAY_TESTS=OFF"])
    preload = {"LD_PRELOAD": runtime_library("libtsan.so")}
    sanitized = loaded(folder, {**OPTIONS, **preload}, CXXFLAGS=FLAGS)
    say("pytest, with a GIL")
    pytest(sys.executable, sanitized, arguments)


def main(arguments: list[str]) -> None:
    free_threaded(arguments)
    with_a_gil(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
