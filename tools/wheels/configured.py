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
#: What follows the interpreter in the identifier of a build, for each platform and its processors.
PLATFORMS = {
    ("linux", "x86_64,aarch64"): [
        f"{library}_{machine}"
        for library in ("manylinux", "musllinux")
        for machine in ("x86_64", "aarch64")
    ],
    ("macos", "x86_64,arm64"): ["macosx_x86_64", "macosx_arm64"],
}


def identifiers(platform: str, machines: str) -> set[str]:
    """The builds that cibuildwheel would make."""
    command = [sys.executable, "-m", "cibuildwheel", "--platform", platform, "--archs", machines]
    done = subprocess.run(
        [*command, "--print-build-identifiers", ROOT],
        check=False,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("CIBW_")},
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}cibuildwheel refuses its settings in pyproject.toml")
    return set(done.stdout.split())


def main() -> None:
    for (platform, machines), systems in PLATFORMS.items():
        found = identifiers(platform, machines)
        wanted = {"-".join(pair) for pair in itertools.product(PYTHONS, systems)}
        if found != wanted:
            sys.exit(
                f"cibuildwheel would build {sorted(found - wanted)} "
                f"and not {sorted(wanted - found)}, which tools/wheels/configured.py wants"
            )


if __name__ == "__main__":
    main()
