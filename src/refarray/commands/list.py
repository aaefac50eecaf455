"""`refarray list`: each requirement on a line, with the number of its cases."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict

from refarray._terminal import suggestion, width, wrap_hanging
from refarray.commands import Subparsers, Usage


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("list", help="list the requirements and their checks")
    parser.add_argument(
        "families", metavar="FAMILY", nargs="*", help="for example VERS LIFE; default: all"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from refarray.conformance.cases import CHECKS
    from refarray.conformance.requirements import families, reasons, requirements
    from refarray.conformance.suite import load

    why = reasons()
    load()
    counts = Counter(check.id for check in CHECKS.values())
    wanted = {name.upper() for name in arguments.families} or set(families())
    if unknown := wanted - set(families()):
        hint = suggestion(sorted(unknown), families())
        raise Usage(
            f"unknown families: {', '.join(sorted(unknown))}; "
            f"the families are {', '.join(families())}{hint}"
        )
    chosen = [found for found in requirements().values() if found.family in wanted]
    if arguments.json:
        print(
            json.dumps(
                [
                    {**asdict(found), "checks": counts[found.id], "no_check": why.get(found.id, "")}
                    for found in chosen
                ],
                indent=1,
            )
        )
        return 0
    family = ""
    for found in chosen:
        if found.family != family:
            family = found.family
            print(f"{'' if found is chosen[0] else chr(10)}{family}: {families()[family]}")
        checks = f"{counts[found.id]:3} cases" if counts[found.id] else "no check "
        first = f"  {found.id:<9} {found.level:<9} {checks}  "
        print("\n".join(wrap_hanging(first, found.title, len(first), width())))
    covered = sum(1 for found in chosen if counts[found.id])
    print(f"\n{covered} of {len(chosen)} requirements have a check")
    return 0
