"""The kit in other projects' CI: the example project, its tests, the action and the hook."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from helpers.processes import python

from refarray.conformance.runner import expectations

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "kit_in_ci"
SUBJECT = "tinyarray.dlpack_subject:TINYARRAY"  # the example is not installed here
pytestmark = [
    pytest.mark.not_sanitized("the example's NumPy crashes in its known deviations"),
    pytest.mark.repository,
]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that a test starts find the example and `python`."""
    programs = tmp_path / "programs"
    programs.mkdir()
    # Not a symbolic link, which would find the packages of the interpreter that a venv is made of.
    (programs / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (programs / "python").chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLE), prepend=":")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)


def called(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, cwd=EXAMPLE, env=environment, check=False, capture_output=True, text=True
    )


def test_the_example_has_the_deviations_that_it_names() -> None:
    command = ["-m", "refarray", "check", SUBJECT, "--expect", "known_deviations.toml"]
    done = python(*command, seconds=600, cwd=EXAMPLE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 expected crash" in " ".join(done.stdout.split())
    assert "stale" not in done.stdout and "not tried" not in done.stdout


def test_the_examples_own_tests_pass(tmp_path: Path) -> None:
    text = (EXAMPLE / "tests" / "test_dlpack.py").read_text().replace('"tinyarray"', f'"{SUBJECT}"')
    (tmp_path / "test_dlpack.py").write_text(text)
    command = ["-m", "pytest", "-q", "-c", "/dev/null", "test_dlpack.py"]
    done = python(*command, seconds=600, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert " xfailed" in done.stdout.strip().splitlines()[-1]


def test_the_kits_tests_on_the_example() -> None:
    loaded = [] if entry_points(group="pytest11", name="refarray") else ["-p", PLUGIN]
    options = ["--dlpack-subject", SUBJECT, "--dlpack-expect", "known_deviations.toml"]
    command = ["-m", "pytest", "-q", *loaded, "-p", "no:cacheprovider", "-c", "/dev/null"]
    command += ["--pyargs", "refarray.conformance", *options]
    done = python(*command, seconds=600, cwd=EXAMPLE)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert " xfailed" in done.stdout.strip().splitlines()[-1]


PLUGIN = "refarray.conformance.pytest_plugin"


# --- the action


def steps() -> list[dict[str, Any]]:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = action["runs"]["steps"]
    return found


def run_action(
    tmp_path: Path, **inputs: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """Runs the step that checks, as a runner would, and returns it with its outputs."""
    (step,) = (each for each in steps() if each.get("id") == "check")
    report, summary, output = (tmp_path / name for name in ("report", "summary.md", "output"))
    given = dict.fromkeys(("EXPECT", "ONLY", "SKIP"), "") | inputs
    assert set(step["env"]) == {"SUBJECT", "EXPECT", "ONLY", "SKIP", "REPORT"}
    files = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    done = called(
        *("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]),
        **given,
        **files,
        REPORT=str(report),
    )
    lines = output.read_text().splitlines() if output.exists() else []
    return done, dict(line.split("=", 1) for line in lines)


def test_the_action_checks_and_reports(tmp_path: Path) -> None:
    known = {"EXPECT": "known_deviations.toml"}
    done, outputs = run_action(
        tmp_path, SUBJECT=SUBJECT, ONLY="COPY TENS-08 VERS", SKIP="VERS-02", **known
    )
    assert done.returncode == 0 and outputs == {"status": "0"}, done.stdout + done.stderr
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    families = {found["id"].partition("-")[0] for found in report["findings"]}
    assert families == {"COPY", "TENS", "VERS"}
    assert "VERS-02" not in {found["id"] for found in report["findings"]}
    assert "expected crash" in (tmp_path / "summary.md").read_text()
    ElementTree.parse(tmp_path / "report" / "junit.xml")
    assert json.loads((tmp_path / "report" / "badge.json").read_text())["label"] == "DLPack"


def test_the_action_fails_with_the_status_of_the_check(tmp_path: Path) -> None:
    done, outputs = run_action(tmp_path, SUBJECT=SUBJECT, ONLY="VERS-02")
    assert (done.returncode, outputs) == (1, {"status": "1"}), done.stdout + done.stderr
    done, outputs = run_action(tmp_path, SUBJECT=SUBJECT, ONLY="NOTHING")
    assert (done.returncode, outputs) == (2, {"status": "2"}), done.stdout + done.stderr


def test_no_input_is_part_of_a_script() -> None:
    """An input reaches a script as a variable only: its text is not run by the shell."""
    assert all("${{" not in each["run"] for each in steps())


# --- the hook


def test_the_hook_checks_the_installed_library() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    config = yaml.safe_load((EXAMPLE / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (used,) = config["repos"][0]["hooks"]
    assert used["id"] == hook["id"] and hook["language"] == "system"
    arguments = [SUBJECT if each == "tinyarray" else each for each in used["args"]]
    done = called(*shlex.split(hook["entry"]), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


# --- what pull requests to NumPy and PyTorch would contain


@pytest.mark.parametrize(("folder", "library"), [("for_numpy", "numpy"), ("for_pytorch", "torch")])
def test_a_pull_request_names_the_registered_findings(folder: str, library: str) -> None:
    """`make findings` compares the register with the newest release."""
    register = tomllib.loads((ROOT / "tests/kit/findings.toml").read_text(encoding="utf-8"))
    found = register[library]["confirmed"].items()
    known = EXAMPLE / folder / "dlpack_known.toml"
    expected = {(each.id, each.subject, each.outcome) for each in expectations.read(known)}
    failing = {(name.split()[0], library, got) for name, got in found if got != "warn"}
    assert expected == failing
    workflow = yaml.safe_load((EXAMPLE / folder / "dlpack.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    command = job["steps"][-1]["run"]
    assert f"check {library} --rules 2026.1" in command and "/dlpack_known.toml" in command
