"""pytest plugin: collects once, then runs tests in forked children, one for each mutant.

REFARRAY_ORDER names a JSON file. `tests`: null for the run without a mutant, which notes of `part`
[i, n] of the tests how long each takes and which mutants it reaches; otherwise what these runs
wrote. `mutants`: [number, group] of each to run; tests that killed one of its group come first.
`results`: a file that gets a line of JSON for each run. `budget`: seconds that a mutant's tests may
take without it. `least`: seconds after which a test may count as a hang.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import resource
import select
import signal
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _refarray_mutants import SIZE, STATE

ORDER: dict[str, Any] = json.loads(Path(os.environ["REFARRAY_ORDER"]).read_text(encoding="utf-8"))
SLOW = 5.0  # seconds of the processor: a slower test kills no mutant
PATIENCE = 50  # a test may take so many times its seconds of the processor
#: Bytes: a wrong extent must not take the machine's. Simulated devices only reserve more.
MEMORY = 8 << 30


def set_current(number: int) -> None:
    STATE[0:4] = number.to_bytes(4, "little")


def take_reached() -> list[int]:
    """The numbers of the mutants that were reached since the last call."""
    flags = STATE[4:SIZE]
    STATE[4:SIZE] = bytes(SIZE - 4)
    found, at = [], flags.find(1)
    while at >= 0:
        found.append(at)
        at = flags.find(1, at + 1)
    return found


def processor_seconds() -> float:
    """Those of this process and its children: the load of the machine must choose no tests."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)


class Witness:
    """Notes the first phase of an item that failed."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "failed" or (report.skipped and report.when != "call"):
            self.failed = self.failed or report.when


def run_tests(session: pytest.Session, items: list[pytest.Item], write: Any, stop: bool) -> None:
    """Runs tests, and writes a line before and after each; `stop`: until one fails."""
    os.setsid()
    session.config.pluginmanager.unregister(name="terminalreporter")
    for item, following in itertools.zip_longest(items, items[1:]):
        witness = Witness()
        session.config.pluginmanager.register(witness)
        write.write(json.dumps({"test": item.nodeid}) + "\n")
        write.flush()
        take_reached() if not stop else None
        begin = processor_seconds()
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        session.config.pluginmanager.unregister(witness)
        row = {"failed": witness.failed, "seconds": round(processor_seconds() - begin, 3)}
        row |= {} if stop else {"reached": take_reached()}
        write.write(json.dumps(row) + "\n")
        write.flush()
        if stop and witness.failed:
            return


def lines_of(process: int, reader: int, times: dict[str, float]) -> Iterator[dict[str, Any]]:
    """The rows that a child writes; a hang, which ends it, if the next takes too long."""
    text, test = b"", ""
    while True:
        seconds = max(ORDER["least"], PATIENCE * times.get(test, 30.0))
        if not select.select([reader], [], [], seconds)[0]:
            yield {"failed": "hang"}
            os.kill(process, signal.SIGKILL)
        new = os.read(reader, 1 << 16)
        if not new:
            return
        *whole, text = (text + new).split(b"\n")
        for row in map(json.loads, whole):
            test = row.get("test", test)
            yield row


def in_child(
    session: pytest.Session, items: list[pytest.Item], times: dict[str, float]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Runs tests in a forked child; yields each test with its outcome. What ends the child is the
    outcome of the test that ran. `times`: empty without a mutant."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        try:
            os.close(reader)
            run_tests(session, items, os.fdopen(writer, "w"), stop=bool(times))
        finally:
            os._exit(0)
    os.close(writer)
    test, status = "", None
    try:
        for row in lines_of(process, reader, times):
            if "failed" in row:
                yield test, row
            test = row.get("test", "")
        _, status = os.waitpid(process, 0)
        if test:
            yield test, {"failed": f"ended with {os.waitstatus_to_exitcode(status)}"}
    finally:
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        if status is None:
            os.waitpid(process, 0)


def in_turns(tests: list[str], times: dict[str, float]) -> list[str]:
    """The fastest test of each file, then the second of each: the file that knows is soon met."""
    files: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: times[test]):
        files[test.partition("::")[0]].append(test)
    rounds = itertools.zip_longest(*files.values())
    return [test for one in rounds for test in one if test is not None]


class Loop:
    """Takes the place of pytest's loop over the tests."""

    def note(self, **row: Any) -> None:
        with Path(ORDER["results"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def run_unmutated(self, session: pytest.Session) -> None:
        first, parts = ORDER["part"]
        # Whole files, so that what a module's fixture reaches is known of a test of the file.
        names = sorted({item.nodeid.partition("::")[0] for item in session.items})[first::parts]
        items = [item for item in session.items if item.nodeid.partition("::")[0] in set(names)]
        while items:  # again after a test that ended the process
            done = {}
            for test, row in in_child(session, items, {}):
                done[test] = row
                self.note(test=test, **row)
            items = [item for item in items if item.nodeid not in done] if done else []

    def run_mutants(self, session: pytest.Session) -> None:
        tests: dict[str, list[Any]] = ORDER["tests"]
        items = {item.nodeid: item for item in session.items}
        times = {test: row[0] for test, row in tests.items()}
        of_mutant: dict[int, list[str]] = defaultdict(list)
        for test, (seconds, reached) in tests.items():
            if seconds <= SLOW and test in items:
                for number in reached:
                    of_mutant[number].append(test)
        killers: dict[str, dict[str, None]] = defaultdict(dict)
        for number, group in ORDER["mutants"]:
            wanted = in_turns(of_mutant[number], times)
            first = [test for test in killers[group] if test in set(wanted)]
            sums = itertools.accumulate(times[test] for test in wanted)
            wanted = [
                test for test, sum in zip(wanted, sums, strict=True) if sum <= ORDER["budget"]
            ]
            wanted = list(dict.fromkeys([*first, *wanted]))
            set_current(number)
            begin, ran, killer, how = time.monotonic(), 0, "", ""
            if wanted:
                chosen = [items[test] for test in wanted]
                for test, row in in_child(session, chosen, times):
                    ran += 1
                    if row["failed"]:
                        killer, how = test, row["failed"]
                        killers[group] = {test: None, **killers[group]}
                        break
            set_current(0)
            seconds = round(time.monotonic() - begin, 1)
            of = {"reached": len(wanted), "ran": ran, "seconds": seconds}
            self.note(number=number, by=killer, how=how, **of)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self.note(test="", seconds=0.0, failed="", reached=take_reached())
        gc.collect()
        gc.freeze()  # children do not copy what was collected
        self.run_unmutated(session) if ORDER["tests"] is None else self.run_mutants(session)
        return True


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Loop(), "mutants-loop")
