#!/usr/bin/env python3
"""The gate `memcheck`: C++ tests and the tests of exchange and layout under valgrind."""

from __future__ import annotations

import shutil
import sys

from common import PYTEST, TESTS, build, loaded, located, run, say

#: Tests that move memory between owners. valgrind is thirty times slower, so text, pickling,
#: commands and whole grids are left to the other gates.
FILES = (
    "test_import.py",
    "test_export.py",
    "test_capsule.py",
    "test_exchange_api.py",
    "test_foreign_tables.py",
    "test_buffer.py",
    "test_from_buffer.py",
    "test_verification.py",
    "test_astype.py",
    "test_layout.py",
)
#: C++ tests of kernels that compute: the slowest ones. The gate asan runs them.
COMPUTING = {source.stem for source in (TESTS / "cpp" / "compute").glob("*_test.cpp")}
#: Processes that end by SIGKILL, and arenas of gigabytes, which valgrind reads whole for leaks.
SHARED = {"arena_test", "kill_test"}
SUPPRESSIONS = TESTS / "gates" / "sanitizers" / "python.supp"
VALGRIND = (
    *("valgrind", "-q", "--error-exitcode=9", "--num-callers=25", f"--suppressions={SUPPRESSIONS}"),
    *("--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"),
    "--child-silent-after-fork=yes",
)


def main(arguments: list[str]) -> None:
    if shutil.which("valgrind") is None:
        sys.exit("valgrind was not found; on Debian: apt-get install valgrind")
    folder = build("memcheck", options=["-DREFARRAY_KEEP_MEMORY=OFF"])
    with_environment = loaded(folder, PYTHONMALLOC="malloc")  # one malloc per object
    if not arguments:
        say("C++ tests under valgrind")
        for program in sorted((folder / "tests").glob("cpp/*_test")):
            if program.name not in COMPUTING | SHARED:
                run([*VALGRIND, program], with_environment)
    say("pytest under valgrind")
    run(
        [
            *(*VALGRIND, *PYTEST, "--capture=sys", "-m", "not not_sanitized"),
            *(arguments or [located(name) for name in FILES]),
        ],
        with_environment,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
