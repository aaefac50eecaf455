"""The conformance kit's engine, interfaces and reports, also with subjects that misbehave."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.processes import python

from refarray.__main__ import main
from refarray.conformance import (
    Outcome,
    check,
    checks,
    parametrize,
)
from refarray.conformance.findings import Run
from refarray.conformance.report import badge, html, junit, markdown
from refarray.conformance.requirements import Level, reasons, requirements
from refarray.conformance.runner import engine, expectations, worker_process
from refarray.conformance.runner.engine import run_subject

pytestmark = [pytest.mark.not_repeated, pytest.mark.usefixtures("mutants_are_importable")]


@pytest.fixture(scope="module")
def numpy_run() -> Run:
    return run_subject("numpy", engine.select(ids=["FLAG", "TENS-03", "VERS-02", "TENS-08"]))


@pytest.mark.not_sanitized("ASAN ends a process by a signal of its own")
def test_a_crash_is_a_finding_and_the_rest_goes_on() -> None:
    run = run_subject("mutants.misbehaving:crashing", engine.select(ids=["VERS-05", "VERS-06"]))
    outcomes = {found.case: found.outcome for found in run.findings}
    assert outcomes["max-version-1-0"] is Outcome.CRASH
    assert outcomes["max-version-1-3"] is outcomes["max-version-1-1"] is Outcome.PASS
    (crash,) = (found for found in run.findings if found.outcome is Outcome.CRASH)
    assert crash.observed.startswith("SIGSEGV") and crash.outcome.failed


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing", "No module named 'no_such_module_at_all'"),
        ("stopping", "SystemExit: not today"),
        ("dying", "exit status 3"),
        pytest.param(
            *("killed", "SIGSEGV"),
            marks=pytest.mark.not_sanitized("ASAN answers a SIGSEGV itself, and aborts"),
        ),
        ("wrong", "SyntaxError"),
        ("empty", "it has no DLPack: a object has no __dlpack__; empty has no import function"),
        ("nothing_of_this_name", "has no attribute 'nothing_of_this_name'"),
    ],
)
def test_a_subject_that_cannot_be_tried_is_reported(
    name: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a line of its own, with exit status 3; the other subjects are tried."""
    assert (
        main(["check", f"mutants.misbehaving:{name}", "refarray", "--only", "VERS-05", "--all"])
        == 3
    )
    out = " ".join(capsys.readouterr().out.split())
    assert "could not be tried: " in out and why in out
    assert "4 pass" in out


def test_a_subject_that_hangs_at_import_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "IMPORT_SECONDS", 0.5)
    run = run_subject("mutants.misbehaving:sleeping", engine.select(ids=["VERS-05"]))
    assert run.broken.startswith("no answer in 0.5 s") and not run.findings


def test_output_of_a_subject_is_not_an_answer() -> None:
    run = run_subject("mutants.misbehaving:printing", engine.select(ids=["VERS-05"]))
    assert [found.outcome for found in run.findings] == [Outcome.PASS] * 4


@pytest.mark.parametrize("name", ["leaving", "vanishing"])
def test_a_subject_that_exits_in_a_case_is_reported(name: str) -> None:
    """The case is a crash, with a repro; the next ones run in a new process."""
    run = run_subject(f"mutants.misbehaving:{name}", engine.select(ids=["PROD-11", "VERS-05"]))
    left = [found for found in run.findings if found.outcome is Outcome.CRASH]
    assert [found.id for found in left] == ["PROD-11"]
    assert "exit status 4" in left[0].observed and "copy=True" in left[0].repro
    assert sum(found.outcome is Outcome.PASS for found in run.findings) == 4


def test_a_subject_that_hangs_in_a_case_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "SECONDS", 2.0)
    run = run_subject("mutants.misbehaving:hanging", engine.select(ids=["PROD-11", "PROD-13"]))
    tried = [f.outcome for f in run.findings if f.outcome is not Outcome.NOT_APPLICABLE]
    assert tried == [Outcome.HANG, Outcome.PASS]
    assert any("it died: see PROD-11" in found.observed for found in run.findings)


def test_a_hang_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "SECONDS", 0.5)
    run = run_subject("mutants.misbehaving:stuck", engine.select(ids=["VERS-01"]))
    assert [found.outcome for found in run.findings] == [Outcome.HANG]


def test_a_subject_that_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(worker_process, "SECONDS", 0.5)
    assert main(["check", "mutants.misbehaving:stuck", "--only", "VERS", "LIFE-06"]) == 3
    assert "3 cases hung one after the other" in capsys.readouterr().out


def test_checks_name_registered_requirements_and_are_unique() -> None:
    every = checks(full=True)
    assert {each.id for each in every} <= set(requirements())
    assert len({each.name for each in every}) == len(every)
    assert all(each.expected and each.case for each in every)


def test_every_requirement_has_a_check_or_a_reason() -> None:
    covered = {each.id for each in checks(full=True)}
    assert set(reasons()) | covered == set(requirements())
    assert not set(reasons()) & covered, "a reason has become stale"


def test_checks_are_in_the_module_of_their_family() -> None:
    """suite/<role>/<family>*.py; the checks of a pair are in one module."""
    from refarray.conformance import suite

    source = Path(suite.__file__).parent
    for file in sorted({*source.glob("*/[a-z]*.py")} - {*source.glob("pair/*")}):
        ids = re.findall(r'(?:check\w*\(|\*\()\s*"([A-Z]+)-\d\d"', file.read_text("utf-8"))
        names = {suite.FAMILIES[each] for each in ids}
        assert len(names) <= 1 and all(file.stem.startswith(name) for name in names), file


def test_a_case_is_judged_by_no_more_than_its_requirement() -> None:
    order = [Level.MUST, Level.SHOULD, Level.MAY, Level.HAZARD, Level.DISPUTED]
    for each in checks(full=True):
        if each.level is not None:
            # A sentence that binds the same mistake elsewhere may bind here, too.
            ids = [each.id, *(name.partition("[")[0] for name in each.same_as)]
            strictest = min(order.index(requirements()[name].level) for name in ids)
            assert order.index(each.level) >= strictest, each.name


@pytest.mark.not_sanitized("what other libraries do wrong, ASAN reports as well")
def test_repros_of_producers_run_without_refarray(numpy_run: Run) -> None:
    warned = [found for found in numpy_run.findings if found.id == "TENS-03"]
    assert warned and "refarray" not in warned[0].repro
    done = python("-c", warned[0].repro)
    assert done.returncode == 1 and "not NULL" in done.stdout, done.stderr


def test_reports_say_the_same(numpy_run: Run) -> None:
    suite = ElementTree.fromstring(junit.text([numpy_run]))[0]
    failed = [found for found in numpy_run.findings if found.outcome.failed]
    assert int(suite.attrib["tests"]) == len(numpy_run.findings)
    assert int(suite.attrib["failures"]) + int(suite.attrib["errors"]) == len(failed)
    assert "VERS-02" in markdown.text([numpy_run])
    page = html.text([numpy_run])
    assert "@TITLE@" not in page and 'id="numpy-VERS-02"' in page and "http-equiv" not in page
    assert json.loads(badge.text([numpy_run]))["color"] == "red"


def test_html_escapes_the_output_of_libraries(numpy_run: Run) -> None:
    from dataclasses import replace

    bad = replace(numpy_run.findings[0], observed="<script>x</script> @SECTIONS@")
    page = html.text([Run("numpy", "1", findings=[bad])])
    assert "<script>x" not in page


EXPECT = '[[expect]]\nid = "{}"\nsubject = "numpy"\noutcome = "crash"\nreason = "known"\n'


def test_expectations_are_strict_both_ways(numpy_run: Run) -> None:
    known = expectations.parse(EXPECT.format("VERS-02") + EXPECT.format("FLAG-03"))
    verdict = expectations.compare([numpy_run], known)
    assert "VERS-02" not in {found.id for found in verdict.unexpected}
    assert [entry.id for entry in verdict.stale] == ["FLAG-03"]


MYLIB = """
from refarray.conformance import Subject

MYLIB = Subject(
    "mylib",
    imports="import numpy as mylib",
    arrays={"plain": "mylib.arange(6, dtype='float32')", "empty": "mylib.empty(0)"},
    from_dlpack="mylib.from_dlpack({})",
)
"""


@pytest.mark.parametrize("named", ["mylib", "mypackage.module:MYLIB"])
def test_expectations_name_the_adapter_or_where_it_is(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The manual's adapter and its file of expectations."""
    (tmp_path / "mypackage").mkdir()
    (tmp_path / "mypackage/module.py").write_text(MYLIB)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    known = tmp_path / "known.toml"
    command = ["check", "mypackage.module:MYLIB", "--only", "VERS-02", "FLAG-03", "--expect"]

    known.write_text(EXPECT.format("VERS-02").replace("numpy", named))
    assert main([*command, str(known)]) == 0
    out = capsys.readouterr().out
    assert (
        "XFAIL VERS-02" in out and "expected to crash: known" in out and "1 expected crash" in out
    )
    findings, _, advice = out.partition("-v shows")
    assert findings.startswith("mylib\n") and "MYLIB" not in findings and "MYLIB" in advice
    assert "not expected" not in out and "not tried" not in out

    known.write_text((EXPECT.format("VERS-02") + EXPECT.format("FLAG-03")).replace("numpy", named))
    assert main([*command, str(known)]) == 4
    assert f"stale: FLAG-03 {named} is expected to crash, and does not" in capsys.readouterr().out

    known.write_text(EXPECT.format("VERS-02").replace("numpy", named) + EXPECT.format("VERS-05"))
    assert main([*command, str(known)]) == 0
    assert "not tried: VERS-05 numpy is about a subject" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[expect]\n", "line 1"),
        ('[[expect]]\nid = "VERS-02"\n', "line 1: outcome is missing"),
        (EXPECT.format("COPY-99"), "'COPY-99' is no requirement"),
        (EXPECT.format("VERS-02") + 'colour = "red"\n', "unknown key 'colour'"),
        (EXPECT.format("VERS-02").replace('"crash"', '"sad"'), "'sad' is none of"),
        (EXPECT.format("VERS-02") + 'versions = "~2"\n', "'~2' is no clause"),
        ("expect = 3\n", "expect is no list"),
    ],
)
def test_malformed_expectations_name_line_and_key(text: str, says: str) -> None:
    with pytest.raises(expectations.Malformed, match=says):
        expectations.parse(text)


def test_version_ranges() -> None:
    assert expectations.matches("2.13.0+cpu", ">=2.9,<3") and expectations.matches(
        "2.13", "==2.13.0"
    )
    assert not expectations.matches("2.8", ">=2.9") and expectations.matches("", "")


def test_exit_statuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["check", "refarray", "--only", "VERS"]) == 0
    assert main(["check", "numpy", "--only", "VERS-02"]) == 1
    assert main(["check", "mutants.misbehaving:missing", "--only", "VERS"]) == 3
    stale = tmp_path / "stale.toml"
    stale.write_text(EXPECT.format("FLAG-03"))
    assert main(["check", "numpy", "--only", "FLAG-03", "--expect", str(stale)]) == 4
    assert "stale: FLAG-03" in capsys.readouterr().out
    assert main(["check", "numpy", "--only", "NOSUCH"]) == 2
    assert main(["check", "numpy", "--report", "pdf=x"]) == 2


def test_diff_of_two_reports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    for path in (old, new):
        main(["check", "numpy", "--only", "VERS-02", "--report", f"json={path}"])
    assert main(["diff", str(old), str(new)]) == 0
    changed = json.loads(old.read_text())
    changed["findings"][0]["outcome"] = "pass"
    old.write_text(json.dumps(changed))
    capsys.readouterr()
    assert main(["diff", str(old), str(new)]) == 1
    assert "pass -> crash" in capsys.readouterr().out


def test_explain_and_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "vers-01"]) == 0
    out = capsys.readouterr().out
    assert "VERS-01" in out and "https://" in out and "checked" in out
    assert main(["explain", "STRM-16"]) == 0
    assert "no check  allows something to both sides" in capsys.readouterr().out
    assert main(["explain", "CAPI-23"]) == 0
    out = capsys.readouterr().out
    assert "exchange-api, layout: " in out and "exchange-api, huge (HAZARD): " in out
    assert main(["explain", "VERS-99"]) == 2
    assert main(["list", "--json"]) == 0
    out = capsys.readouterr().out
    listed = json.loads(out[out.index("[") :])
    assert [each["id"] for each in listed] == list(requirements())
    assert all(bool(each["checks"]) != bool(each["no_check"]) for each in listed)


def test_library_functions() -> None:
    report = check("numpy", ids=["VERS-02"], expected_failures={"VERS-02": "known"})
    assert not report.unexpected and not report.stale
    with pytest.raises(AssertionError, match="VERS-02"):
        check("numpy", ids=["VERS-02"])
    with pytest.raises(AssertionError, match="did not: FLAG-03"):
        check("numpy", ids=["FLAG-03"], expected_failures={"FLAG-03": "stale"})


def test_ids_without_a_check_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A run without cases would pass, and a misspelt expectation would cover nothing."""
    for ids in (["VERS-99"], ["VERS", "NOPE", "VERS-99"]):
        with pytest.raises(ValueError, match=r"no check covers (NOPE, )?VERS-99; see"):
            check("numpy", ids=ids)
    assert [each.id for each in checks(ids=["flag-03"])][:1] == ["FLAG-03"]
    for name in ("copy-07", "COPY"):
        with pytest.raises(ValueError, match=f"expected_failures: {name}: no such requirement"):
            check("numpy", ids=["VERS-02"], expected_failures={name: "misspelt"})
        with pytest.raises(ValueError, match=f"expected_failures: {name}: no such requirement"):
            parametrize("numpy", ids=["VERS-02"], expected_failures={name: "misspelt"})
    assert main(["check", "numpy", "--only", "VERS-05", "NOPE"]) == 2
    assert "--only: no check covers NOPE" in capsys.readouterr().err


def test_the_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "numpy", "refarray"]) == 0
    out = capsys.readouterr().out
    assert "29/29" in out and "producer" in out
