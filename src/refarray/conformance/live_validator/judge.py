"""Applies all rules of the live validator to a spy's records."""

from __future__ import annotations

from refarray.conformance.findings import BROKEN, Finding, Outcome
from refarray.conformance.live_validator import (  # noqa: F401  # importing them registers rules
    consumer_rules,
    producer_rules,
)
from refarray.conformance.live_validator.calls import Record
from refarray.conformance.live_validator.rules import RULES
from refarray.conformance.requirements import requirement
from refarray.conformance.subjects.lookup import version_of


def judge(spy: Record) -> list[Finding]:
    """One finding for each rule that applied; a broken instance takes precedence."""
    out = []
    for name, role, expected, apply in RULES:
        verdicts = list(apply(spy))
        if not verdicts:
            continue
        held, observed = min(verdicts, key=lambda verdict: verdict[0])
        level = requirement(name).level
        who = spy.producer if role == "producer" else spy.consumer
        outcome = Outcome.PASS if held else BROKEN[level]
        case = f"spy-{spy.producer}-{spy.consumer}"
        version = version_of(who)
        out.append(Finding(name, level, who, version, role, case, outcome, expected, observed, ""))
    return out
