"""Owns `refarray matrix`."""

from __future__ import annotations

import argparse
import sys

from refarray.commands import Subparsers

DESCRIPTION = """\
Send arrays of every kind and dtype from each library to each and tell what arrived: shared,
copied, refused, wrong, or writable although it was read-only. Each pair has a process of its own.
"""


def add_to(subparsers: Subparsers) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "matrix", help="exchange arrays between every two libraries", description=DESCRIPTION
    )
    parser.add_argument("subjects", metavar="SUBJECT", nargs="+")
    parser.set_defaults(run=run)


def show_progress(producer: str, consumer: str) -> None:
    """One line on a terminal's stderr, written over itself."""
    print(f"\r\x1b[K{producer} -> {consumer} ", end="", file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> int:
    """Prints the grid. 1 when data arrived wrong or a process died, else 0."""
    from refarray.conformance import matrix
    from refarray.conformance.pairs import Arrival

    terminal = sys.stderr.isatty()
    rows = matrix.grid(arguments.subjects, show_progress if terminal else None)
    if terminal:
        print("\r\x1b[K", end="", file=sys.stderr)
    print(matrix.text(rows), end="")
    cells = [cell for row in rows for cell in row]
    return 1 if any(cell.broken or cell.counts[Arrival.WRONG] for cell in cells) else 0
