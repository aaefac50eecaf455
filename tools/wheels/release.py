#!/usr/bin/env python3
"""Checks that a tag can be released: `release.py v1.2.3` compares it with the version of the
package, the changelog and the citation."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def problems(tag: str, version: str, changelog: str, citation: str) -> list[str]:
    """What is not ready for the tag."""
    out = []
    if tag != f"v{version}":
        out.append(f"the tag {tag} is not v{version}, the version in pyproject.toml")
    section = rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$"
    if re.search(section, changelog, re.MULTILINE) is None:
        out.append(f"CHANGELOG.md has no section `## {version} - YEAR-MONTH-DAY`")
    if re.search(rf'^version: "?{re.escape(version)}"?$', citation, re.MULTILINE) is None:
        out.append(f"CITATION.cff does not name the version {version}")
    return out


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("usage: release.py TAG")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = problems(arguments[0], project["project"]["version"], changelog, citation)
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main(sys.argv[1:])
