"""The tests of heavy partners, each in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from common import ROOT, say, show
from environments import Environment, install_refarray, make, version

DATA = ROOT / "tests" / "partners" / "heavy" / "environments.toml"
LIMITS = ROOT / "tests" / "partners" / "limits.toml"
COLUMNS = ("environment", "partner", "passed", "failed", "limits met", "quirks shown")


@dataclass(frozen=True, kw_only=True)
class Partner(Environment):
    """An environment of limits.toml's `partner`, and the tests to run there."""

    partner: str
    tests: list[str]


def partners() -> dict[str, Partner]:
    rows = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return {name: Partner(name=name, **row) for name, row in rows.items()}


def run(environment: Partner) -> tuple[str, ...]:
    """Runs the tests of one partner; returns its row of the table, failures in column 4."""
    install_refarray(environment)
    partner = tomllib.loads(LIMITS.read_text(encoding="utf-8"))[environment.partner]
    distribution = partner["distribution"]
    title = f"{distribution} {version(environment, distribution)}"
    say(f"{environment.name}: {title}")
    report = environment.folder / "report.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = subprocess.run(
        [environment.python, "-m", "pytest", *options, *environment.tests],
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment.variables},
    )
    if not report.exists():  # the pytest process died
        return environment.name, title, "0", f"status {done.returncode}", "0", "0"
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    tests, *bad = (int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped"))
    failed = max(sum(bad), int(done.returncode != 0))  # a skipped test counts as a failure
    counts = {item.get("name"): item.get("value") for item in suite.iter("property")}
    numbers = [str(counts.get(key, 0)) for key in COLUMNS[4:]]
    return environment.name, title, str(tests - sum(bad)), str(failed), *numbers


def run_all(names: Iterable[str]) -> bool:
    """Runs the tests in the named environments; returns whether all passed."""
    known = partners()
    rows = []
    for name in names:
        try:
            make(known[name])
            rows.append(run(known[name]))
        except SystemExit as error:  # of the set-up
            rows.append((name, known[name].partner, "0", str(error), "0", "0"))
    say("partners in separate environments")
    show(COLUMNS, rows)
    return all(row[3] == "0" for row in rows)
