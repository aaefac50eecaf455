"""The report as a badge: the JSON that badge services such as shields.io read."""

from __future__ import annotations

import json
from collections.abc import Iterable

from refarray.conformance.findings import Run
from refarray.conformance.report.totals import Totals, totals


def text(runs: Iterable[Run]) -> str:
    """The numbers of requirements kept and tried, over all subjects, and a colour."""
    runs = list(runs)
    found = sum((totals(run.findings) for run in runs), Totals())
    if any(run.broken or run.mistakes for run in runs) or not found.tried + found.unknown:
        message, colour = "not tried", "lightgrey"
    elif found.unknown:
        message, colour = "error in the kit", "lightgrey"
    else:
        message = f"{found.kept} of {found.tried} kept"
        colour = "red" if found.broken else "yellow" if found.warned else "brightgreen"
    return (
        json.dumps({"schemaVersion": 1, "label": "DLPack", "message": message, "color": colour})
        + "\n"
    )
