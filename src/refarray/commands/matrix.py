"""`refarray matrix`: exchange arrays between every pair of libraries."""

from __future__ import annotations

import argparse
import sys

from refarray.commands import Subparsers

DESCRIPTION = """\
Exchange arrays of every kind and dtype between every pair of libraries and report the result:
shared, copied, refused, wrong, or writable although the source was read-only. Each pair runs in a
separate process; after a crash a new process resumes with the next array. Exit status: 1 if data
arrived wrong or a process crashed, 2 if an argument is invalid, 3 if a library could not be
imported.
"""


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "matrix", help="exchange arrays between every pair of libraries", description=DESCRIPTION
    )
    parser.add_argument("subjects", metavar="SUBJECT", nargs="+", help="for example numpy torch")
    parser.add_argument(
        "--report",
        metavar="FORM=PATH",
        action="append",
        default=[],
        help="write a report as json, html or markdown; can be repeated",
    )
    parser.set_defaults(run=run)


def show_progress(pair: str, done: int, total: int) -> None:
    """Show the progress on a terminal, overwriting one line of stderr."""
    text = "" if done == total else f"{done} of {total} pairs, {pair} "
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> int:
    from refarray.commands.check import read_reports
    from refarray.conformance.matrix import measure as matrix
    from refarray.conformance.report import grid

    forms = {"json": grid.as_json, "html": grid.page, "markdown": grid.write_markdown}
    reports = read_reports(arguments.report, tuple(forms))
    rows = matrix.measure_all(arguments.subjects, show_progress if sys.stderr.isatty() else None)
    print(matrix.text(rows), end="")
    for form, path in reports:
        path.write_text(forms[form](rows), encoding="utf-8")
    cells = [cell for row in rows for cell in row]
    if any(cell.failed for cell in cells):
        return 1
    return 3 if any(cell.broken for cell in cells) else 0
