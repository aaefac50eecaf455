"""`refarray subjects`: the libraries that the kit has an adapter for."""

from __future__ import annotations

import argparse
import json

from refarray._terminal import width, wrap_hanging
from refarray.commands import Subparsers

DESCRIPTION = """\
List the libraries that `refarray check`, `matrix` and `trace` know by name, with their installed
versions: the adapters of the kit, and those that installed packages register in the entry point
group refarray.conformance.subjects. A module that follows the array API needs no adapter.
"""


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "subjects", help="list the libraries that have an adapter", description=DESCRIPTION
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def list_known() -> list[dict[str, str]]:
    """Each adapter's name, the installed version, where the adapter is, and its remark."""
    from refarray.conformance.subjects import lookup

    rows = [
        {"subject": name, "version": each.version, "adapter": "refarray", "note": each.note}
        for name, each in lookup.ADAPTERS.items()
    ]
    taken = {row["subject"] for row in rows}
    for name, value in sorted(lookup.find_registered().items()):
        if name not in taken:
            rows.append({"subject": name, "version": "", "adapter": value, "note": ""})
    return rows


def run(arguments: argparse.Namespace) -> int:
    rows = list_known()
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    longest = max(len(row["subject"]) for row in rows)
    for row in rows:
        version = row["version"] or ("-" if row["adapter"] == "refarray" else row["adapter"])
        first = f"{row['subject']:<{longest}}  {version:<14}"
        print("\n".join(wrap_hanging(f"{first} ", row["note"], longest + 17, width())).rstrip())
    others = "module:ATTRIBUTE, or a module that follows the array API"
    print("\n".join(["", *wrap_hanging("", f"-: not installed. Others: {others}.", 0, width())]))
    return 0
