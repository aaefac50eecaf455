"""Bugs of the kit are reported as its own (Outcome.ERROR); exceptions of a subject are findings."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.planted_checks import PLANTED

from refarray.__main__ import main
from refarray.conformance import Outcome, Report, check
from refarray.conformance.cases import CHECKS
from refarray.conformance.findings import DEVIATIONS, WORST_FIRST, KitError, Run
from refarray.conformance.report import junit
from refarray.conformance.runner import engine, expectations
from refarray.conformance.runner.engine import run_subject

pytestmark = pytest.mark.not_repeated

HERE = Path(__file__).resolve().parents[1]
BUGS = {
    "planted-zero": "ZeroDivisionError",
    "planted-key": "KeyError: 'held'",
    "planted-text": "TypeError: a CheckResult holds a int instead of text",
    "planted-callback": "TypeError",
}


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    engine.select()
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=":")
    for each in PLANTED:
        monkeypatch.setitem(CHECKS, each.name, each)


@pytest.fixture(scope="module")
def run() -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE), prepend=":")
        return run_subject("helpers.planted_checks:right", PLANTED)


def test_a_planted_bug_is_an_error(run: Run) -> None:
    outcomes = {found.case: found.outcome for found in run.findings}
    assert outcomes.pop("planted-right") is Outcome.PASS
    assert set(outcomes.values()) == {Outcome.ERROR} and set(outcomes) == set(BUGS)
    for found in run.findings:
        if found.case in BUGS:
            assert found.observed.startswith("error in the check, please report: ")
            assert BUGS[found.case] in found.observed, found.observed
            assert found.repro.startswith("Traceback") and not found.outcome.failed


@pytest.mark.parametrize(
    ("name", "outcome", "observed"),
    [
        ("unprintable", Outcome.FAIL, "Unprintable: (its str() raises KeyError)"),
        ("key_error", Outcome.FAIL, "KeyError: 'held'"),
        ("zero_division", Outcome.FAIL, "ZeroDivisionError"),
        ("interrupt", Outcome.CRASH, "SIGINT"),
        ("system_exit", Outcome.CRASH, "the process left with exit status 3"),
    ],
)
def test_exceptions_of_a_subject_are_findings(name: str, outcome: Outcome, observed: str) -> None:
    """DEV-01 calls __dlpack_device__, PROD-08 __dlpack__; neither expects an exception."""
    checks = [CHECKS[f"{each}]"] for each in ("DEV-01[producer-pair", "PROD-08[producer-cpu")]
    found = run_subject(f"helpers.planted_checks:{name}", checks).findings
    assert [each.outcome for each in found] == [outcome] * 2, found
    assert all(observed in each.observed for each in found), found


def test_no_check_takes_a_strange_exception_for_its_own() -> None:
    """Every check on subjects whose methods raise what a bug of the kit would raise."""
    for name in ("unprintable", "key_error"):
        report = check(f"helpers.planted_checks:{name}", raising=False, devices="none")
        wrong = [found for found in report.errors if "planted" not in found.case]
        assert not wrong, wrong
        assert report.unexpected


def test_exit_status_and_reports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = {form: tmp_path / form for form in ("json", "junit", "html", "markdown", "badge")}
    wanted = [f"--report={form}={path}" for form, path in files.items()]
    command = ["check", "helpers.planted_checks:right", "--only", "VERS-01", "-v", *wanted]
    assert main(command) == 3
    out = capsys.readouterr().out
    assert "ERROR VERS-01" in out and "traceback" in out and "4 error" in out
    findings = json.loads(files["json"].read_text())["findings"]
    assert sum(each["outcome"] == "error" for each in findings) == 4
    suite = ElementTree.fromstring(files["junit"].read_text())[0]
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("0", "4")
    assert len(suite.findall("testcase/error")) == 4
    assert 'class="outcome error"' in files["html"].read_text()
    assert "| error |" in files["markdown"].read_text()
    assert json.loads(files["badge"].read_text())["message"] == "error in the kit"


def test_an_error_is_no_failure_for_the_library_functions(run: Run) -> None:
    report = Report(run, {"VERS-01": "known"})
    assert not report.unexpected and not report.stale and len(report.errors) == 4
    with pytest.raises(KitError, match="4 checks failed by a bug of the kit"):
        report.raise_for_failures()


def test_expectations_neither_cover_an_error_nor_get_stale(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = '[[expect]]\nid = "VERS-01"\nsubject = "{}"\noutcome = "{}"\nreason = "known"\n'
    name = "helpers.planted_checks:right"
    verdict = expectations.compare([run], expectations.parse(entry.format(name, "fail")))
    assert not verdict.unexpected and not verdict.stale
    with pytest.raises(expectations.Malformed, match="'error' is none of"):
        expectations.parse(entry.format(name, "error"))
    file = tmp_path / "known.toml"
    file.write_text(entry.format(name, "fail"))
    assert main(["check", name, "--only", "VERS-01", "--expect", str(file)]) == 3


def test_diff_counts_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    main(["check", "helpers.planted_checks:right", "--only", "VERS-01", f"--report=json={new}"])
    report = json.loads(new.read_text())
    for found in report["findings"]:
        found["outcome"] = "pass"
    old.write_text(json.dumps(report))
    assert main(["diff", str(old), str(new)]) == 0
    assert "pass -> error" in capsys.readouterr().out


def test_matrix_of_outcomes_is_complete() -> None:
    """Every outcome is listed by the text report, or counted."""
    shown = {*DEVIATIONS, Outcome.PASS, Outcome.NOT_APPLICABLE}
    assert shown == set(Outcome) == set(WORST_FIRST)
    assert {Outcome.CRASH, Outcome.HANG, Outcome.ERROR} == junit.ERRORS
