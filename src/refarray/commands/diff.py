"""`refarray diff`: the differences between two JSON reports, or between two libraries."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from refarray._terminal import width, wrap_hanging
from refarray.commands import Subparsers, Usage

Key = tuple[str, str, str, str]
Findings = dict[Key, dict[str, Any]]
DESCRIPTION = """\
Compare two reports written by `refarray check --report json=PATH`, or two libraries: an argument
that names no file and does not end in .json is a subject, which is checked now. If each side is
about one subject, the cases of one are compared with those of the other, whatever their names.
Exit status: 1 if a case fails in NEW that does not fail in OLD, 2 if a report cannot be read, 3 if
a subject could not be tried.
"""


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "diff",
        help="compare two reports of `refarray check`, or two libraries",
        description=DESCRIPTION,
    )
    parser.add_argument("old", metavar="OLD", help="a JSON report, or a subject")
    parser.add_argument("new", metavar="NEW", help="a JSON report, or a subject")
    parser.add_argument(
        "--only", metavar="ID", nargs="+", default=[], help="as for `refarray check`"
    )
    parser.set_defaults(run=run)


def read(path: Path) -> Findings:
    """Return the findings of a report. Raises ValueError if the file is not a report."""
    try:
        findings = json.loads(path.read_text(encoding="utf-8"))["findings"]
        return index_findings(findings)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a report of `refarray check`: {error!r}") from error


def index_findings(findings: list[dict[str, Any]]) -> Findings:
    """Return the findings by subject, requirement, role and case."""
    return {(f["subject"], f["id"], f["role"], f["case"]): f for f in findings}


class NotTried(Exception):
    """A subject could not be checked; the message says why."""


def side(name: str, only: list[str]) -> Findings:
    from refarray.conformance.runner.engine import run_subject, select

    if name.endswith(".json") or Path(name).is_file():
        try:
            return read(Path(name))
        except (OSError, ValueError) as error:
            raise Usage(str(error)) from error
    try:
        checks = select(ids=only)
    except ValueError as error:
        raise Usage(f"--only: {error}") from error
    run = run_subject(name, checks)
    if run.broken:
        raise NotTried(f"{run.subject} could not be tried: {run.broken}")
    return index_findings([found.to_dict() for found in run.findings])


def align(old: Findings, new: Findings) -> tuple[Findings, Findings]:
    """Return both sides; if each has one subject, under a name that both share."""
    names = [sorted({key[0] for key in each}) for each in (old, new)]
    if names[0] == names[1] or any(len(each) != 1 for each in names):
        return old, new
    title = f"{names[0][0]} -> {names[1][0]}"
    first, second = ({(title, *key[1:]): f for key, f in each.items()} for each in (old, new))
    return first, second


def run(arguments: argparse.Namespace) -> int:
    """Print an entry for each case whose outcome differs, or that is on one side only."""
    from refarray.conformance.findings import Outcome

    try:
        sides = [side(each, arguments.only) for each in (arguments.old, arguments.new)]
    except NotTried as error:
        print(f"refarray diff: {error}", file=sys.stderr)
        return 3
    old, new = align(*sides)
    worse = 0
    for key in dict.fromkeys([*old, *new]):
        before = old[key]["outcome"] if key in old else "absent"
        after = new[key]["outcome"] if key in new else "absent"
        if before == after:
            continue
        subject, name, role, case = key
        observed = new.get(key, {}).get("observed", "")
        line = f"{subject} {name} {role} {case}: {before} -> {after}"
        print("\n".join(wrap_hanging("", f"{line}: {observed}" if observed else line, 4, width())))
        worse += after != "absent" and Outcome(after).failed
    print(f"{len(old)} cases before, {len(new)} after, {worse} newly failing")
    return 1 if worse else 0
