#!/usr/bin/env python3
"""The gate `gpu-sim-tsan`: arrays on the simulated drivers under ThreadSanitizer (g++).

The extension and the drivers are instrumented, the interpreter is not: a missing ordering in the
driver's rules is a data race between the threads of two simulated devices. It runs the files of
tests/devices/simulated, the copies of tests/devices/test_gpu_copies.py, and the first use of the
drivers by many threads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from common import (
    PYTEST,
    ROOT,
    TESTS,
    build,
    environment,
    print_loaded,
    quiet,
    run_all,
    runtime_library,
    say,
)

FLAGS = "-fsanitize=thread -g"
RACE_FOUND = 66
BUILD_DRIVERS = "from fakegpu import _libraries; print(_libraries.folder())"


def isolated() -> list[list[str]]:
    """The scripts of tests/isolated to run, with their arguments."""
    sys.path.insert(0, str(TESTS / "devices"))
    from test_gpu_copies import SCENARIOS

    copies = [["gpu_copies.py", name, vendor] for name in SCENARIOS for vendor in ("cuda", "rocm")]
    return [*copies, ["gpu_first_use.py", "all_at_once"]]


def commands(files: Sequence[str | Path], scripts: list[list[str]]) -> dict[str, list[str]]:
    """One command per file and per script, by name."""
    pytest = [*PYTEST, "--capture=sys", "-p", "no:xdist", "-c", os.devnull, f"--rootdir={ROOT}"]
    scenarios = {
        " ".join(script): [sys.executable, f"{TESTS / 'isolated' / script[0]}", *script[1:]]
        for script in scripts
    }
    return {**{f"{file}": [*pytest, f"{file}"] for file in files}, **scenarios}


def main(arguments: list[str]) -> None:
    folder = build("gpu-sim-tsan", sanitize="thread")
    plain = environment(folder, CXXFLAGS=FLAGS)
    say("simulated drivers with -fsanitize=thread")
    with_package = {**plain, "PYTHONPATH": f"{ROOT / 'fakegpu'}"}
    quiet([sys.executable, "-c", BUILD_DRIVERS], with_package)
    options = f"exitcode={RACE_FOUND}:halt_on_error=1:second_deadlock_stack=1"
    options += f":suppressions={TESTS}/gates/sanitizers/tsan.supp"
    sanitized = {**plain, "TSAN_OPTIONS": options, "LD_PRELOAD": runtime_library("libtsan.so")}
    print_loaded(folder, sanitized)
    say("TSAN reports go to stderr, not through pytest's capture")
    files = arguments or sorted(TESTS.glob("devices/simulated/sim_*.py"))
    run_all(commands(files, [] if arguments else isolated()), sanitized)


if __name__ == "__main__":
    main(sys.argv[1:])
