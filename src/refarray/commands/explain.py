"""`refarray explain`: requirements and their checks."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from refarray._terminal import suggestion, width, wrap_hanging
from refarray.commands import Subparsers

if TYPE_CHECKING:
    from refarray.conformance.requirements import Requirement


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "explain", help="explain a requirement: its text, its rationale and its checks"
    )
    parser.add_argument("ids", metavar="ID", nargs="+", help="for example VERS-01")
    parser.set_defaults(run=run)


def explanation(asked: Requirement) -> str:
    from refarray.conformance.cases import CHECKS
    from refarray.conformance.requirements import reasons

    derived = " (derived: implied by the standard, not stated in it)" if asked.derived else ""
    rows = [
        ("level", asked.level + derived),
        ("holds", ", ".join(asked.versions)),
        ("for", ", ".join(asked.roles)),
        ("because", asked.rationale),
    ]
    for number, quote in enumerate(asked.quotes):
        rows.append(("text" if number == 0 else "beside", f'"{quote.text}"'))
        rows.append(("in", f"{quote.document}, {quote.link}"))
    if asked.see:
        rows.append(("see", asked.see))
    if asked.policy:
        rows.append(("policy", ", ".join(asked.policy)))
    checks = [check for check in CHECKS.values() if check.id == asked.id]
    columns = width()
    out = wrap_hanging(f"{asked.id}  ", asked.title, len(asked.id) + 2, columns)
    for name, text in rows:
        out += wrap_hanging(f"  {name:<9} ", text, 12, columns)
    for n, check in enumerate(checks):
        weaker = f" ({check.level})" if check.level else ""
        first = f"  {'checked' if n == 0 else '':<9} {check.role}, {check.case}{weaker}: "
        out += wrap_hanging(first, check.expected, 14, columns)
    if not checks:
        out += wrap_hanging("  no check  ", reasons()[asked.id], 12, columns)
    return "\n".join(out)


def run(arguments: argparse.Namespace) -> int:
    """Print each requirement; report unknown ids on stderr."""
    from refarray.conformance.requirements import requirement, requirements
    from refarray.conformance.suite import load

    load()
    status = 0
    for number, name in enumerate(arguments.ids):
        try:
            found = requirement(name)
        except KeyError:
            hint = suggestion([name], requirements())
            print(
                f"refarray explain: there is no requirement {name}; see `refarray list`{hint}",
                file=sys.stderr,
            )
            status = 2
            continue
        print(("\n" if number else "") + explanation(found))
    return status
