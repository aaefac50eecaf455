#!/usr/bin/env python3
"""Checks which wheels cibuildwheel would build by its settings; starts no build."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: cp312 is the abi3 wheel, which serves every later CPython with a GIL.
PYTHONS = ("cp311", "cp312", "cp313t", "cp314t")
LIBRARIES = ("manylinux", "musllinux")
MACHINES = ("x86_64", "aarch64")
WANTED = {
    f"{python}-{library}_{machine}"
    for python, library, machine in itertools.product(PYTHONS, LIBRARIES, MACHINES)
}


def main() -> None:
    command = [sys.executable, "-m", "cibuildwheel", "--platform", "linux"]
    done = subprocess.run(
        [*command, "--archs", ",".join(MACHINES), "--print-build-identifiers", ROOT],
        check=False,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("CIBW_")},
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}cibuildwheel refuses its settings in pyproject.toml")
    found = set(done.stdout.split())
    if found != WANTED:
        sys.exit(
            f"cibuildwheel would build {sorted(found - WANTED)} "
            f"and not {sorted(WANTED - found)}, which tools/wheels/configured.py wants"
        )


if __name__ == "__main__":
    main()
