#!/usr/bin/env python3
"""The gate `gpu-sim-tsan`: arrays on the simulated drivers under ThreadSanitizer (g++).

The extension and the drivers are instrumented, the interpreter is not: what the driver's rules do
not order is a data race between two of the simulated devices' threads.
"""

from __future__ import annotations

import os
import subprocess
import sys

from common import ROOT, TESTS, build, environment, print_loaded, quiet, run, say

FLAGS = "-fsanitize=thread -g"
RACE_FOUND = 66
BUILD_DRIVERS = "from fakegpu import _libraries; print(_libraries.folder())"


def library() -> str:
    found = subprocess.run(
        ["g++", "-print-file-name=libtsan.so"], check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


def main(arguments: list[str]) -> None:
    folder = build("gpu-sim-tsan", sanitize="thread")
    plain = environment(folder, CXXFLAGS=FLAGS)
    say("simulated drivers with -fsanitize=thread")
    with_package = {**plain, "PYTHONPATH": f"{TESTS / 'fakegpu'}"}
    quiet([sys.executable, "-c", BUILD_DRIVERS], with_package)
    options = f"exitcode={RACE_FOUND}:halt_on_error=1:second_deadlock_stack=1"
    sanitized = {**plain, "TSAN_OPTIONS": options, "LD_PRELOAD": library()}
    print_loaded(folder, sanitized)
    files = arguments or sorted(TESTS.glob("gpu/sim_*.py"))
    for file in files:
        say(f"{file}: reports go to stderr, past pytest's capture")
        run(
            [
                *(sys.executable, "-m", "pytest", "-q", "--capture=sys", "-p", "no:cacheprovider"),
                *("-p", "no:xdist", "-c", os.devnull, f"--rootdir={ROOT}", file),
            ],
            sanitized,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
