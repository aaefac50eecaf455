"""The report as a badge: the JSON that badge services such as shields.io read."""

from __future__ import annotations

import json
from collections.abc import Iterable

from refarray.conformance.findings import Outcome
from refarray.conformance.runner.engine import Run


def text(runs: Iterable[Run]) -> str:
    """The number of requirements that hold, over all subjects, and a colour."""
    runs = list(runs)
    tried = {
        (run.subject, found.id)
        for run in runs
        for found in run.findings
        if found.outcome not in {Outcome.NOT_APPLICABLE, Outcome.ERROR}
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
    elif any(found.outcome is Outcome.ERROR for run in runs for found in run.findings):
        message, colour = "error in the kit", "lightgrey"
    elif failed:
        message, colour = f"{len(failed)} of {len(tried)} broken", "red"
    else:
        message = f"{len(tried)} requirements kept"
        colour = "yellow" if warned else "brightgreen"
    return (
        json.dumps({"schemaVersion": 1, "label": "DLPack", "message": message, "color": colour})
        + "\n"
    )
