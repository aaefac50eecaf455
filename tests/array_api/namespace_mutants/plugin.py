"""pytest plugin: collects once, then runs the tests once for each mutant, in a forked child.

REFARRAY_MUTANTS names a JSON file with these keys. `results`: a file that gets one line of JSON for
each run. `calls`: a file with the seconds that each test takes and the mutated functions that it
calls, or null to find that out: then the unmutated package runs `part` [i, n] of the tests.
`mutants`: the ids of the mutants to run otherwise; `seconds`: how long one may take; `others`: for
how many seconds tests are chosen whose ids do not name the mutant's function, or null for all of
them; `tests`: the ids of the tests that count, or null for all. Mutants are off while tests are
collected.
"""

from __future__ import annotations

import gc
import itertools
import json
import math
import os
import re
import select
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from array_api.namespace_mutants import load
from array_api.namespace_mutants.base import MUTANTS, SWITCH, Mutant, install
from hypothesis import HealthCheck, Phase, settings

ORDER: dict[str, Any] = json.loads(Path(os.environ["REFARRAY_MUTANTS"]).read_text(encoding="utf-8"))


# When the plugin is imported no conftest has imported anything from refarray yet.
load()
install()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Loop(), "mutants-loop")


# Loaded before any test and before the suite's own profile, which inherits what it does not set.
settings.register_profile(
    "mutants",
    database=None,  # one mutant must not find the examples of another
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutants")


#: Exceptions of Hypothesis about the speed and the repeatability of a test.
UNRELATED = ("DeadlineExceeded", "FailedHealthCheck", "Flaky", "FlakyFailure", "FlakyReplay")


class Witness:
    """Notes the first test that fails, and what else went wrong."""

    def __init__(self) -> None:
        self.failed = ""
        self.failures = 0
        self.kind = ""
        self.errors: list[str] = []
        self.calls: dict[str, tuple[float, list[str]]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        outcome: Any = yield
        report = outcome.get_result()
        if report.when == "call":
            self.calls[item.nodeid] = (report.duration, sorted(SWITCH.called))
        if report.outcome != "failed":
            return
        kind = call.excinfo.type if call.excinfo else AssertionError
        if report.when == "call" and kind.__name__ not in UNRELATED:
            self.failed, self.kind = self.failed or item.nodeid, self.kind or kind.__name__
            self.failures += 1
        else:  # says nothing about the mutant
            self.errors.append(f"{report.when} of {item.nodeid}: {kind.__name__}")


def named(mutant: Mutant, item: pytest.Item) -> bool:
    """Whether the id of a test names what the mutant breaks."""
    pattern = "|".join(re.escape(word) for word in mutant.words)
    return re.search(rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])", item.nodeid) is not None


def run_tests(
    session: pytest.Session, items: list[pytest.Item], mutant: Mutant | None
) -> dict[str, Any]:
    """Runs tests until one fails, or all of them if there is no mutant."""
    witness = Witness()
    session.config.pluginmanager.register(witness)
    session.config.pluginmanager.unregister(name="terminalreporter")
    SWITCH.mutant = mutant
    for item, following in itertools.zip_longest(items, items[1:]):
        SWITCH.called.clear()
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if witness.failed and mutant:
            break
    out: dict[str, Any] = {
        "killed_by": witness.failed,
        "kind": witness.kind,
        "errors": witness.errors[:5],
    }
    out |= {"failures": witness.failures, "tests": len(witness.calls), "results": SWITCH.results}
    return out if mutant else {**out, "calls": witness.calls}


def chosen(items: list[pytest.Item], mutant: Mutant) -> list[pytest.Item]:
    """The tests that call what the mutant breaks: those that name it, then others, the fastest
    first."""
    calls = json.loads(Path(ORDER["calls"]).read_text(encoding="utf-8"))
    which = [item for item in items if mutant.target in calls[item.nodeid][1]]
    which.sort(key=lambda item: calls[item.nodeid][0])
    out = [item for item in which if named(mutant, item)]
    left = math.inf if ORDER["others"] is None else ORDER["others"]
    for item in which:
        left -= 0 if named(mutant, item) else calls[item.nodeid][0]
        if left >= 0 and not named(mutant, item):
            out.append(item)
    return out


def child(session: pytest.Session, name: str, writer: int) -> None:
    """The body of a child: runs the tests of a mutant and writes the outcome to the pipe."""
    if name:
        mutant = MUTANTS[name]
        out = run_tests(session, chosen(session.items, mutant), mutant)
    else:
        part, parts = ORDER["part"]
        out = run_tests(session, session.items[part::parts], None)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        json.dump(out, stream)


def in_child(session: pytest.Session, name: str) -> dict[str, Any]:
    """Forks a child for a mutant; returns its outcome, or an error if it dies or takes too long."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        try:
            child(session, name, writer)
        finally:
            sys.stderr.flush()
            os._exit(0)
    os.close(writer)
    ended, _, _ = select.select([reader], [], [], ORDER["seconds"])
    if not ended:
        os.kill(process, signal.SIGKILL)
    with os.fdopen(reader, encoding="utf-8") as stream:
        text = stream.read()
    os.waitpid(process, 0)
    why = "the process died" if ended else f"no end after {ORDER['seconds']} s"
    return json.loads(text) if text else {"killed_by": "", "errors": [why]}


class Loop:
    """Takes the place of pytest's loop over the tests."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        if ORDER["tests"] is not None:
            session.items = [item for item in session.items if item.nodeid in set(ORDER["tests"])]
        gc.collect()
        gc.freeze()  # children do not copy what was collected
        with Path(ORDER["results"]).open("a", encoding="utf-8") as file:
            for name in ORDER["mutants"] if ORDER["calls"] else [""]:
                file.write(json.dumps({"mutant": name, **in_child(session, name)}) + "\n")
                file.flush()
        return True
