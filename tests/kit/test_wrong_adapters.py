"""An adapter is tried before it accuses: its mistake is named, and the exit status is 3."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.wrong_adapters import WRONG, right

from refarray.__main__ import main
from refarray.conformance import Outcome, check
from refarray.conformance.findings import Run
from refarray.conformance.harness.consumer import Given
from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import run_subject

pytestmark = [pytest.mark.not_repeated, pytest.mark.usefixtures("mutants_are_importable")]
BAD = {Outcome.FAIL, Outcome.CRASH, Outcome.HANG, Outcome.WARN, Outcome.ERROR}


def run(name: str, *ids: str) -> Run:
    checks = engine.select(ids=ids or ["VERS-05", "TENS-01[consumer-versioned-plain]"])
    return run_subject(f"helpers.wrong_adapters:{name}", checks, devices="none")


@pytest.mark.not_sanitized("one adapter ends its process by a signal")
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_of_the_adapter_is_named(name: str) -> None:
    part, fields, text = WRONG[name]
    found = run(name)
    if found.broken:
        assert part in found.broken and text in found.broken
    wrong = next(each for each in found.mistakes if each.part == part)
    assert text in str(wrong) and "wrong_adapters.py:" in wrong.place, wrong
    assert wrong.expression.removesuffix(".__dlpack__()") in fields.values()
    assert not [each for each in found.findings if each.outcome in BAD]


def test_one_mistake_is_one_line() -> None:
    assert [each.part for each in run("typo").dropped] == ["arrays['plain']"]
    assert [each.part for each in run("import_argument").dropped] == ["from_dlpack"]
    assert not run("right").dropped


def test_producers_may_be_called_by_what_their_class_has() -> None:
    """nanobind calls what it finds in the class, and passes the producer."""
    given = Given({"shape": (3,)})
    assert "dltensor_versioned" in repr(type(given).__dlpack__(given, max_version=(1, 0)))
    with pytest.raises(TypeError, match="unexpected keyword") as caught:
        type(given).__dlpack__(given, wrong=1)
    assert caught.tb.tb_next is None  # as of a method in C


def test_only_what_is_wrong_is_left_out() -> None:
    found = run("swapped_axes", "TENS-01").findings
    reasons = {f.observed for f in found if f.role == "producer" and "transposed" in f.case}
    assert len(reasons) == 1 and "the adapter's arrays['transposed'] was dropped" in reasons.pop()
    assert any(f.case == "versioned-permuted" and f.outcome is Outcome.PASS for f in found)


def test_a_library_that_tells_nothing_is_compared_with_the_kinds() -> None:
    assert right.place.rpartition(":")[0].endswith("wrong_adapters.py")
    correct = run("silent", "TENS-01", "ABI-05", "DTYPE")
    assert not correct.dropped
    assert not [f for f in correct.findings if f.outcome in BAD]
    passed = {f.case for f in correct.findings if f.outcome is Outcome.PASS and f.id == "TENS-01"}
    assert {"versioned-inner", "legacy-permuted", "versioned-int8"} <= passed
    wrong = run("shifted", "TENS-01")
    assert not wrong.dropped
    failed = {f.case for f in wrong.findings if f.outcome is Outcome.FAIL}
    assert failed == {"versioned-offset", "legacy-offset", "to-cpu-offset"}


def test_every_report_begins_with_the_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forms = ("json", "junit", "html", "markdown", "summary", "badge")
    reports = [f"--report={form}={tmp_path / form}" for form in forms]
    command = ["check", "helpers.wrong_adapters:typo", "--only", "TENS-01", *reports]
    assert main(command) == 3
    expression = "ra.arrange(6)"
    assert expression in "\n".join(capsys.readouterr().out.splitlines()[:4])
    for form in ("markdown", "summary"):
        assert expression in "\n".join((tmp_path / form).read_text().splitlines()[:4])
    page = (tmp_path / "html").read_text()
    assert page.index(expression) < page.index("<details")
    (subject,) = json.loads((tmp_path / "json").read_text())["subjects"]
    assert subject["dropped"][0]["expression"] == expression and subject["dropped"][0]["mistake"]
    suite = ElementTree.parse(tmp_path / "junit").getroot()[0]
    assert suite.attrib["errors"] == "1" and expression in suite[0][0].attrib["message"]
    assert int(suite.attrib["tests"]) == len(suite)
    assert json.loads((tmp_path / "badge").read_text())["message"] == "not tried"


def test_a_mistake_is_raised() -> None:
    with pytest.raises(AssertionError, match=r"the adapter is wrong: arrays\['plain'\]"):
        check("helpers.wrong_adapters:typo", ids=["TENS-01"], devices="none")


def test_what_a_version_lacks_is_no_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    """The adapters of the kit are for several versions of a library."""
    assert main(["check", "helpers", "--only", "VERS-05"]) == 3
    assert "it has no DLPack" in capsys.readouterr().out
