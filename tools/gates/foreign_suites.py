#!/usr/bin/env python3
"""Runs other projects' released tests with refarray in the place of one of their arrays:
`foreign_suites.py [--write] [SUITE …]`, where SUITE is the beginning of a suite's name.

Nothing of these projects is stored here: wheels and source distributions are installed below
build/foreign, from the versions in tests/foreign/suites.toml. A test counts if refarray took part
in it. Its failure must be listed in tests/foreign/expected.toml, and the numbers must be those of
tests/foreign/results.json, which --write records together with docs/foreign.md.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import ROOT, output, quiet, say, show, tool, unpack_sdist
from environments import Environment, install_refarray, make

FOREIGN = ROOT / "tests" / "foreign"
WORK = ROOT / "build" / "foreign"
DATA = tomllib.loads((FOREIGN / "suites.toml").read_text(encoding="utf-8"))
ENVIRONMENT = Environment("foreign", DATA["environment"]["requires"])
PYTHON = ENVIRONMENT.python
RESULTS = FOREIGN / "results.json"
TIMEOUT = 1200  # seconds for one suite
#: Some tests choose random layouts: the number of exchanges may fall by this factor.
FEWER = 0.8
COLUMNS = ("suite", "side", "reached", "passed", "policy", "not applicable", "exchanges", "s")


@dataclass(frozen=True)
class Suite:
    """Tests of one project, and the adapter that puts refarray into them."""

    name: str
    library: str
    side: str
    adapter: str
    tests: list[str]
    what: str
    sdist: str = ""
    select: str = ""

    def folder(self) -> Path:
        """Where the tests are: in the sdist, the interpreter's library, or the wheel."""
        if self.sdist:
            return WORK / "sdist" / self.sdist
        path = "stdlib" if self.library == "cpython" else "purelib"
        return Path(evaluate(f"sysconfig.get_path({path!r})"))


@dataclass(frozen=True)
class Expected:
    """A failure that is right: refarray's policy, or a test that does not apply to it."""

    suite: str
    tests: list[str]
    error: str
    reason: str
    policy: str = ""

    @property
    def verdict(self) -> str:
        return "policy" if self.policy else "not applicable"

    @property
    def name(self) -> str:
        return f"{self.suite}: {', '.join(self.tests)}"

    def matches(self, suite: str, test: str, message: str) -> bool:
        return (
            fnmatch.fnmatchcase(suite, self.suite)
            and any(fnmatch.fnmatchcase(test, escaped(pattern)) for pattern in self.tests)
            and re.search(self.error, message) is not None
        )


@dataclass
class Outcome:
    """The numbers of one suite, and what is wrong with it."""

    counts: Counter[str] = field(default_factory=Counter)
    exchanges: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def numbers(self) -> dict[str, int]:
        keys = ("reached", "passed", "policy", "not applicable")
        return {**{key: self.counts[key] for key in keys}, "exchanges": self.exchanges}


def evaluate(expression: str) -> str:
    """What an expression of sysconfig or platform is in the interpreter of the suites."""
    return output([PYTHON, "-c", f"import platform, sysconfig; print({expression})"])


def escaped(pattern: str) -> str:
    """A pattern in which only * is special: test names have brackets."""
    return pattern.replace("[", "[[]")


def suites(data: dict[str, Any]) -> list[Suite]:
    found = []
    for name, row in data["suite"].items():
        library = row["library"]
        own = {"adapter": library.replace("-", "_")}
        sdist = library if library in data["sdist"] else ""
        found.append(Suite(name, **{**own, **row}, sdist=sdist))
    return found


def requirement(library: str, data: dict[str, Any]) -> str:
    """The pinned requirement of a library, in the environment or of its sdist."""
    pinned = [row["requirement"] for row in data["sdist"].values() if "requirement" in row]
    pinned += data["environment"]["requires"]
    return next(each for each in pinned if each.startswith(f"{library}=="))


def expectations() -> list[Expected]:
    text = (FOREIGN / "expected.toml").read_text(encoding="utf-8")
    return [Expected(name, **row) for name, rows in tomllib.loads(text).items() for row in rows]


def judge(suite: Suite, tests: dict[str, Any], expected: list[Expected], met: set[str]) -> Outcome:
    """Counts the tests in which refarray took part; adds the expectations that were met to
    `met`."""
    outcome = Outcome()
    for name, test in tests.items():
        if test["outcome"] == "skipped" or (test["outcome"] == "passed" and not test["exchanges"]):
            continue
        row = None
        if test["outcome"] == "failed":
            row = next((e for e in expected if e.matches(suite.name, name, test["message"])), None)
            if row is None:
                outcome.problems.append(f"{suite.name}: {name} failed: {test['message']}")
                continue
            met.add(row.name)
        if test["exchanges"]:
            outcome.counts["reached"] += 1
            outcome.counts[row.verdict if row else "passed"] += 1
            outcome.exchanges += test["exchanges"]
    return outcome


def stale(expected: list[Expected], met: set[str], ran: list[Suite]) -> list[str]:
    """Expected failures of the suites that ran which did not occur."""
    return [
        f"expected, but did not fail: {row.name}"
        for row in expected
        if any(fnmatch.fnmatchcase(suite.name, row.suite) for suite in ran) and row.name not in met
    ]


def version_of(suite: Suite, data: dict[str, Any]) -> str:
    """The version of the library whose tests run."""
    if suite.library == "cpython":
        return evaluate("platform.python_version()")
    return requirement(suite.library, data).partition("==")[2]


def differences(
    name: str, version: str, outcome: Outcome, recorded: dict[str, dict[str, Any]]
) -> list[str]:
    """How the numbers of a suite differ from those recorded with the same version."""
    if name not in recorded:
        return [f"{name}: no recorded result; UPDATE=1 records it"]
    if recorded[name]["version"] != version:  # another interpreter has other tests
        print(f"{name}: recorded with {recorded[name]['version']}, numbers not compared")
        return []
    now, before = outcome.numbers(), recorded[name]
    found = [
        f"{name}: {now[key]} tests {key}, {before[key]} are recorded"
        for key in ("reached", "passed", "policy", "not applicable")
        if now[key] != before[key]
    ]
    if now["exchanges"] < FEWER * before["exchanges"]:
        found.append(f"{name}: {now['exchanges']} exchanges, {before['exchanges']} are recorded")
    return found


def unpack(name: str, row: dict[str, Any]) -> None:
    """Downloads and unpacks a source distribution into build/foreign/sdist/NAME, and builds its
    target."""
    folder = WORK / "sdist" / name
    stamp = folder / ".ready"
    wanted = json.dumps(row)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    say(f"source distribution {row['requirement']}")
    shutil.rmtree(folder, ignore_errors=True)
    unpack_sdist(PYTHON, row["requirement"], WORK / "download" / name, folder)
    if "target" in row:
        say(f"build {row['target']} of {name}")
        compile_target(folder, row)
    stamp.write_text(wanted, encoding="utf-8")


def compile_target(folder: Path, row: dict[str, Any]) -> None:
    """Builds the extension module that the tests of an sdist import, below `build` in it."""
    quiet(
        [
            *(tool("cmake"), "-S", folder, "-B", folder / "build", "-G", "Ninja"),
            f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
            f"-DPython_EXECUTABLE={PYTHON}",
            "-DCMAKE_BUILD_TYPE=Debug",
            *row["options"],
        ]
    )
    quiet([tool("cmake"), "--build", folder / "build", "--target", row["target"]])


def modules(folder: Path) -> list[str]:
    """The folders of the extension modules that an sdist's target has built."""
    built = (folder / "build").rglob("*.so")
    return list(dict.fromkeys(str(path.parent) for path in built))


def run(suite: Suite) -> dict[str, Any]:
    """Runs the tests of a suite in a process; returns the plugin's record."""
    folder = suite.folder()
    report = WORK / "reports" / f"{suite.name}.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    settings = report.with_name("pytest.ini")
    settings.write_text("[pytest]\n", encoding="utf-8")
    cwd = folder if suite.sdist else report.parent
    command = [
        *(PYTHON, "-P", "-X", "faulthandler", "-m", "pytest", "-c", settings, "--rootdir", folder),
        *("-q", "--tb=no", "-p", "foreign.plugin", "-p", "no:cacheprovider"),
        *("-W", "ignore", *(["-k", suite.select] if suite.select else [])),
        *(folder / name for name in suite.tests),
    ]
    own = {
        "FOREIGN_ADAPTER": suite.adapter,
        "FOREIGN_SIDE": suite.side,
        "FOREIGN_REPORT": str(report),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *modules(folder)]),
    }
    with report.with_suffix(".log").open("w", encoding="utf-8") as log:
        try:
            done = subprocess.run(
                command,
                cwd=cwd,
                env={**os.environ, **own},
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=TIMEOUT,
            )
            status = f"exit status {done.returncode}"
        except subprocess.TimeoutExpired:
            status = f"no end after {TIMEOUT} s"
    if report.exists():
        record: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return record
    running = report.with_suffix(".running")
    during = running.read_text(encoding="utf-8") if running.exists() else "the start"
    return {"tests": {}, "not_collected": [f"{status} during {during}; see {log.name}"]}


def run_all(chosen: list[Suite], expected: list[Expected]) -> tuple[dict[str, Outcome], list[str]]:
    """Runs the suites one after the other; returns their outcomes and the expectations met."""
    outcomes: dict[str, Outcome] = {}
    met: set[str] = set()
    for number, suite in enumerate(chosen, 1):
        begun = time.monotonic()
        record = run(suite)
        outcome = judge(suite, record["tests"], expected, met)
        outcome.problems += [f"{suite.name}: {each}" for each in record["not_collected"]]
        if not outcome.counts["reached"]:
            outcome.problems.append(f"{suite.name}: no test reached refarray")
        outcome.seconds = time.monotonic() - begun
        outcomes[suite.name] = outcome
        counts = ", ".join(f"{count} {key}" for key, count in outcome.numbers().items() if count)
        print(
            f"[{number}/{len(chosen)}] {suite.name}: {counts}; {len(outcome.problems)} unexpected"
            f" ({outcome.seconds:.0f} s)",
            flush=True,
        )
    return outcomes, stale(expected, met, chosen)


def prepare(chosen: list[Suite]) -> None:
    """Installs refarray and what the suites need."""
    make(ENVIRONMENT)
    install_refarray(ENVIRONMENT)
    for name, row in DATA["sdist"].items():
        if any(suite.sdist == name for suite in chosen):
            unpack(name, {**row, "requirement": requirement(name, DATA)})


def main(arguments: list[str]) -> int:
    write = "--write" in arguments
    names = [each for each in arguments if each != "--write"]
    chosen = [each for each in suites(DATA) if not names or each.name.startswith(tuple(names))]
    if not chosen:
        print(f"no suite {', '.join(names)}; there are {', '.join(DATA['suite'])}")
        return 2
    prepare(chosen)
    expected = expectations()
    outcomes, problems = run_all(chosen, expected)
    recorded = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for suite in chosen:
        outcome = outcomes[suite.name]
        problems = [*outcome.problems, *problems]
        if not write and not outcome.problems:
            version = version_of(suite, DATA)
            problems += differences(suite.name, version, outcome, recorded)
    say("other projects' tests with refarray in the place of one of their arrays")
    sides = {suite.name: suite.side for suite in chosen}
    show(
        COLUMNS,
        [
            (name, sides[name], *map(str, outcome.numbers().values()), f"{outcome.seconds:.0f}")
            for name, outcome in outcomes.items()
        ],
    )
    for problem in problems:
        print(f"FAILED: {problem}")
    if write:
        for suite in chosen:
            numbers = outcomes[suite.name].numbers()
            recorded[suite.name] = {"version": version_of(suite, DATA), **numbers}
        kept = {name: recorded[name] for name in DATA["suite"] if name in recorded}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        quiet([sys.executable, ROOT / "tools" / "docs" / "foreign_page.py"])
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
