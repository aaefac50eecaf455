"""`refarray history`: the results on several versions of a library in one table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from refarray.commands import Subparsers, Usage

DESCRIPTION = """\
Print a table of the requirements from which some version of a library deviates: a column for each
subject and version of the reports, which `refarray check --report json=PATH` wrote in the
environments of those versions. The exit status is 2 if a report cannot be read.
"""


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "history",
        help="show JSON reports of several versions in one table",
        description=DESCRIPTION,
    )
    parser.add_argument("reports", metavar="REPORT", nargs="+", type=Path)
    parser.set_defaults(run=run)


def read(path: Path) -> dict[str, Any]:
    """The document in a file. Usage if it cannot be read."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Usage(f"{path} cannot be read: {error}") from error
    return document


def run(arguments: argparse.Namespace) -> int:
    from refarray.conformance.report.history import text

    documents = [read(path) for path in arguments.reports]
    try:
        print(text(documents), end="")
    except (KeyError, TypeError, ValueError) as error:
        raise Usage(f"not a report of `refarray check`: {error!r}") from error
    return 0
