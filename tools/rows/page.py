"""The page of the manual that lists the array API's functions by the standard's categories."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rows import Row

PAGE = Path(__file__).parents[2] / "docs/functions.md"
HEAD = """\
<!-- Written by tools/rows from the rows of the functions; do not edit. -->
# Functions of the array API standard

The {count} functions of the [standard](https://data-apis.org/array-api/2025.12/) that refarray has,
in the standard's categories. [Computing](array-api.md) says what is defined where the standard is
silent; [the reference](api/index.md) has parameters and errors.
"""


def text(rows: Iterable[Row]) -> str:
    """The page."""
    categories: dict[str, list[Row]] = {}
    for row in rows:
        categories.setdefault(row.category, []).append(row)
    out = HEAD.format(count=sum(map(len, categories.values())))
    for category in sorted(categories, key=str.lower):
        out += f"\n## {category[0].upper()}{category[1:]} functions\n\n"
        out += "| function | since | |\n| --- | --- | --- |\n"
        for row in categories[category]:
            out += (
                f"| `{row.signature}` | {row.since} | {row.summary.replace('|', chr(92) + '|')} |\n"
            )
    return out
