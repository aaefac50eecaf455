"""The report as JSON: the schema's version, the environment and the findings."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from refarray import __version__
from refarray.conformance.findings import Run
from refarray.conformance.report.totals import coverage
from refarray.conformance.requirements import requirement

SCHEMA = 1
"""Incremented when a field changes its meaning or is removed, not for new fields."""


def schema() -> dict[str, Any]:
    """The JSON Schema of the report; its `$id` ends in SCHEMA."""
    file = resources.files(__package__).joinpath("schema.json")
    out: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return out


def environment() -> dict[str, str]:
    """The environment of the run: versions and platform."""
    return {
        "refarray": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "executable": sys.implementation.cache_tag or "",
    }


def document(runs: Iterable[Run]) -> dict[str, Any]:
    runs = list(runs)
    return {
        "$schema": f"urn:refarray:conformance-report:{SCHEMA}",
        "schema": SCHEMA,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment(),
        "subjects": [
            {
                "subject": run.subject,
                "asked": run.asked,
                "version": run.version,
                "broken": run.broken,
                "dropped": [asdict(each) for each in run.dropped],
                "conduct": run.conduct,
                "seconds": round(run.seconds, 3),
                "cases": len(run.findings),
                "tried": coverage(run.findings).tried,
            }
            for run in runs
        ],
        "findings": [found.to_dict() for run in runs for found in run.findings],
        "requirements": texts({found.id for run in runs for found in run.findings}),
    }


def texts(names: Iterable[str]) -> dict[str, Any]:
    """The title, the level and the quoted sentences of requirements, by their ids."""
    return {
        name: {
            "title": requirement(name).title,
            "level": requirement(name).level,
            "derived": requirement(name).derived,
            "quotes": [asdict(quote) for quote in requirement(name).quotes],
        }
        for name in sorted(names)
    }


def text(runs: Iterable[Run]) -> str:
    """The document, indented."""
    return json.dumps(document(runs), indent=1) + "\n"
