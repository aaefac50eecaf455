"""A spy's timeline and verdicts as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from refarray._terminal import width, wrap_hanging
from refarray.conformance.findings import Finding, Outcome
from refarray.conformance.live_validator.calls import Step


def timeline_lines(steps: Sequence[Step], began: int, names: Mapping[str, str]) -> list[str]:
    """The events as a table; times are in milliseconds since `began`."""
    rows = [("ms", "thread", "who", "what")]
    for step in steps:
        passed = f"{(step.nanoseconds - began) / 1e6:.3f}"
        rows.append((passed, step.thread, names.get(step.who, step.who), step.text))
    a, b, c = (max(len(row[i]) for row in rows) for i in range(3))
    out = []
    for row in rows:
        first = f"{row[0]:>{a}}  {row[1]:<{b}}  {row[2]:<{c}}  "
        out += wrap_hanging(first, row[3], len(first) + 2, width())
    return out


def lines(findings: Sequence[Finding]) -> list[str]:
    """A line for each verdict, and the totals."""
    order = list(Outcome)
    ranked = sorted(findings, key=lambda f: (f.outcome is Outcome.PASS, order.index(f.outcome)))
    out = []
    for f in ranked:
        first = f"{f.outcome:<4}  {f.id:<8} {f.level:<8} {f.subject}: "
        out += wrap_hanging(first, f.expected, 15, width())
        if f.outcome is not Outcome.PASS:
            out += wrap_hanging(f"{'':15}saw: ", f.observed, 20, width())
    broken = sum(f.outcome.failed for f in findings)
    return [*out, f"{len(findings)} requirements judged, {broken} broken"]
