#!/usr/bin/env python3
"""The gate `shared`: processes that share arrays, killed and stopped at random places.

The C++ kill test with KILLS kills (1000) for each of SEEDS seeds (3), the same and the tests of
arenas under TSAN with a tenth of the kills, then the long tests in Python.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from common import PYTEST, ROOT, TESTS, configure, environment, quiet, run, say, tool

PROGRAMS = ("arena_test", "kill_test")


def build(name: str, sanitize: str = "") -> Path:
    """Builds the C++ tests of src/shared alone."""
    folder = ROOT / "build" / name
    say(f"build in build/{name}")
    configure(
        folder,
        *("-DREFARRAY_PYTHON=OFF", "-DREFARRAY_TESTS=ON", f"-DREFARRAY_SANITIZE={sanitize}"),
        *("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g"),
    )
    quiet([tool("cmake"), "--build", folder, "--target", *PROGRAMS, "--", "--quiet"])
    return folder / "tests" / "cpp"


def kill(folder: Path, kills: int, seed: int) -> None:
    say(f"{kills} kills, seed {seed}")
    numbers = {"KILLS": str(kills), "SEED": str(seed)}
    run([folder / "kill_test"], {**environment(folder), **numbers})


def main(arguments: list[str]) -> None:
    kills = int(os.environ.get("KILLS") or 1000)
    seeds = range(1, 1 + int(os.environ.get("SEEDS") or 3))
    folder = build("shared")
    for seed in seeds:
        kill(folder, kills, seed)
    sanitized = build("shared-tsan", "thread")
    say("under TSAN")
    run([sanitized / "arena_test"], {**environment(sanitized), "TSAN_OPTIONS": "exitcode=66"})
    kill(sanitized, max(kills // 10, 1), seeds[0])
    say("pytest, long")
    files = ("test_shared.py", "share_processes.py")
    run([*PYTEST, "--long=2", *(arguments or [TESTS / "shared" / name for name in files])])


if __name__ == "__main__":
    main(sys.argv[1:])
