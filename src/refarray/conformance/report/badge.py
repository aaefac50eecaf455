"""Owns the report as a badge: the JSON that badge services read from an address."""

from __future__ import annotations

import json
from collections.abc import Iterable

from refarray.conformance.findings import Outcome
from refarray.conformance.runner.engine import Run


def text(runs: Iterable[Run]) -> str:
    """How many requirements were kept by every subject together, and a colour."""
    runs = list(runs)
    tried = {
        (run.subject, found.id)
        for run in runs
        for found in run.findings
        if found.outcome is not Outcome.NOT_APPLICABLE
    }
    failed = {
        (run.subject, found.id) for run in runs for found in run.findings if found.outcome.failed
    }
    warned = {
        (run.subject, found.id)
        for run in runs
        for found in run.findings
        if found.outcome is Outcome.WARN
    }
    if any(run.broken for run in runs) or not tried:
        message, colour = "not tried", "lightgrey"
    elif failed:
        message, colour = f"{len(failed)} of {len(tried)} broken", "red"
    else:
        message = f"{len(tried)} requirements kept"
        colour = "yellow" if warned else "brightgreen"
    return (
        json.dumps({"schemaVersion": 1, "label": "DLPack", "message": message, "color": colour})
        + "\n"
    )
