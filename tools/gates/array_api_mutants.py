#!/usr/bin/env python3
"""Runs mutants of the array API namespace against two suites: `array_api_mutants.py [NAME ...]`.

The first suite is ours: tests/array_api with tests of the same functions in tests/array. The second
is a checkout of array-api-tests (--suite FOLDER). A mutant is killed by the first test whose call
fails. Each suite first runs with the unmutated package, which must pass, and notes which functions
each test calls; a mutant then runs the tests that call its function. In the second suite, where
every test calls asarray(), these are the tests that name the function and 10 seconds of others.
Exits 1 if our suite kills less than 95 % or if a mutant ends with an error. --record writes the
results to docs/array_api_mutants.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import array_api_tests
from common import ROOT, TESTS, build, environment, print_loaded, say

WORK = ROOT / "build" / "array-api-mutants"
RECORD = ROOT / "docs" / "array_api_mutants.json"
REQUIRED_RATE = 0.95
SECONDS, LONG = 300, 1800  # a run with a mutant may take, and one without
PROCESSES = 2
EXAMPLES = 100  # of each test of the official suite
OTHERS = 10.0  # see Suite.others, for the official suite
ARRAY_TESTS = (
    *("assignment", "astype", "convert", "copying", "creation", "dtype", "elements", "indexing"),
    *("info", "manipulation", "operators"),
)
OURS = ("tests/array_api", *(f"tests/array/test_{name}.py" for name in ARRAY_TESTS))
LIST = (
    "import json; from array_api.namespace_mutants import base, load; load();"
    "print(json.dumps({name: mutant.wrong for name, mutant in base.MUTANTS.items()}))"
)
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Suite:
    name: str
    python: str | Path
    folder: Path
    arguments: tuple[str, ...]
    variables: dict[str, str]
    others: float | None = None  # seconds for tests whose ids do not name the mutant's function
    tests: tuple[str, ...] | None = None  # the ids of the tests that count; None: all

    def path(self, suffix: str) -> Path:
        return WORK / f"{self.name}{suffix}"

    def start(self, number: int, order: dict[str, Any]) -> subprocess.Popen[bytes]:
        """Starts a pytest process with these instructions for the plugin."""
        results = self.path(f"-{number}.jsonl")
        results.write_text("", encoding="utf-8")
        fields: dict[str, Any] = {"results": str(results), "seconds": SECONDS}
        fields |= {"others": self.others, "tests": self.tests}
        path = self.path(f"-{number}.json")
        path.write_text(json.dumps({**fields, **order}), encoding="utf-8")
        plugins = ("-p", "array_api.namespace_mutants.plugin", "-p", "no:cacheprovider")
        return subprocess.Popen(
            [self.python, "-m", "pytest", "-q", *plugins, *self.arguments],
            cwd=self.folder,
            env={**self.variables, "REFARRAY_MUTANTS": str(path)},
            stdout=self.path(f"-{number}.log").open("wb"),
            stderr=subprocess.STDOUT,
        )


def our_suite(variables: dict[str, str]) -> Suite:
    return Suite("tests", sys.executable, ROOT, OURS, variables)


def official_suite(folder: Path, variables: dict[str, str]) -> Suite:
    """The official suite, in the environment without NumPy in which it is run otherwise. Tests of
    what refarray lacks do not count."""
    array_api_tests.check_suite(folder)
    array_api_tests.install()
    arguments = ("array_api_tests", "--max-examples", str(EXAMPLES), "--derandomize")
    own = {
        "ARRAY_API_TESTS_MODULE": "refarray",
        "ARRAY_API_TESTS_VERSION": array_api_tests.VERSION,
    }
    return Suite(
        *("official", array_api_tests.PYTHON, folder.resolve()),
        (*arguments, "--hypothesis-disable-deadline"),
        {**variables, **own},
        others=OTHERS,
        tests=tuple(array_api_tests.read_ratchet()),
    )


def outcomes(suite: Suite, orders: list[dict[str, Any]]) -> Iterator[Outcome]:
    """Runs a process for each order and yields the outcomes as they come."""
    running = dict(enumerate(suite.start(i, order) for i, order in enumerate(orders)))
    seen = dict.fromkeys(running, 0)
    while running:
        time.sleep(0.2)
        for number, process in list(running.items()):
            ended = process.poll() is not None
            text = suite.path(f"-{number}.jsonl").read_text(encoding="utf-8")
            new = [json.loads(line) for line in text.splitlines()[seen[number] :]]
            seen[number] += len(new)
            yield from new
            if ended:
                del running[number]
                if seen[number] != len(orders[number]["mutants"]):
                    sys.exit(suite.path(f"-{number}.log").read_text(encoding="utf-8"))


def verdict(outcome: Outcome) -> str:
    """killed, survived or error. A failed fixture, a crash, a timeout, or a test that fails before
    the mutant has given a result is an error, not a kill."""
    if outcome["killed_by"] and outcome["results"]:
        return "killed"
    return "error" if outcome["killed_by"] or outcome["errors"] else "survived"


def run_unmutated(suite: Suite) -> None:
    """Notes which functions each test calls; exits if a test fails without a mutant."""
    say(f"{suite.name} without a mutant")
    calls: dict[str, tuple[float, list[str]]] = {}
    parts = [
        {"calls": None, "part": [i, PROCESSES], "mutants": [""], "seconds": LONG}
        for i in range(PROCESSES)
    ]
    for outcome in outcomes(suite, parts):
        if verdict(outcome) != "survived":
            why = f"{outcome.get('failures')} tests, the first {outcome['killed_by']}"
            sys.exit(f"{suite.name}: {why} fail without a mutant; errors: {outcome['errors']}")
        calls |= outcome["calls"]
    suite.path("-calls.json").write_text(json.dumps(calls), encoding="utf-8")
    print(f"{len(calls)} tests pass", flush=True)


def run(suite: Suite, mutants: list[str]) -> dict[str, Outcome]:
    """Runs the mutants and prints each outcome."""
    say(f"{suite.name} with {len(mutants)} mutants")
    calls = str(suite.path("-calls.json"))
    parts = [{"calls": calls, "mutants": mutants[i::PROCESSES]} for i in range(PROCESSES)]
    found: dict[str, Outcome] = {}
    for outcome in outcomes(suite, parts):
        name = outcome["mutant"]
        found[name] = outcome
        by = outcome["killed_by"].rpartition("/")[2] or "; ".join(outcome["errors"])
        place = f"{len(found)}/{len(mutants)}"
        print(f"{place:>9} {verdict(outcome):<8} {name}  {by}", flush=True)
    return {name: found[name] for name in mutants}


def rate(results: dict[str, Outcome]) -> float:
    return sum(verdict(each) == "killed" for each in results.values()) / len(results)


def print_table(name: str, results: dict[str, Outcome], wrong: dict[str, str]) -> None:
    """Prints what was not killed, and the rate."""
    say(f"not killed by {name}")
    for mutant, outcome in results.items():
        if verdict(outcome) != "killed":
            unused = "" if outcome.get("results") else " (its function was not called)"
            print(f"{verdict(outcome):<8} {mutant}: {wrong[mutant]}{unused}")


def summary(name: str, results: dict[str, Outcome]) -> str:
    killed = sum(verdict(each) == "killed" for each in results.values())
    errors = sum(verdict(each) == "error" for each in results.values())
    more = f", {errors} errors" if errors else ""
    return f"{name}: {killed} of {len(results)} mutants killed{more}, {100 * rate(results):.1f} %"


def write_record(wrong: dict[str, str], results: dict[str, dict[str, Outcome]], note: str) -> None:
    """Writes the list of mutants and what killed them, one line for each mutant."""
    head: dict[str, Any] = {
        "date": date.today().isoformat(),
        "array API": array_api_tests.VERSION,
        "note": note,
    }
    head |= {f"killed by {name}": rate(each) for name, each in results.items()}
    rows = [
        json.dumps([mutant, text, *(verdict(each[mutant]) for each in results.values())])
        for mutant, text in wrong.items()
        if all(mutant in each for each in results.values())
    ]
    text = json.dumps(head, indent=1).removesuffix("\n}")
    columns = json.dumps(["mutant", "wrong", *results])
    listed = ",\n  ".join([columns, *rows])
    RECORD.write_text(f'{text},\n "mutants": [\n  {listed}\n ]\n}}\n', encoding="utf-8")
    say(f"{len(rows)} mutants written to {RECORD.relative_to(ROOT)}")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only mutants whose names contain one of these")
    parser.add_argument("--suite", type=Path, help="a checkout of array-api-tests")
    parser.add_argument("--package", type=Path, help="a package that is already built")
    parser.add_argument("--reuse", action="store_true", help="skip the run without a mutant")
    parser.add_argument("--record", metavar="NOTE", help="write the record, with this note")
    return parser.parse_args(arguments)


def package(given: Path | None) -> dict[str, str]:
    """Environment variables that load the package and the mutants."""
    if given is None:
        options = ["-DREFARRAY_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"]
        folder = build("array-api-mutants/build", options=options)
    else:
        folder = given.resolve().parent
    variables = environment(folder, PYTHONPATH=f"{folder / 'python'}:{TESTS}")
    print_loaded(folder, variables)
    return variables


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    WORK.mkdir(parents=True, exist_ok=True)
    variables = package(given.package)
    done = subprocess.run(
        [sys.executable, "-c", LIST], env=variables, check=True, capture_output=True, text=True
    )
    wrong: dict[str, str] = json.loads(done.stdout)
    chosen = [m for m in wrong if not given.names or any(name in m for name in given.names)]
    suites = [our_suite(variables)]
    if given.suite:
        suites.append(official_suite(given.suite, variables))
    results = {}
    for suite in suites:
        if not given.reuse:
            run_unmutated(suite)
        results[suite.name] = run(suite, chosen)
    for name, each in results.items():
        print_table(name, each, wrong)
    if given.record is not None:
        write_record(wrong, results, given.record)
    for name, each in results.items():
        print(summary(name, each))
    errors = any(verdict(each) == "error" for each in results["tests"].values())
    return 1 if errors or rate(results["tests"]) < REQUIRED_RATE else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
