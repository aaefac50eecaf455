"""Environments in build/partners, and the tests of heavy partners that run in them."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from common import ROOT, say, show, with_venv

WORK = ROOT / "build" / "partners"
DATA = ROOT / "tests" / "partners" / "heavy" / "environments.toml"
LIMITS = ROOT / "tests" / "partners" / "limits.toml"
PYTHON = "3.13"
"""The CPython of an environment that names none: it has wheels of the newest releases."""
TOOLS = ["pytest>=8"]
# Only what names it may install PyTorch, whose wheel may install CUDA.
UNWANTED = "torch"
COLUMNS = ("environment", "partner", "passed", "failed", "limits met", "quirks shown")


@dataclass(frozen=True)
class Environment:
    """The requirements of one partner, and the tests to run."""

    name: str
    partner: str
    requires: list[str]
    tests: list[str]
    no_deps: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    version: str = PYTHON

    @property
    def folder(self) -> Path:
        return WORK / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def environments() -> dict[str, Environment]:
    rows = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return {name: Environment(name, **row) for name, row in rows.items()}


def interpreter(version: str) -> Path:
    """The CPython of that version, or the next older one that refarray supports and that is here:
    the exact requirements of partners have wheels for all of them."""
    for minor in range(int(version.removeprefix("3.")), 10, -1):
        if (found := with_venv(f"3.{minor}")) is not None:
            return found
    raise SystemExit(f"no Python {version} with venv was found, which these partners need")


def pip(python: Path, *arguments: str | Path) -> None:
    command = [python, "-m", "pip", "--disable-pip-version-check", "-qq", *arguments]
    subprocess.run(command, check=True, cwd=ROOT)


def make(environment: Environment) -> None:
    """Creates the environment of a partner, again if its requirements have changed."""
    stamp = environment.folder / "ready"
    wanted = repr((environment.version, environment.requires, environment.no_deps, TOOLS))
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    say(f"environment of {environment.name}: {', '.join(environment.requires)}")
    base = interpreter(environment.version)
    subprocess.run([base, "-m", "venv", "--clear", environment.folder], check=True)
    pip(environment.python, "install", *TOOLS, *environment.requires)
    if environment.no_deps:
        pip(environment.python, "install", "--no-deps", *environment.no_deps)
    asked = any(each.startswith(f"{UNWANTED}==") for each in environment.requires)
    if not asked and version(environment, UNWANTED) is not None:
        raise SystemExit(
            f"{environment.name} has installed {UNWANTED}: list its requirements explicitly"
        )
    stamp.write_text(wanted, encoding="utf-8")


@functools.cache
def build_wheel(version: str) -> Path:
    """Builds refarray's wheel for a CPython."""
    say(f"the wheel of refarray for Python {version}")
    dist = WORK / "dist" / version
    shutil.rmtree(dist, ignore_errors=True)
    pip(interpreter(version), "wheel", "--no-deps", "--wheel-dir", dist, ROOT)
    (wheel,) = dist.glob("refarray-*.whl")
    return wheel


def install_refarray(environment: Environment) -> None:
    wheel = build_wheel(environment.version)
    pip(environment.python, "install", "--no-deps", "--force-reinstall", wheel)


def version(environment: Environment, distribution: str) -> str | None:
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    done = subprocess.run(
        [environment.python, "-c", code], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


def run(environment: Environment) -> tuple[str, ...]:
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
    known = environments()
    rows = []
    for name in names:
        try:
            make(known[name])
            rows.append(run(known[name]))
        except subprocess.CalledProcessError as error:
            rows.append((name, known[name].partner, "0", f"set-up {error.returncode}", "0", "0"))
    say("partners in separate environments")
    show(COLUMNS, rows)
    return all(row[3] == "0" for row in rows)
