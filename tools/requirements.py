#!/usr/bin/env python3
"""Prints the requirements of the named extras of pyproject.toml, without the package itself."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(project: dict[str, Any], name: str) -> Iterator[str]:
    """Yields the requirements of an extra; "build" stands for the build requirements."""
    if name == "build":
        yield from project["build-system"]["requires"]
        yield from ("cmake>=3.26", "ninja")  # with isolation scikit-build-core adds these itself
        return
    for entry in project["project"]["optional-dependencies"][name]:
        if own := re.fullmatch(r"refarray\[(\w+)\]", entry):
            yield from requirements(project, own[1])
        else:
            yield entry


def main(names: list[str]) -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    wanted = (entry for name in names for entry in requirements(project, name))
    print("\n".join(dict.fromkeys(wanted)))


if __name__ == "__main__":
    main(sys.argv[1:])
