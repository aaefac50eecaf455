"""Owns the repetition of tests: each is run again and again, and what every run leaves behind, of
references, memory blocks or file descriptors, is a leak."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.runner import runtestprotocol

WARM, RUNS, AGAIN = 2, 3, 12
DESCRIPTORS = Path("/proc/self/fd")


class Counts(NamedTuple):
    references: int  # of a debug interpreter; 0 elsewhere
    blocks: int
    descriptors: int


total_references: Callable[[], int] = getattr(sys, "gettotalrefcount", lambda: 0)


def measure() -> Counts:
    gc.collect()
    return Counts(total_references(), sys.getallocatedblocks(), len(list(DESCRIPTORS.iterdir())))


def leaked(deltas: list[Counts]) -> str:
    """As CPython's own hunt judges: references and blocks must grow in every run, because caches
    fill at times of their own; a descriptor has no cache."""
    found = [
        f"{name} {[getattr(delta, name) for delta in deltas]}"
        for name, judge in (("references", all), ("blocks", all), ("descriptors", any))
        if judge(getattr(delta, name) >= 1 for delta in deltas)
    ]
    return ", ".join(found)


class Repeater:
    """Runs every test WARM + RUNS times; one that looks leaky AGAIN times more before it is one."""

    def __init__(self) -> None:
        self.checked = 0
        self.found: list[str] = []

    def once(self, item: pytest.Item, reports: list[pytest.TestReport]) -> Counts:
        before = measure()
        reports[:] = runtestprotocol(item, log=False, nextitem=item)
        passed = all(report.outcome != "failed" for report in reports)
        if passed:
            reports.clear()
        after = measure()
        return Counts(*(now - then for now, then in zip(after, before, strict=True)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        failed: list[pytest.TestReport] = []
        deltas: list[Counts] = []
        for _ in range(WARM):
            self.once(item, failed)
        gc.freeze()  # what lives by now need not be visited by every collection below
        for runs in (RUNS, AGAIN):
            deltas = [self.once(item, failed) for _ in range(runs) if not failed]
            if failed or not leaked(deltas):
                break
        gc.unfreeze()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for report in failed or reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        self.checked += 1
        if not failed and deltas and (growth := leaked(deltas)):
            self.found.append(f"{item.nodeid} leaks: {growth}")
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.found:
            terminalreporter.line(line)
        terminalreporter.line(f"{self.checked} tests repeated, {len(self.found)} of them leak")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.found and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Repeater(), "refleak")
