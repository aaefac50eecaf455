"""`refarray diff`: the differences between two JSON reports."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from refarray.commands import Subparsers

Key = tuple[str, str, str, str]


def add_to(subparsers: Subparsers) -> None:
    """Add the parser of the command."""
    parser = subparsers.add_parser(
        "diff",
        help="compare two JSON reports of `refarray check`",
        description="Compare two reports written by `refarray check --report json=PATH`. Exit "
        "status: 1 if a case fails that did not fail before, 3 if a report cannot be read.",
    )
    parser.add_argument("old", type=Path, metavar="OLD.json")
    parser.add_argument("new", type=Path, metavar="NEW.json")
    parser.set_defaults(run=run)


def read(path: Path) -> dict[Key, dict[str, Any]]:
    """Return the findings of a report. Raises ValueError if the file is not a report."""
    try:
        findings = json.loads(path.read_text(encoding="utf-8"))["findings"]
        return {
            tuple(each[n] for n in ("subject", "id", "role", "case")): each for each in findings
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a report of `refarray check`: {error!r}") from error


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each case whose outcome changed, or that is in one report only."""
    from refarray.conformance.findings import Outcome

    try:
        old, new = read(arguments.old), read(arguments.new)
    except (OSError, ValueError) as error:
        print(f"refarray diff: {error}", file=sys.stderr)
        return 3
    worse = 0
    for key in dict.fromkeys([*old, *new]):
        before = old[key]["outcome"] if key in old else "absent"
        after = new[key]["outcome"] if key in new else "absent"
        if before == after:
            continue
        subject, name, role, case = key
        observed = new.get(key, {}).get("observed", "")
        print(
            f"{subject} {name} {role} {case}: {before} -> {after}"
            f"{f': {observed}' if observed else ''}"
        )
        worse += after != "absent" and Outcome(after).failed
    print(f"{len(old)} cases before, {len(new)} after, {worse} newly failing")
    return 1 if worse else 0
