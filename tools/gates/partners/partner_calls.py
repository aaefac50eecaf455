"""Runs the calls of every library in tests/partners/calls, both ways and with every kind of array,
and compares the outcomes with docs/records/calls."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "docs"))
import calls_page
import environments
from calls_page import Library
from common import ROOT, output, say, show
from environments import Environment

EXCHANGE = ROOT / "tests" / "partners" / "calls" / "exchange.py"
RESULTS = environments.WORK / "results"
SECONDS = 600
"""Limit of one process; it ends a library that hangs."""
PARALLEL = 2
COLUMNS = ("library", "version", "calls", "zero-copy", "copy", "refuses", "wrong", "changed")
QUIET = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "PYTHONWARNINGS": "ignore",
}


class Broken(Exception):
    """The library's row could not be run."""


def needed(libraries: dict[str, Library]) -> dict[str, Environment]:
    """The environments in which these libraries run, with the requirements of all rows there."""
    requires: dict[str, list[str]] = {}
    for library in calls_page.rows().values():
        requires.setdefault(library["environment"], []).extend(library.get("requires", []))
    wanted = {library["environment"] for library in libraries.values()}
    return {name: Environment(name, list(dict.fromkeys(requires[name]))) for name in sorted(wanted)}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def died(status: int) -> str:
    return f"crash {signal.Signals(-status).name}" if status < 0 else f"crash exit {status}"


def observe(python: str | Path, file: Path, name: str, results: Path) -> list[dict[str, Any]]:
    """Runs the calls of a library; after a crash another process goes on with the next kind."""
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text("", encoding="utf-8")
    done = -1
    while True:
        before, done = done, sum("observed" in line for line in lines(results))
        if done == before:
            raise Broken("no progress after a crash")
        command = [python, EXCHANGE, file, name, results, str(done)]
        try:
            process = subprocess.run(
                command,
                check=False,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                env={**os.environ, **QUIET},
                cwd=results.parent,
            )
        except subprocess.TimeoutExpired as error:
            raise Broken(f"not done after {SECONDS} s") from error
        found = lines(results)
        if process.returncode == 0:
            return found
        if not found or "started" not in found[-1] or process.returncode > 0:
            raise Broken(f"exit status {process.returncode}\n{process.stderr[-2000:]}")
        with results.open("a", encoding="utf-8") as out:
            print(json.dumps({"observed": died(process.returncode)}), file=out)


def outcomes(library: Library, found: list[dict[str, Any]]) -> dict[str, Any]:
    """The entry of the record, made of the lines that a library's processes wrote."""
    version = next(line["version"] for line in found if "version" in line)
    calls = [
        {"direction": direction, "call": row["call"], "kinds": {}}
        for direction, row in calls_page.calls_of(library)
    ]
    first = {"to": 0, "from": len(library.get("to", []))}
    cases = [line for line in found if "version" not in line]
    for started, observed in zip(cases[::2], cases[1::2], strict=True):
        direction, number, kind = started["started"]
        calls[first[direction] + number]["kinds"][kind] = observed["observed"]
    return {"version": version, "calls": calls}


def numbered(calls: list[dict[str, Any]]) -> dict[tuple[str, str, int], dict[str, str]]:
    """What was observed of each call; the same call of two rows has two numbers."""
    found: dict[tuple[str, str, int], dict[str, str]] = {}
    for call in calls:
        key = (call["direction"], call["call"].strip())
        found[*key, sum(known[:2] == key for known in found)] = call["kinds"]
    return found


def changes(now: dict[str, Any], before: dict[str, Any] | None) -> Iterator[str]:
    """The differences of a library's entry from the recorded one."""
    if before is None:
        yield "is not recorded"
        return
    if now["version"] != before["version"]:
        yield f"version {now['version']}, recorded with {before['version']}"
    recorded = numbered(before["calls"])
    for key, observed in numbered(now["calls"]).items():
        kinds = recorded.pop(key, None)
        place = f"{key[0]}, {key[1]}"
        if kinds is None:
            yield f"{place}: is not recorded"
            continue
        for kind in {**kinds, **observed}:
            if (was := kinds.get(kind)) != (seen := observed.get(kind)):
                yield f"{place}: {kind}: {seen}, recorded as {was}"
    for direction, code, _ in recorded:
        yield f"{direction}, {code}: is recorded, but has no row"


def try_library(name: str, library: Library, python: Path) -> tuple[dict[str, Any] | None, str]:
    """The entry of a library, and what went wrong."""
    file = calls_page.ROWS / library["file"]
    start = time.monotonic()
    try:
        entry = outcomes(library, observe(python, file, name, RESULTS / f"{name}.jsonl"))
    except Broken as error:
        say(f"{name}: {error}")
        return None, str(error)
    words = [calls_page.outcome(call["kinds"][calls_page.MAIN]) for call in entry["calls"]]
    say(f"{name} {entry['version']}: {', '.join(words)} ({time.monotonic() - start:.0f} s)")
    return entry, ""


def report(name: str, entry: dict[str, Any], problems: list[str]) -> list[str]:
    """The row of the closing table; prints the problems."""
    for problem in problems:
        print(f"   {name}: {problem}")
    words = Counter(calls_page.outcome(call["kinds"][calls_page.MAIN]) for call in entry["calls"])
    counts = [str(words[word]) for word in COLUMNS[3:7]]
    return [name, str(entry["version"]), str(len(entry["calls"])), *counts, str(len(problems))]


def prepare(libraries: dict[str, Library]) -> dict[str, Path]:
    """The interpreter of each environment, in which refarray is installed."""
    found = {}
    for name, environment in needed(libraries).items():
        environments.make(environment)
        environments.install_refarray(environment)
        found[name] = environment.python
    return found


def run_all(names: Iterable[str], update: bool) -> bool:
    """Runs the calls of the named libraries; returns whether all outcomes are the recorded ones."""
    rows = calls_page.rows()
    libraries = {name: rows[name] for name in names}
    pythons = prepare(libraries)
    known = calls_page.record()
    say(f"{len(libraries)} libraries, {PARALLEL} at a time")
    with ThreadPoolExecutor(PARALLEL) as pool:
        results = pool.map(
            lambda name: try_library(name, rows[name], pythons[rows[name]["environment"]]),
            libraries,
        )
        found = dict(zip(libraries, results, strict=True))
    table, bad = [], 0
    for name, (entry, error) in found.items():
        if entry is None:
            table.append([name, "", "0", *["0"] * 4, error.splitlines()[0]])
            bad += 1
            continue
        problems = list(calls_page.disagreements(rows[name], entry["calls"]))
        if update:
            known["libraries"][name] = entry
        else:
            problems += changes(entry, known["libraries"].get(name))
        table.append(report(name, entry, problems))
        bad += bool(problems)
    say("calls of each library, by the outcome of an ordinary array")
    show(COLUMNS, table)
    if update:
        save(known)
    return not bad


def save(known: dict[str, Any]) -> None:
    python = environments.interpreter(environments.PYTHON)
    version = output([python, "-c", "import platform; print(platform.python_version())"])
    calls_page.save({"python": version, "libraries": known["libraries"]})
