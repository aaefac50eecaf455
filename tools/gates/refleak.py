#!/usr/bin/env python3
"""The gate `refleak`: repeats every partner-free test; no run may leak."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from common import (
    TESTS,
    build,
    compile_adversary,
    environment,
    ignore,
    marked,
    print_loaded,
    run,
    say,
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
    elsewhere = [*marked("repository", "not_repeated"), TESTS / "partners"]
    run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "refleak_plugin"),
            *("-p", "no:cacheprovider", *ignore(elsewhere), *(arguments or [TESTS])),
        ],
        with_environment,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
