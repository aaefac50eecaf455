"""tools/gates/consumers: its data, and how outcomes of two runs are compared."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from helpers.gate_loading import load_gate

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "consumers"
LISTED = tomllib.loads((DATA / "differences.toml").read_text(encoding="utf-8"))["difference"]
RESULTS = json.loads((DATA / "results.json").read_text(encoding="utf-8"))
gate = load_gate("consumers/__main__")
PROJECTS = tomllib.loads((DATA / "projects.toml").read_text(encoding="utf-8"))
ROWS = gate.projects(PROJECTS)


@pytest.mark.parametrize("name", ROWS)
def test_a_project_has_a_pinned_environment(name: str) -> None:
    row = ROWS[name]
    environment = PROJECTS["environment"][row["environment"]]
    assert re.fullmatch(r"[\d.]+", gate.version_of(name, environment))
    assert "array-api-strict==2.6.1" in environment["requires"]
    assert row.get("tests") or all((DATA / each).exists() for each in row["own_tests"])


@pytest.mark.parametrize("name", ROWS)
def test_a_project_has_a_result_on_the_page(name: str) -> None:
    """Run `make test-consumers UPDATE=1`."""
    row = RESULTS[name]
    assert row["strict"]["passed"] > 40
    assert gate.table({name: row}).splitlines()[-1] in gate.PAGE.read_text(encoding="utf-8")
    environment = PROJECTS["environment"][ROWS[name]["environment"]]
    assert row["version"] == gate.version_of(name, environment)


@pytest.mark.parametrize("row", LISTED, ids=lambda row: row["error"])
def test_a_difference_has_a_reason_and_a_link(row: dict[str, Any]) -> None:
    assert set(row) == {"project", "tests", "error", "reason", "link"}
    assert row["link"].startswith(("https://data-apis.org/array-api/", "https://github.com/"))
    assert len(row["reason"]) > 40 and re.compile(row["error"])


def test_outcomes_of_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        "<testsuites><testsuite>"
        '<testcase classname="a.B" name="one"/>'
        '<testcase classname="a.B" name="two"><failure message="wrong">long</failure></testcase>'
        '<testcase classname="a" name="three"><skipped message="no"/></testcase>'
        '<testcase classname="a" name="four"><error message="fixture"/></testcase>'
        "</testsuite></testsuites>"
    )
    assert gate.outcomes(report) == {
        "a.B::one": ("passed", ""),
        "a.B::two": ("failed", "wrong"),
        "a::three": ("skipped", ""),
        "a::four": ("failed", "fixture"),
    }


def test_differences() -> None:
    strict = {"t::a": ("passed", ""), "t::b": ("failed", "x"), "t::c": ("passed", "")}
    ours = {"t::a": ("failed", "E: odd"), "t::b": ("failed", "y"), "t::d": ("passed", "")}
    row = {"project": "p*", "tests": ["t::a"], "error": "odd", "reason": "", "link": ""}
    found = gate.differences("p", strict, ours, [row])
    assert [each.split()[1] for each in found] == ["t::c", "t::d"], "missing and new tests"
    assert len(gate.differences("p", strict, ours, [])) == 3
    assert len(gate.differences("p", strict, ours, [{**row, "error": "even"}])) == 4
    assert len(gate.differences("q", strict, ours, [row])) == 3, "of another project"
    (unmet,) = gate.differences("p", strict, strict, [row])
    assert "no test differs so" in unmet


def test_brackets_in_names_of_tests() -> None:
    row = {"tests": ["t::b[1]"], "error": ""}
    assert gate.explains(row, "t::b[1]", "any")
    assert not gate.explains(row, "t::b1", "any")
