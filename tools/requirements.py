#!/usr/bin/env python3
"""Prints the requirements of the named dependency groups of pyproject.toml."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(project: dict[str, Any], name: str) -> Iterator[str]:
    """Yields the requirements of a group; "build" stands for the build requirements."""
    if name == "build":
        yield from project["build-system"]["requires"]
        yield from ("cmake>=3.26", "ninja")  # with isolation scikit-build-core adds these itself
        return
    for entry in project["dependency-groups"][name]:
        if isinstance(entry, dict):
            yield from requirements(project, entry["include-group"])
        else:
            yield entry


def main(names: list[str]) -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    wanted = (entry for name in names for entry in requirements(project, name))
    print("\n".join(dict.fromkeys(wanted)))


if __name__ == "__main__":
    main(sys.argv[1:])
