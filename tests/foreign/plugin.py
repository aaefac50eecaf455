"""pytest plugin that substitutes refarray in the collected modules and records every test: outcome,
message, and number of exchanges. Variables of the environment: FOREIGN_ADAPTER, FOREIGN_SIDE,
FOREIGN_REPORT."""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foreign import exchanges

ADAPTER = importlib.import_module(f"foreign.adapters.{os.environ['FOREIGN_ADAPTER']}")
SIDE = os.environ["FOREIGN_SIDE"]
REPORT = Path(os.environ["FOREIGN_REPORT"])
#: Names the running test, for the case that the process dies.
RUNNING = REPORT.with_suffix(".running")
MESSAGE = 400  # characters kept of a failure

tests: dict[str, dict[str, Any]] = {}
not_collected: list[str] = []


def short(nodeid: str) -> str:
    """FILE.py::Class::test[parameters], wherever the file is."""
    path, separator, rest = nodeid.partition("::")
    return f"{Path(path).name}{separator}{rest}"


def pytest_collectstart(collector: pytest.Collector) -> None:
    if isinstance(collector, pytest.Module):
        collect = collector.collect

        def substituted() -> Any:
            ADAPTER.substitute(collector.obj, SIDE)
            return collect()

        collector.collect = substituted  # type: ignore[method-assign]


def pytest_collection_finish() -> None:
    """Tests that collect garbage need not scan what was imported."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    name = short(item.nodeid)
    RUNNING.write_text(name, encoding="utf-8")
    random.seed(0)
    exchanges.take()
    tests[name] = {"outcome": "passed", "message": ""}
    try:
        return (yield)
    finally:
        tests[name]["exchanges"] = exchanges.take()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    entry = tests[short(report.nodeid)]
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash is not None else str(report.longrepr)
        entry.update(outcome="failed", message=message[:MESSAGE])
    elif report.skipped and entry["outcome"] == "passed" and not hasattr(report, "wasxfail"):
        entry["outcome"] = "skipped"


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        not_collected.append(f"{report.nodeid}: {report.longrepr}"[-2000:])


def pytest_sessionfinish() -> None:
    record = {"tests": tests, "not_collected": not_collected}
    REPORT.write_text(json.dumps(record, indent=1), encoding="utf-8")
    RUNNING.unlink(missing_ok=True)
