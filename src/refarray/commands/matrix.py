"""Owns `refarray matrix`."""

from __future__ import annotations

import argparse
import sys

from refarray.commands import Subparsers

DESCRIPTION = """\
Send arrays of every kind and dtype from each library to each and tell what arrived: shared,
copied, refused, wrong, or writable although it was read-only. Each pair has a process of its own;
one that dies is started again behind the array that killed it. The exit status is 1 when data
arrived wrong or a process died of it, 3 when a library could not be imported.
"""


def add_to(subparsers: Subparsers) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "matrix", help="exchange arrays between every two libraries", description=DESCRIPTION
    )
    parser.add_argument("subjects", metavar="SUBJECT", nargs="+")
    parser.add_argument(
        "--report",
        metavar="FORM=PATH",
        action="append",
        default=[],
        help="write a report: json, html or markdown; may be given again",
    )
    parser.set_defaults(run=run)


def show_progress(pair: str, done: int, total: int) -> None:
    """One line on a terminal's stderr, written over itself."""
    words = "" if done == total else f"{done} of {total} pairs, {pair} "
    print(f"\r\x1b[K{words}", end="", file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> int:
    """Prints the grid and writes the reports."""
    from refarray.commands.check import Usage, wanted_reports
    from refarray.conformance.matrix import measure as matrix
    from refarray.conformance.report import grid

    forms = {"json": grid.as_json, "html": grid.page, "markdown": grid.markdown}
    try:
        reports = wanted_reports(arguments.report, tuple(forms))
    except Usage as error:
        print(f"refarray matrix: {error}", file=sys.stderr)
        return 3
    rows = matrix.measure_all(arguments.subjects, show_progress if sys.stderr.isatty() else None)
    print(matrix.text(rows), end="")
    for form, path in reports:
        path.write_text(forms[form](rows), encoding="utf-8")
    cells = [cell for row in rows for cell in row]
    if any(cell.failed for cell in cells):
        return 1
    return 3 if any(cell.broken for cell in cells) else 0
