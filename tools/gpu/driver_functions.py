#!/usr/bin/env python3
"""Writes the names and versions of the CUDA driver API's functions, for the simulated driver.

usage: python tools/gpu/driver_functions.py FOLDER-OF-CUDATYPEDEFS.H
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "fakegpu" / "src" / "cuda" / "functions.txt"
# A per-thread variant has a suffix more, and the version in which it came.
TYPE = re.compile(r"\(CUDAAPI \*PFN_(cu\w+?)_v(\d+)\)")


def functions(include: Path) -> dict[str, list[int]]:
    """The versions of CUDA in which each function came or changed."""
    found: dict[str, set[int]] = {}
    for name, version in TYPE.findall((include / "cudaTypedefs.h").read_text(encoding="utf-8")):
        found.setdefault(name, set()).add(int(version))
    return {name: sorted(found[name]) for name in sorted(found)}


if __name__ == "__main__":
    rows = ([name, *map(str, found)] for name, found in functions(Path(sys.argv[1])).items())
    LIST.write_text("".join(f"{' '.join(row)}\n" for row in rows), encoding="utf-8")
