#!/usr/bin/env python3
"""Runs other projects' released tests with array-api-strict and with refarray.strict in its place:
`consumers [--write] [PROJECT …]`.

The projects of tests/consumers/projects.toml have environments on the CPython of the other
partners; nothing of them is stored here. A test whose outcome differs must be listed in
differences.toml there. --write records the counts and times in tests/consumers/results.json and
docs/testing.md.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from common import ROOT, unpack_sdist
from environments import Environment, install_refarray, make

DATA = ROOT / "tests" / "consumers"
WORK = ROOT / "build" / "consumers"
PAGE = ROOT / "docs" / "testing.md"
MARKS = ("<!-- consumers: begin -->\n", "<!-- consumers: end -->")
STAND_IN = ("-p", "refarray.strict.stand_in")
TIMEOUT = 1800  # seconds for one run
OUTCOMES = ("passed", "failed", "skipped")

Tests = dict[str, tuple[str, str]]  # by name: the outcome, and the message of a failure


def prepare(name: str, row: dict[str, Any]) -> tuple[Path, Path]:
    """Makes an environment; returns the interpreter and the folder of the tests."""
    environment = Environment(f"consumers-{name}", row["requires"])
    make(environment)
    install_refarray(environment)
    if "sdist" not in row:
        return environment.python, next(environment.folder.glob("lib/*/site-packages"))
    where = WORK / "sdist" / row["sdist"]
    if not where.exists():
        unpack_sdist(environment.python, row["sdist"], WORK / "download" / name, where)
    return environment.python, where


def run(
    name: str, row: dict[str, Any], python: Path, where: Path, side: str
) -> tuple[Tests, dict[str, float]]:
    """The outcomes of the project's tests with a side's arrays, "strict" or "refarray", and the
    seconds that pytest took."""
    folder = WORK / "reports" / name
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / f"{side}.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}", "--rootdir", str(where)]
    if where.name == "site-packages":  # not the configuration of refarray
        empty = folder / "pytest.ini"
        empty.write_text("[pytest]\n", encoding="utf-8")
        options += ["-c", str(empty)]
    variables = {**os.environ, **row.get("variables", {}), "PYTHONDONTWRITEBYTECODE": "1"}
    if side == "refarray":
        options += STAND_IN
    tests = [str(where / each) for each in row.get("tests", [])]
    tests += [str(DATA / each) for each in row.get("own_tests", [])]
    command = [python, "-m", "pytest", *options, *row.get("arguments", []), *tests]
    begun, before = time.monotonic(), os.times()
    done = subprocess.run(
        command, cwd=where, env=variables, capture_output=True, text=True, timeout=TIMEOUT
    )
    after = os.times()
    used = sum(after[2:4]) - sum(before[2:4])  # of child processes: user and system
    seconds = {"seconds": round(time.monotonic() - begun, 1), "processor": round(used, 1)}
    if done.returncode not in (0, 1) or not report.exists():
        raise SystemExit(f"{name}: pytest ended with {done.returncode}\n{done.stdout[-3000:]}")
    return outcomes(report), seconds


def outcomes(report: Path) -> Tests:
    """The outcomes of a JUnit report."""
    out: Tests = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        failure = next((each for each in case if each.tag in ("failure", "error")), None)
        if failure is not None:
            out[name] = "failed", failure.get("message") or ""
        else:
            out[name] = ("skipped" if case.find("skipped") is not None else "passed"), ""
    return out


def differences(name: str, strict: Tests, ours: Tests, listed: list[dict[str, Any]]) -> list[str]:
    """What is not listed, or listed and not so."""
    problems = []
    rows = [row for row in listed if fnmatch.fnmatchcase(name, row["project"])]
    met = [False] * len(rows)
    for test in sorted(strict.keys() | ours.keys()):
        outcome, message = ours.get(test, ("missing", ""))
        expected, their_message = strict.get(test, ("missing", ""))
        if outcome == expected:
            continue
        message = message or their_message
        found = [at for at, row in enumerate(rows) if explains(row, test, message)]
        for at in found:
            met[at] = True
        if not found:
            problems.append(
                f"{name}: {test} {expected} with array-api-strict, {outcome}: {message}"
            )
    problems += [
        f"{name}: listed, but no test differs so: {row['tests']}"
        for row, is_met in zip(rows, met, strict=True)
        if not is_met
    ]
    return problems


def explains(row: dict[str, Any], test: str, message: str) -> bool:
    patterns = [each.replace("[", "[[]") for each in row["tests"]]
    fits = any(fnmatch.fnmatchcase(test, pattern) for pattern in patterns)
    return fits and re.search(row["error"], message) is not None


def counts(tests: Tests) -> dict[str, int]:
    found = Counter(outcome for outcome, _ in tests.values())
    return {key: found[key] for key in OUTCOMES}


def table(results: dict[str, Any]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| tests of | version | passed, failed, skipped: array-api-strict | refarray | s | s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, row in results.items():
        cells = [
            ", ".join(str(row[side][key]) for key in OUTCOMES) for side in ("strict", "refarray")
        ]
        times = [f"{row[side]['processor']:.0f}" for side in ("strict", "refarray")]
        lines.append(f"| {' | '.join([name, row['version'], *cells, *times])} |")
    return "\n".join(lines) + "\n"


def write(results: dict[str, Any]) -> None:
    recorded = DATA / "results.json"
    kept = json.loads(recorded.read_text(encoding="utf-8")) if recorded.exists() else {}
    kept |= results
    recorded.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    PAGE.write_text(before + MARKS[0] + table(kept) + MARKS[1] + after, encoding="utf-8")


def projects(data: dict[str, Any]) -> dict[str, Any]:
    """The projects by name, with their environments; each part of a package is one."""
    found: dict[str, Any] = {}
    for name, row in data["project"].items():
        own = {"environment": name, **row}
        parts = own.pop("parts", [])
        of_parts = {f"{name}-{part}": {**own, "tests": [f"{name}/{part}"]} for part in parts}
        found |= of_parts or {name: own}
    return found


def version_of(name: str, row: dict[str, Any]) -> str:
    pinned = dict(each.split("==") for each in row["requires"] if "==" in each)
    return next(version for package, version in pinned.items() if name.startswith(package))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("projects", nargs="*")
    chosen = parser.parse_args()
    data = tomllib.loads((DATA / "projects.toml").read_text(encoding="utf-8"))
    rows, environments = projects(data), data["environment"]
    listed = tomllib.loads((DATA / "differences.toml").read_text(encoding="utf-8"))["difference"]
    unknown = set(chosen.projects) - rows.keys()
    if unknown:
        parser.error(f"no project {sorted(unknown)}; there are {', '.join(rows)}")
    results, problems = {}, []
    for name in chosen.projects or rows:
        used = rows[name]["environment"]
        python, where = prepare(used, environments[used])
        sides = {}
        runs = {}
        for side in ("strict", "refarray"):
            runs[side], seconds = run(name, rows[name], python, where, side)
            sides[side] = {**counts(runs[side]), **seconds}
        if not sides["strict"]["passed"]:
            problems.append(f"{name}: no test passed with array-api-strict")
        problems += differences(name, runs["strict"], runs["refarray"], listed)
        results[name] = {"version": version_of(name, environments[used]), **sides}
        print(table({name: results[name]}).splitlines()[-1], flush=True)
        if chosen.write:
            write({name: results[name]})
    for problem in problems:
        print(f"FAILED: {problem[:400]}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
