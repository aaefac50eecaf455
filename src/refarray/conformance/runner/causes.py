"""What findings have in common: one cause in several cases, and deviations of a wrapped library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from refarray.conformance.cases import CHECKS, Check
from refarray.conformance.findings import DEVIATIONS, Finding, Outcome, Run

SHOWN = {*DEVIATIONS} - {Outcome.ERROR}
"""Outcomes of cases that do not hold; their repro is a script of its own."""


def with_causes(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, each with the case that shows the same mistake more directly, if it failed."""
    shown = {each.name for each in findings if each.outcome in SHOWN}
    out = []
    for found in findings:
        check = CHECKS.get(found.name)
        causes = [name for name in check.same_as if name in shown] if check is not None else []
        known = found.outcome in SHOWN and causes
        out.append(replace(found, same_as=causes[0]) if known else found)
    return out


def with_origin(
    findings: Sequence[Finding], again: Callable[[Sequence[Check]], Run]
) -> list[Finding]:
    """The findings on a library that wraps another one's arrays: those that the other one has as
    well are marked as inherited. `again` runs checks on the other one."""
    names = {f.name: f for f in findings if f.outcome in SHOWN}
    shown = [check for name, check in CHECKS.items() if name in names]
    if not shown:
        return list(findings)
    run = again(shown)
    same = {f.name for f in run.findings if f.name in names and f.outcome is names[f.name].outcome}
    return [replace(f, inherited=run.title) if f.name in same else f for f in findings]
