#!/usr/bin/env python3
"""The gate `refleak`: repeats every partner-free test; no run may leak."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from common import (
    OF_THE_REPOSITORY,
    TESTS,
    build,
    compile_adversary,
    environment,
    located,
    print_loaded,
    run,
    say,
)

#: Tests of tools and tests that run in their own processes: they cannot leak here, and repeating
#: them takes long.
ELSEWHERE = (
    *("test_exit.py", "test_cli.py", "test_hostile.py", "test_oom.py", "test_subinterpreters.py"),
    *(
        "kit/test_conformance.py",
        "test_conformance_devices.py",
        "test_matrix.py",
        "test_mutants.py",
    ),
    *("test_abi.py", "test_adapters.py", "test_browser.py", "test_driver_traps.py"),
    *("test_bench_check.py", "test_benchmarks.py", "test_gates.py", "test_gpu_kernels.py"),
    *("test_fork_server.py", "test_hang_detector.py", "test_kit_errors.py"),
    *(
        "test_findings.py",
        "test_foreign.py",
        "test_gpu.py",
        "test_gpu_copies.py",
        "test_gpu_faults.py",
        "partners",
    ),
    *("test_drivers.py", "test_driver_traps.py", "test_no_device.py", "test_gpu_hardware.py"),
)


def main(arguments: list[str]) -> None:
    folder = build("refleak", options=["-DREFARRAY_TESTS=OFF"])
    plugin = str(Path(__file__).resolve().parent)
    with_environment = environment(folder)
    compile_adversary(with_environment)
    print_loaded(folder, with_environment)
    with_environment["PYTHONPATH"] += f"{os.pathsep}{plugin}"
    counted = "references, blocks" if hasattr(sys, "gettotalrefcount") else "memory blocks"
    say(f"pytest, each test repeated; {counted} and file descriptors counted")
    ignored = [f"--ignore={located(name)}" for name in (*OF_THE_REPOSITORY, *ELSEWHERE)]
    run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "refleak_plugin"),
            *("-p", "no:cacheprovider", *ignored, *(arguments or [TESTS])),
        ],
        with_environment,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
