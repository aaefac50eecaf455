#!/usr/bin/env python3
"""Writes docs/partners.md out of the partners' limits, their data in tests/partners."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PARTNERS = ROOT / "tests" / "partners"
PAGE = ROOT / "docs" / "partners.md"
ARROWS = {"to": "to it", "from": "from it"}
GROUPS = {
    "NARROW": "bfloat16, complex32 and all floats of 8 bits and less",
    "SMALL": "all floats of 8 bits and less",
    "STRIDED": "all with gaps or negative strides",
}

HEAD = """\
<!-- Written by tools/docs/partners_page.py out of tests/partners/limits.toml: change that. -->
# Partners

refarray is tested with the libraries below, the real packages, in both directions, over every
dtype, layout and flag that they have. `make test` runs the light ones; `make test-partners` makes
an environment for each of the others (`make test-partners PARTNER=tensorflow` for one). What a
library cannot do is recorded with the versions it was seen in, and the record is strict both
ways: a refusal that is not recorded fails, and so does one that has gone.

"To it" is refarray as producer, "from it" refarray as consumer. Every other cell of the grid is
tested to work: dtype, shape and values arrive unchanged, memory is shared rather than copied, and
lives as long as the last who uses it.

## Which, and by which ways

"""
OLD_NUMPY = """
The oldest NumPy whose whole grid passes is 2.2.5, the lower bound of the extra `light`. The
legacy protocol is tested with 1.23.2, the first with wheels for Python 3.11; bool and read-only
data go through the buffer protocol there.

"""
LIMITS = """\
## What they cannot do

| partner | way | what | versions | raises | why |
| --- | --- | --- | --- | --- | --- |
"""
QUIRKS = """
## What they do otherwise

Against DLPack's text, or against what one may expect; a test shows each of them.

| partner | way | versions | what |
| --- | --- | --- | --- |
"""


def cells(*values: str) -> str:
    return f"| {' | '.join(value.replace('|', chr(92) + '|') for value in values)} |\n"


def spoken(facets: list[str]) -> str:
    """Facets of the grid, each kind named once."""
    kinds: dict[str, list[str]] = {}
    for facet in facets:
        kind, _, name = facet.partition(":")
        shown = GROUPS.get(name, f"`{name}`")
        kinds.setdefault(kind, []).append(shown)
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())


def because(row: dict[str, Any]) -> str:
    return f"{row['reason']} ({row['link']})" if "link" in row else row["reason"]


def partners(data: dict[str, Any], heavy: dict[str, Any]) -> Iterator[str]:
    yield cells("partner", "tested with", "by", "to it", "from it")
    yield cells(*["---"] * 5)
    apart: dict[str, list[str]] = {}
    for row in heavy.values():
        for requirement in (*row["requires"], *row.get("no_deps", [])):
            name, _, version = requirement.partition("==")
            if version and name == data["partner"][row["partner"]]["distribution"]:
                apart.setdefault(row["partner"], []).append(version)
    for name, row in data["partner"].items():
        versions = list(dict.fromkeys([row["seen"], *apart.get(name, [])]))
        alone = name in apart and row["seen"] in apart[name]
        runs = ["test"] * (not alone) + ["test-partners"] * (name in apart)
        by = ", ".join(f"`make {run}`" for run in runs)
        yield cells(row["distribution"], ", ".join(versions), by, row["to"], row["from"])


def page() -> str:
    data = tomllib.loads((PARTNERS / "limits.toml").read_text(encoding="utf-8"))
    heavy = tomllib.loads((PARTNERS / "heavy" / "environments.toml").read_text(encoding="utf-8"))
    names = {name: row["distribution"] for name, row in data["partner"].items()}
    order = list(names)
    text = HEAD + "".join(partners(data, heavy)) + OLD_NUMPY + LIMITS
    for row in sorted(data["limit"], key=lambda row: order.index(row["partner"])):
        text += cells(
            names[row["partner"]],
            ARROWS[row["direction"]],
            spoken(row["facets"]),
            row["versions"],
            row["raises"],
            because(row),
        )
    text += QUIRKS
    for row in sorted(data["quirk"], key=lambda row: order.index(row["partner"])):
        text += cells(
            names[row["partner"]], ARROWS[row["direction"]], row["versions"], because(row)
        )
    return text


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        return int(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
