"""Owns `refarray doctor`."""

from __future__ import annotations

import argparse
import json

from refarray.commands import Subparsers

DESCRIPTION = """\
Report on this build, the interpreter, GPU drivers (and why there is no device), environment
variables, and the partner libraries installed: each is imported in a process of its own, for at
most 20 seconds, to see which level of DLPack it speaks. The exit status is 1 when something needs
attention; a missing GPU or partner does not.
"""


def add_to(subparsers: Subparsers) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "doctor",
        help="report on this build, drivers and partner libraries",
        description=DESCRIPTION,
    )
    parser.add_argument("--json", action="store_true", help="print JSON, to paste into an issue")
    parser.add_argument(
        "--quick", action="store_true", help="do not import the partners; tell their versions only"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the report."""
    from refarray._doctor import doctor

    report = doctor(partners=not arguments.quick)
    print(json.dumps(report.to_dict(), indent=2) if arguments.json else report)
    return 0 if report.ok else 1
