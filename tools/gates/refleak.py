#!/usr/bin/env python3
"""The gate `refleak`: repeats every partner-free test; no run may leak."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from common import PYTEST, TESTS, build, ignore, loaded, marked, run, say


def main(arguments: list[str]) -> None:
    folder = build("refleak", options=["-DREFARRAY_TESTS=OFF"])
    plugin = str(Path(__file__).resolve().parent)
    with_environment = loaded(folder)
    with_environment["PYTHONPATH"] += f"{os.pathsep}{plugin}"
    counted = "references, blocks" if hasattr(sys, "gettotalrefcount") else "memory blocks"
    say(f"pytest, each test repeated; {counted} and file descriptors counted")
    elsewhere = [*marked("repository", "not_repeated"), TESTS / "partners"]
    repeated = [*PYTEST, "-p", "refleak_plugin", *ignore(elsewhere), *(arguments or [TESTS])]
    run(repeated, with_environment)


if __name__ == "__main__":
    main(sys.argv[1:])
