"""`refarray doctor`: a report on this installation."""

from __future__ import annotations

import argparse
import json

from refarray.commands import Subparsers

DESCRIPTION = """\
Report on this build, the interpreter, GPU drivers (and why there is no device), environment
variables, and installed partner libraries. Each partner is imported in a separate process, to find
out which version of DLPack it supports, and given up after 20 seconds without progress, or after 60
seconds of processor time. Exit status: 1 if a problem was found; a missing GPU or partner is not a
problem.
"""


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="report on this build, drivers and partner libraries",
        description=DESCRIPTION,
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON, for example for an issue report"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="only report the versions of partners, without importing them",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from refarray._doctor import doctor

    report = doctor(partners=not arguments.quick)
    print(json.dumps(report.to_dict(), indent=2) if arguments.json else report)
    return 0 if report.ok else 1
