"""A pytest plugin that repeats each test: growth of references, memory blocks or file descriptors
in every run is a leak."""

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
#: Series of AGAIN runs that must all grow: caches of the interpreter and Hypothesis fill slowly.
SERIES = 3
MOST_LEAKS = 10  # the run then stops: a test that leaks is repeated many times
FROZEN = 200  # tests between two full collections
DESCRIPTORS = Path("/proc/self/fd")


class Counts(NamedTuple):
    references: int  # only in a debug interpreter, otherwise 0
    blocks: int
    descriptors: int


total_references: Callable[[], int] = getattr(sys, "gettotalrefcount", lambda: 0)


#: The interpreter's method cache keeps references to names; CPython's own refleak test clears it
#: too.
clear_method_cache: Callable[[], None] = getattr(sys, "_clear_type_cache", lambda: None)


def measure(into: list[array[int]], run: int) -> None:
    gc.collect()
    clear_method_cache()
    into[0][run] = total_references()
    into[2][run] = sum(1 for _ in DESCRIPTORS.iterdir())
    into[1][run] = sys.getallocatedblocks()


def leaked(deltas: list[Counts]) -> str:
    """Judges like CPython's refleak test: references and blocks must grow in every run, because
    caches fill at any time; one more descriptor is a leak."""
    found = [
        f"{name} {[getattr(delta, name) for delta in deltas]}"
        for name, judge in (("references", all), ("blocks", all), ("descriptors", any))
        if deltas and judge(getattr(delta, name) >= 1 for delta in deltas)
    ]
    return ", ".join(found)


def shared_fixtures(item: pytest.Item) -> list[Any]:
    """Returns the fixtures of a test that outlive it."""
    by_name: dict[str, Any] = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    return [found for row in by_name.values() for found in row if found.scope != "function"]


class Forgetting:
    """Undoes what pytest and Hypothesis keep per run. pytest adds a finalizer for each dependent
    fixture to every shared fixture and never removes it; Hypothesis wraps a test's settings once
    per run."""

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
    """A fake next test of the same module, so that module fixtures stay and the test's own are torn
    down."""

    def __init__(self, item: pytest.Item) -> None:
        self.chain = item.listchain()[:-1]

    def listchain(self) -> list[object]:
        return list(self.chain)


class Repeater:
    """Runs every test WARM + RUNS times, and SERIES times AGAIN if it seems to leak."""

    def __init__(self) -> None:
        self.checked = 0
        self.found: list[str] = []

    def runs(self, item: pytest.Item, count: int, failed: list[pytest.TestReport]) -> list[Counts]:
        """Returns the growth of each of `count` runs; stops at a failure."""
        # Allocated before counting, so that it is not counted itself.
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
        gc.freeze()  # later collections need not visit objects that exist now
        growth = leaked(self.runs(item, RUNS, failed))
        for _ in range(SERIES):
            growth = growth and leaked(self.runs(item, AGAIN, failed))
        for report in failed or runtestprotocol(item, log=False, nextitem=nextitem):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        self.checked += 1
        if self.checked % FROZEN == 0:
            gc.unfreeze()  # garbage among the objects that were frozen is found only now
            gc.collect()
        if growth and not failed:
            self.found.append(f"{item.nodeid} leaks: {growth}")
        if len(self.found) == MOST_LEAKS:
            item.session.shouldstop = f"{MOST_LEAKS} tests leak"
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
