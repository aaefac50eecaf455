"""The kit's commands: totals, issue reports, suggestions, colours, width, subjects and diffs."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.processes import python

from refarray import __main__, _terminal
from refarray.__main__ import main
from refarray.commands.check import read_fail_on
from refarray.conformance import check
from refarray.conformance.findings import Finding, Outcome, Run
from refarray.conformance.report import badge, html, issue, junit, markdown, text
from refarray.conformance.report.totals import Totals, totals
from refarray.conformance.requirements import Level, requirements
from refarray.conformance.runner import engine, expectations
from refarray.conformance.runner.engine import name_apart

Capture = pytest.CaptureFixture[str]


def finding(name: str, outcome: str, known: str = "", case: str = "a") -> Finding:
    about = ("it holds", "it does not", "print(1)")
    return Finding(
        *(name, Level.MUST, "lib", "1.0", "consumer", case, Outcome(outcome), *about, 0.0, known)
    )


FINDINGS = [
    *(finding("VERS-05", "pass"), finding("VERS-05", "info", case="b")),
    *(finding("VERS-06", "fail", "known"), finding("VERS-06", "pass", case="b")),
    *(finding("VERS-02", "fail", "known"), finding("VERS-02", "crash", case="b")),
    *(finding("FLAG-03", "warn"), finding("FLAG-10", "not-applicable")),
    finding("LIFE-10", "error"),
]


def test_totals_count_each_requirement_once() -> None:
    found = totals(FINDINGS)
    assert found == Totals(broken=2, expected=1, unknown=1, warned=1, kept=1, inapplicable=1)
    assert str(found) == (
        "1 of 4 requirements kept, 2 broken (1 of them expected), 1 with a warning, "
        "1 not decided, 1 not applicable"
    )


def test_every_report_has_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    decided = [found for found in FINDINGS if found.outcome is not Outcome.ERROR]
    run = Run("lib", "1.0", findings=decided)
    number = str(totals(decided))
    for report in (text, html, markdown):
        assert number in report.text([run])
    told = json.loads(badge.text([run]))
    assert told["message"] == "1 of 4 kept" and told["color"] == "red"


def test_an_expected_failure_is_shown_as_expected() -> None:
    run = Run("lib", "1.0", findings=FINDINGS)
    shown = text.text([run])
    assert shown.index("CRASH VERS-02") < shown.index("XFAIL VERS-06")
    assert "expected to fail: known" in shown and "2 expected fail" in shown
    assert "| expected fail: known |" in markdown.text([run])
    assert '<span class="outcome warn">expected fail</span>' in html.text([run])
    suite = ElementTree.fromstring(junit.text([run]))[0]
    assert [suite.attrib[name] for name in ("failures", "errors", "skipped")] == ["0", "2", "3"]
    assert len(suite.findall("testcase/skipped[@type='xfail']")) == 2


def test_the_short_report_fits_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns and 24 lines: each cause in two lines, the counts, and where the rest is."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    ids = [name for name in requirements() if name.startswith(("TENS", "COPY"))][:12]
    many = [replace(finding(name, "fail"), observed="x " * 99, repro="import x") for name in ids]
    repeated = replace(many[0], case="other", same_as=many[0].name)
    run = Run("lib", "1.0", findings=[*many, repeated, finding("FLAG-03", "info")])
    shown = text.brief([run])
    lines = shown.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert shown.count("FAIL ") == 8 and "and 4 more requirements" in shown
    assert "import x" not in shown and "INFO" not in shown and "same cause" not in shown
    assert f"refarray check lib --issue {ids[0]}" in " ".join(shown.split())
    assert "import x" in text.text([run])
    expected = text.brief([Run("lib", "1.0", findings=FINDINGS)])
    assert "XFAIL VERS-06" in expected and "expected to fail: known" in expected


@pytest.mark.parametrize(
    ("what", "failing"),
    [
        ("must", {"VERS-02", "VERS-05"}),
        ("crash", {"VERS-05", "TENS-08"}),
        ("must,crash", {"VERS-02", "VERS-05", "TENS-08"}),
        ("should, info", {"FLAG-03", "TENS-02"}),
        ("none", set()),
    ],
)
def test_what_a_run_fails_on(what: str, failing: set[str]) -> None:
    found = [
        finding("VERS-02", "fail"),
        replace(finding("VERS-05", "crash"), harm="crash"),
        replace(finding("TENS-08", "fail"), harm="wrong data", level=Level.HAZARD),
        finding("FLAG-03", "warn"),
        finding("TENS-02", "info"),
        finding("TENS-01", "pass"),
    ]
    assert {each.id for each in found if read_fail_on(what)(each)} == failing


def test_an_unknown_word_of_fail_on_is_refused(capsys: Capture) -> None:
    assert main(["check", "numpy", "--only", "VERS-05", "--fail-on", "must,shuold"]) == 2
    assert "'shuold' is none of must, should, info, crash, none" in capsys.readouterr().err
    assert main(["check", "numpy", "--only", "VERS-02,VERS-05", "--fail-on=none"]) == 0
    assert main(["check", "numpy", "--only", "VERS-05", "--only", "TENS-03"]) == 0
    command = ["check", "numpy", "--only", "VERS-05", "--only", "TENS-03", "--fail-on=should"]
    assert main(command) == 1


def test_expected_failures_of_a_case() -> None:
    """A key of expected_failures may name one case, and only that one is forgiven."""
    report = check("numpy", ids=["VERS-02"], raising=False)
    (failed,) = report.unexpected
    name = f"VERS-02[{failed.role}-{failed.case}]"
    report = check("numpy", ids=["VERS-02"], expected_failures={name: "known"})
    assert "XFAIL VERS-02" in str(report) and not report.stale
    other = next(f for f in report.findings if not f.outcome.failed)
    wrong = f"VERS-02[{other.role}-{other.case}]" if other.case != failed.case else "VERS-05"
    report = check(
        "numpy", ids=["VERS-02", "VERS-05"], expected_failures={wrong: "x"}, raising=False
    )
    assert report.unexpected and report.stale == [wrong]
    for bad, says in (
        ({"VERS-02[consumer-nothing]": "x"}, "no such requirement"),
        ({"VERS-02": ""}, "the reason is empty"),
        ({"STRM-16": "x"}, "no check covers STRM-16"),
    ):
        with pytest.raises(ValueError, match=says):
            check("numpy", ids=["VERS-02"], expected_failures=bad)


def test_entries_that_no_run_decides_are_told(capsys: Capture, tmp_path: Path) -> None:
    known = tmp_path / "known.toml"
    entry = '[[expect]]\nid = "{}"\nsubject = "{}"\noutcome = "crash"\nreason = "known"\n{}\n'
    known.write_text(
        entry.format("VERS-02", "numpy", "")
        + entry.format("VERS-05", "nunpy", "")
        + entry.format("VERS-06", "numpy", "")
        + entry.format("VERS-02", "numpy", 'versions = "<1"')
    )
    assert main(["check", "numpy", "--only", "VERS-02", "--expect", str(known)]) == 0
    out = capsys.readouterr().out
    assert "VERS-05 nunpy is about a subject that is not checked here; did you mean numpy?" in out
    assert "VERS-06 numpy is about a case that was not selected" in out
    assert "VERS-02 numpy <1 is about other versions; this is " in out
    for more, says in (
        ('case = "fals"', r"case 'fals' is none of VERS-02"),
        ('role = "producr"', r"role 'producr' is none of VERS-02"),
    ):
        with pytest.raises(expectations.Malformed, match=says):
            expectations.parse(entry.format("VERS-02", "numpy", more))
    with pytest.raises(expectations.Malformed, match="no check covers STRM-16"):
        expectations.parse(entry.format("STRM-16", "numpy", ""))


def test_a_subject_has_one_name_in_every_report(capsys: Capture) -> None:
    """The adapter's; two adapters of one name are told apart; a repeated subject runs once."""
    assert main(["check", "numpy", "numpy", "--only", "VERS-05"]) == 0
    assert capsys.readouterr().out.count("cases in") == 1
    run = Run("lib", asked="one:LIB", findings=[finding("VERS-05", "pass")])
    other = Run("lib", asked="two:LIB", findings=[finding("VERS-05", "pass")])
    assert name_apart([run]) == [run]
    apart = name_apart([run, other])
    assert [each.subject for each in apart] == ["one:LIB", "two:LIB"]
    assert [each.findings[0].subject for each in apart] == ["one:LIB", "two:LIB"]


def test_only_and_skip_take_cases() -> None:
    every = engine.select(ids=["VERS"])
    one = every[0].name
    assert [each.name for each in engine.select(ids=[one.lower()])] == [one]
    assert one not in {each.name for each in engine.select(ids=["VERS"], skip=[one])}
    with pytest.raises(ValueError, match="no check is left"):
        engine.select(ids=["VERS-05"], skip=["VERS"])


# --- issues


def test_an_issue_can_be_pasted(capsys: Capture) -> None:
    assert main(["check", "numpy", "--issue", "vers-02"]) == 1
    out = capsys.readouterr().out
    asked = requirements()["VERS-02"]
    assert out.startswith("# numpy ") and asked.title in out.splitlines()[0]
    for part in (asked.source, "Expected: ", "Seen:\n", "```python\n", "### Versions", "CPython"):
        assert part in out, part
    assert "refarray check numpy --only VERS-02" in out and out.count("```") % 2 == 0
    repro = re.search(r"```python\n(.*?)```", out, re.S)
    assert repro is not None
    compile(repro[1], "repro", "exec")


def test_an_issue_of_a_kept_requirement_says_so(capsys: Capture) -> None:
    assert main(["check", "refarray", "--issue", "VERS-05"]) == 0
    assert "keeps VERS-05: nothing to report" in capsys.readouterr().out
    assert main(["check", "refarray", "--issue", "VERS-0"]) == 2
    assert "there is no requirement VERS-0" in capsys.readouterr().err
    assert main(["check", "no_such_module", "--issue", "VERS-05"]) == 3
    assert "could not be tried" in capsys.readouterr().out


def test_a_fence_is_longer_than_those_in_the_text() -> None:
    assert next(issue.code("a\n```\nb")) == "````python"


# --- suggestions, exit statuses, colours, width


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        (["chekc", "numpy"], 2, "did you mean check?"),
        (["check", "nunpy", "--only", "VERS-05"], 3, "did you mean numpy?"),
        (["check", "numpy", "--only", "COPPY"], 2, "did you mean COPY?"),
        (["check", "numpy", "--skip", "VERS-005"], 2, "did you mean VERS-05?"),
        (["check", "numpy", "--report", "jsn=x"], 2, "did you mean json?"),
        (["explain", "VERS-001"], 2, "did you mean VERS-01?"),
        (["list", "VER"], 2, "did you mean VERS?"),
        (["matrix", "numpy", "--report", "htm=x"], 2, "did you mean html?"),
        (["diff", "no.json", "no.json"], 2, "No such file"),
        (["diff", "no_such_module", "numpy", "--only", "VERS-05"], 3, "could not be tried"),
        (["diff", "numpy", "numpy", "--only", "VERZ"], 2, "did you mean VERS?"),
    ],
)
def test_misspelt_names(command: list[str], status: int, says: str, capsys: Capture) -> None:
    assert main(command) == status
    printed = capsys.readouterr()
    assert says in (printed.out + printed.err).replace("\n  ", " ")


def test_a_bug_of_a_command_has_a_status_of_its_own(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from refarray.commands import version

    for error, status in ((RuntimeError("planted"), 3), (KeyboardInterrupt(), 130)):

        def run(_: object, error: BaseException = error) -> int:
            raise error

        monkeypatch.setattr(version, "run", run)
        assert __main__.main(["version"]) == status
    assert "RuntimeError: planted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colours(
    variables: dict[str, str], terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert _terminal.colours(sys.stdout) is expected


@pytest.mark.parametrize(
    "command",
    [
        ["check", "numpy", "--only", "VERS-02", "FLAG", "--all"],
        ["explain", "VERS-02", "STRM-16", "VERS-05"],
        ["list"],
        ["subjects"],
        ["trace", "numpy", "refarray"],
        ["diff", "numpy", "refarray", "--only", "VERS-02", "FLAG"],
    ],
)
def test_output_fits_the_terminal(
    command: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links and the code of repros are not broken."""
    columns = 80
    monkeypatch.setenv("COLUMNS", str(columns))
    main(command)
    lines = capsys.readouterr().out.splitlines()
    repros = [n for n, line in enumerate(lines) if line.startswith("      repro ")]
    for number, line in enumerate(lines):
        inside = any(start <= number <= start + 26 for start in repros)
        longest = max((len(word) for word in line.split()), default=0)
        assert len(line) <= columns or inside or "://" in line or longest > columns // 2, line


# --- subjects and diffs


def test_subjects(capsys: Capture) -> None:
    assert main(["subjects", "--json"]) == 0
    rows = {row["subject"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["numpy"]["version"] and {"torch", "refarray", "cupy"} <= rows.keys()
    assert main(["subjects"]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"^numpy +{re.escape(rows['numpy']['version'])}$", out, re.M), out


def test_registered_subjects_are_listed(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from refarray.conformance.subjects import lookup

    monkeypatch.setattr(lookup, "find_registered", lambda: {"mylib": "mypackage.module:MYLIB"})
    assert main(["subjects"]) == 0
    assert re.search(r"^mylib +mypackage.module:MYLIB$", capsys.readouterr().out, re.M)


def test_diff_of_two_subjects(capsys: Capture) -> None:
    assert main(["diff", "refarray", "numpy", "--only", "VERS-02"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("refarray -> numpy VERS-02 ") and "pass -> crash" in out
    assert "absent" not in out
    assert main(["diff", "numpy", "refarray", "--only", "VERS-02"]) == 0
    assert "crash -> pass" in capsys.readouterr().out


def test_the_command_line_reports_its_exit_status() -> None:
    done = python("-m", "refarray", "check", "numpy", "--only", "NOSUCH")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("refarray check: --only: no check covers NOSUCH")
