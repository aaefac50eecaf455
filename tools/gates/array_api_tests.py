#!/usr/bin/env python3
"""Runs the official suite of the array API standard on refarray: `array_api_tests.py FOLDER`.

FOLDER is a checkout of array-api-tests outside this repository; its folder array-api holds a
checkout of the standard. The suite runs in an environment of its own without NumPy. Every id must
pass but those in tests/compute/official_suite.toml, and as many as it says; --write renews it.
--version takes another version of the standard, of which no id may fail; the suite then runs on
that namespace. --strict takes the strict namespace of the version. --package FOLDER takes a
package that is already built; --device cuda:0 makes arrays on a simulated device unless a test
names another; arguments after -- go to pytest, which then runs only what they name.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from common import ROOT, build, environment, print_loaded, quiet, say

sys.path.append(str(ROOT / "tools"))
import records

VERSION = "2025.12"
VERSIONS = ("2022.12", "2023.12", "2024.12", VERSION)
#: They call __array_namespace_info__(), which came with 2023.12, at 2022.12 too.
ASK_FOR_LATER = (
    "array_api_tests/test_inspection_functions.py",
    "array_api_tests/test_dlpack.py::test_from_dlpack",
    "array_api_tests/test_fft.py::test_fftfreq",
    "array_api_tests/test_fft.py::test_rfftfreq",
)
HERE = Path(__file__).resolve().parent
#: It asks for a view on the CPU of every array.
ASKS_FOR_THE_CPU = ("array_api_tests/test_dlpack.py::test_dunder_dlpack",)
RATCHET = ROOT / "tests" / "compute" / "official_suite.toml"
WORK = ROOT / "build" / "array-api-tests"
PYTHON = WORK / "env" / "bin" / "python"
REQUIRES = ("pytest>=8", "hypothesis>=6.151", "ndindex>=1.8", "pytest-json-report")
OMIT = ("log", "streams", "warnings", "keywords", "traceback")


def check_suite(folder: Path, version: str = VERSION) -> None:
    """Exits with what is missing if the folder is not a complete checkout of the suite."""
    stubs = folder / "array-api" / "src" / "array_api_stubs"
    if not (folder / "array_api_tests" / "stubs.py").is_file():
        sys.exit(f"{folder} is no checkout of array-api-tests: it has no array_api_tests/stubs.py")
    if not (stubs / f"_{version.replace('.', '_')}").is_dir():
        sys.exit(f"{folder / 'array-api'} has no stubs of {version}; check the standard out there")
    if folder.resolve().is_relative_to(ROOT):
        sys.exit(f"{folder} is inside the repository, which stores no source of another project")


def install() -> None:
    """Creates the environment of the suite, again if its requirements have changed."""
    stamp = PYTHON.parents[1] / "ready"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != " ".join(REQUIRES):
        say(f"environment in {PYTHON.parents[1].relative_to(ROOT)}: {', '.join(REQUIRES)}")
        quiet([sys.executable, "-m", "venv", "--clear", PYTHON.parents[1]])
        quiet([PYTHON, "-m", "pip", "--disable-pip-version-check", "-q", "install", *REQUIRES])
        stamp.write_text(" ".join(REQUIRES), encoding="utf-8")
    with_numpy = subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True, check=False)
    if with_numpy.returncode == 0:
        sys.exit(f"{PYTHON} can import NumPy; the suite must run without it")


def module_of(version: str, strict: bool, device: str | None) -> str:
    """The suite's name of the namespace that it tests."""
    options = f'api_version="{version}"' + (", strict=True" if strict else "")
    if device is not None:
        return f"exec('import on_device; xp = on_device.namespace(\"{device}\", {options})')"
    if strict:
        return f"exec('import refarray; xp = refarray.namespace({options})')"
    if version == VERSION:
        return "refarray"
    return f"exec('import refarray; xp = refarray.empty(0).__array_namespace__({options})')"


def run(
    suite: Path, version: str, module: str, variables: dict[str, str], more: list[str]
) -> tuple[dict[str, Any], str]:
    """Runs the suite; returns pytest's report and the last line of its output."""
    report = WORK / "report.json"
    report.unlink(missing_ok=True)
    command: list[str | Path] = [
        *(PYTHON, "-X", "faulthandler", "-m", "pytest"),
        *(more or ["array_api_tests"]),
        *("-q", "--tb=short"),
        *("--hypothesis-disable-deadline", "--continue-on-collection-errors"),
        *("-p", "no:cacheprovider"),
        *("--json-report", f"--json-report-file={report}", "--json-report-omit", *OMIT),
    ]
    own = {"ARRAY_API_TESTS_MODULE": module, "ARRAY_API_TESTS_VERSION": version}
    log = WORK / "log.txt"
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            command,
            cwd=suite,
            env={**variables, **own, "HYPOTHESIS_STORAGE_DIRECTORY": str(WORK / "hypothesis")},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    lines = log.read_text(encoding="utf-8").strip().splitlines() or [""]
    if not report.exists():
        sys.exit("\n".join([*lines[-30:], f"exit status {done.returncode}; no report was written"]))
    return json.loads(report.read_text(encoding="utf-8")), lines[-1]


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    """The outcome of every id: passed, failed, skipped, error, xfailed or xpassed; files that
    cannot be collected count as ids."""
    collected = {test["nodeid"]: test["outcome"] for test in report["tests"]}
    files = report.get("collectors", [])
    broken = {file["nodeid"]: "not collected" for file in files if file["outcome"] == "failed"}
    return {**broken, **collected}


def write_ratchet(results: dict[str, str]) -> None:
    left = sorted(name for name, outcome in results.items() if outcome != "passed")
    passed = len(results) - len(left)
    found = {"version": VERSION, "passed": passed, "not_passing": left}
    records.write(RATCHET, "How many ids of array-api-tests must pass, and which need not.", found)
    say(f"{passed} ids pass, {len(left)} do not: {RATCHET.relative_to(ROOT)}")


def judge(results: dict[str, str], known: dict[str, Any], partial: bool) -> list[str]:
    """What breaks the ratchet; in a partial run, ids that were not collected do not."""
    left = {name: each for name, each in results.items() if each != "passed"}
    problems = [
        f"{outcome}, but must pass: {name}"
        for name, outcome in left.items()
        if name not in known["not_passing"]
    ]
    passed = len(results) - len(left)
    if not partial and passed < known["passed"]:
        problems.append(f"{passed} ids pass, {known['passed']} must: some were not collected")
    return problems


def judge_other(results: dict[str, str], version: str, device: str | None) -> list[str]:
    """The ids of an earlier version or on a device that fail, but for those that ask for more."""
    expected = ASK_FOR_LATER if version == "2022.12" else ()
    expected += ASKS_FOR_THE_CPU if device is not None else ()
    bad = (name for name, each in results.items() if each not in ("passed", "skipped"))
    return [name for name in bad if name not in expected]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--version", choices=VERSIONS, default=VERSION)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--package", type=Path)
    parser.add_argument("--device")
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:end])
    given.pytest = arguments[end + 1 :]
    if given.write and (given.version != VERSION or given.strict or given.device):
        parser.error(f"--write takes the ids of {VERSION} in the default namespace only")
    return given


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    check_suite(given.suite, given.version)
    install()
    if given.package is None:
        folder = build("array-api-tests/build", options=["-DREFARRAY_TESTS=OFF"])
        variables = environment(folder)
        print_loaded(folder, variables, PYTHON)
    else:
        variables = {**os.environ, "PYTHONPATH": str(given.package.resolve())}
    if given.device is not None:
        folders = [variables["PYTHONPATH"], ROOT / "fakegpu", HERE / "simulation"]
        variables["PYTHONPATH"] = os.pathsep.join(map(str, folders))
        tools = Path(sys.executable).parent  # cmake and ninja, which build the driver
        variables["PATH"] = os.pathsep.join([str(tools), os.environ["PATH"]])
    module = module_of(given.version, given.strict, given.device)
    report, last = run(given.suite, given.version, module, variables, given.pytest)
    results = outcomes(report)
    say("ids that do not pass")
    for name, outcome in results.items():
        if outcome != "passed":
            print(f"{outcome}: {name}")
    problems = []
    if given.version != VERSION or given.device is not None:
        problems = judge_other(results, given.version, given.device)
    elif not given.write:
        problems = judge(results, records.read(RATCHET), bool(given.pytest))
    for problem in problems:
        print(f"FAILED: {problem}")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in Counter(results.values()).items())
    print(f"{len(results)} ids: {counts}")
    print(last)
    if given.write:
        write_ratchet(results)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
