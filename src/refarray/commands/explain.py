"""`refarray explain`: requirements and their checks."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING

from refarray.commands import Subparsers

if TYPE_CHECKING:
    from refarray.conformance.requirements import Requirement


def add_to(subparsers: Subparsers) -> None:
    """Add the parser of the command."""
    parser = subparsers.add_parser(
        "explain", help="explain a requirement: its text, its rationale and its checks"
    )
    parser.add_argument("ids", metavar="ID", nargs="+", help="for example VERS-01")
    parser.set_defaults(run=run)


def explanation(asked: Requirement) -> str:
    """Return the description of a requirement."""
    from refarray.conformance.cases import CHECKS
    from refarray.conformance.requirements import reasons

    derived = " (derived: implied by the standard, not stated in it)" if asked.derived else ""
    rows = [
        ("level", asked.level + derived),
        ("holds", ", ".join(asked.versions)),
        ("for", ", ".join(asked.roles)),
        ("because", asked.rationale),
        ("standard", asked.source),
    ]
    if asked.quote:
        rows.append(("text", f'"{asked.quote}"'))
    if asked.policy:
        rows.append(("policy", ", ".join(asked.policy)))
    checks = [check for check in CHECKS.values() if check.id == asked.id]
    out = [f"{asked.id}  {asked.title}"]
    for name, text in rows:
        wrapped = textwrap.wrap(text, 84, break_long_words=False, break_on_hyphens=False)
        out.append(f"  {name:<9} {wrapped[0] if wrapped else ''}")
        out += [f"{'':12}{row}" for row in wrapped[1:]]
    out += [
        f"  {'checked' if n == 0 else '':<9} {check.role}, {check.case}: {check.expected}"
        for n, check in enumerate(checks)
    ]
    if not checks:
        wrapped = textwrap.wrap(reasons()[asked.id], 84)
        out += [f"  {'no check' if n == 0 else '':<9} {row}" for n, row in enumerate(wrapped)]
    return "\n".join(out)


def run(arguments: argparse.Namespace) -> int:
    """Print each requirement; report unknown ids on stderr."""
    from refarray.conformance.requirements import requirement
    from refarray.conformance.suite import load

    load()
    status = 0
    for number, name in enumerate(arguments.ids):
        try:
            found = requirement(name)
        except KeyError:
            print(
                f"refarray explain: there is no requirement {name}; see `refarray list`",
                file=sys.stderr,
            )
            status = 1
            continue
        print(("\n" if number else "") + explanation(found))
    return status
