"""Owns the repetition of tests: each is run again and again, and what every run leaves behind, of
references, memory blocks or file descriptors, is a leak."""

from __future__ import annotations

import gc
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

WARM, RUNS, AGAIN = 1, 2, 12
#: How often AGAIN runs have to say so: what the interpreter and Hypothesis keep grows for a while.
SERIES = 3
DESCRIPTORS = Path("/proc/self/fd")


class Counts(NamedTuple):
    references: int  # of a debug interpreter; 0 elsewhere
    blocks: int
    descriptors: int


total_references: Callable[[], int] = getattr(sys, "gettotalrefcount", lambda: 0)


#: The interpreter's cache of methods keeps a name for each type that ever had it looked up, for a
#: while; CPython's own hunt empties it too.
clear_method_cache: Callable[[], None] = getattr(sys, "_clear_type_cache", lambda: None)


def measure(into: list[array[int]], run: int) -> None:
    gc.collect()
    clear_method_cache()
    into[0][run] = total_references()
    into[2][run] = sum(1 for _ in DESCRIPTORS.iterdir())
    into[1][run] = sys.getallocatedblocks()


def leaked(deltas: list[Counts]) -> str:
    """As CPython's own hunt judges: references and blocks must grow in every run, because caches
    fill at times of their own; a descriptor has no cache."""
    found = [
        f"{name} {[getattr(delta, name) for delta in deltas]}"
        for name, judge in (("references", all), ("blocks", all), ("descriptors", any))
        if deltas and judge(getattr(delta, name) >= 1 for delta in deltas)
    ]
    return ", ".join(found)


def shared_fixtures(item: pytest.Item) -> list[Any]:
    """What of the test's fixtures outlives the test."""
    by_name: dict[str, Any] = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    return [found for row in by_name.values() for found in row if found.scope != "function"]


class Forgetting:
    """pytest has each shared fixture remember every test's fixtures that asked for it, to finish
    them first: that they have been finished does not take them off the list. Hypothesis puts new
    settings around a test's own for each run, the older ones inside."""

    SETTINGS = "_hypothesis_internal_use_settings"

    def __init__(self, item: pytest.Item) -> None:
        made = [found for found in shared_fixtures(item) if found.cached_result is not None]
        self.kept = [(found, len(found._finalizers)) for found in made]
        self.function = getattr(item, "obj", None)
        self.settings = getattr(self.function, self.SETTINGS, None)

    def forget(self) -> None:
        for found, count in self.kept:
            del found._finalizers[count:]
        if self.settings is not None:
            setattr(self.function, self.SETTINGS, self.settings)


class Sibling:
    """Stands for a next test of the same module: what the module needs stays, the test's own
    fixtures go."""

    def __init__(self, item: pytest.Item) -> None:
        self.chain = item.listchain()[:-1]

    def listchain(self) -> list[object]:
        return list(self.chain)


class Repeater:
    """Runs every test WARM + RUNS times; one that looks leaky SERIES of AGAIN times more before it
    is one."""

    def __init__(self) -> None:
        self.checked = 0
        self.found: list[str] = []

    def runs(self, item: pytest.Item, count: int, failed: list[pytest.TestReport]) -> list[Counts]:
        """What each of `count` runs leaves behind; stops at a failure."""
        # Made beforehand: a list that grew between two counts would itself be counted.
        counts = [array("q", [0] * (count + 1)) for _ in Counts._fields]
        for run in range(count + 1):
            if run > 0:
                shared = Forgetting(item)
                reports = runtestprotocol(item, log=False, nextitem=Sibling(item))
                shared.forget()
                failed += [report for report in reports if report.outcome == "failed"]
                del reports, shared
            if failed:
                return []
            measure(counts, run)
        return [
            Counts(*(column[run + 1] - column[run] for column in counts)) for run in range(count)
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        failed: list[pytest.TestReport] = []
        self.runs(item, WARM, failed)
        gc.freeze()  # what lives by now need not be visited by the collections to come
        growth = leaked(self.runs(item, RUNS, failed))
        for _ in range(SERIES):
            growth = growth and leaked(self.runs(item, AGAIN, failed))
        for report in failed or runtestprotocol(item, log=False, nextitem=nextitem):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        self.checked += 1
        if growth and not failed:
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
