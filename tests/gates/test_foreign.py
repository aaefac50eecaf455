"""`make test-foreign`: which tests count, which failures it accepts, and that its page is that of
the recorded results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.gate_loading import load_gate
from helpers.processes import python

pytestmark = pytest.mark.not_repeated

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ROOT / "tests" / "foreign"

gate = load_gate("foreign_suites")
suite = gate.Suite("mine", "cpython", "both", "numpy_buffer", ["test_mine.py"], "nothing")


def row(policy: str = "", error: str = "no flags") -> Any:
    return gate.Expected("mi*", ["test_mine.py::test_bad[*"], error, "it has none", policy)


def record_of(outcome: str, exchanges: int, message: str = "") -> dict[str, Any]:
    return {"outcome": outcome, "exchanges": exchanges, "message": message}


def test_only_tests_with_an_exchange_count() -> None:
    tests = {
        "test_mine.py::test_good": record_of("passed", 3),
        "test_mine.py::test_other": record_of("passed", 0),
        "test_mine.py::test_skipped": record_of("skipped", 1),
    }
    outcome = gate.judge(suite, tests, [], set())
    counts = {"reached": 1, "passed": 1, "policy": 0, "not applicable": 0, "exchanges": 3}
    assert outcome.numbers() == counts
    assert outcome.problems == []


def test_failure_that_is_not_expected_is_a_problem() -> None:
    name, met = "test_mine.py::test_bad[1]", set[str]()
    expected = [row()]
    outcome = gate.judge(suite, {name: record_of("failed", 1, "wrong value")}, expected, met)
    assert outcome.problems == [f"mine: {name} failed: wrong value"]
    assert outcome.counts["reached"] == 0 and not met
    outcome = gate.judge(suite, {name: record_of("failed", 0, "no numpy")}, [], met)
    assert outcome.problems, "a failure before refarray is reached hides what the test would show"


def test_expected_failure_counts_with_its_verdict() -> None:
    met = set[str]()
    expected = [row(), row("A-01", "elsewhere")]
    tests = {"test_mine.py::test_bad[1]": record_of("failed", 2, "array has no flags")}
    outcome = gate.judge(suite, tests, expected[:1], met)
    assert outcome.problems == []
    assert outcome.numbers()["not applicable"] == outcome.numbers()["reached"] == 1
    assert gate.stale(expected[:1], met, [suite]) == []
    assert gate.stale(expected[:1], set(), [suite]) == [
        "expected, but did not fail: mi*: test_mine.py::test_bad[*"
    ]


def test_numbers_are_compared_with_the_recorded_ones() -> None:
    outcome = gate.Outcome(gate.Counter(reached=4, passed=4), 100)
    recorded = {"version": "1", **outcome.numbers()}
    assert gate.differences("mine", "2", outcome, {"mine": {**recorded, "passed": 5}}) == []
    assert gate.differences("mine", "1", outcome, {"mine": recorded}) == []
    assert gate.differences("mine", "1", outcome, {"mine": {**recorded, "exchanges": 120}}) == []
    assert gate.differences("mine", "1", outcome, {"mine": {**recorded, "exchanges": 200}}) == [
        "mine: 100 exchanges, 200 are recorded"
    ]
    assert gate.differences("mine", "1", outcome, {"mine": {**recorded, "passed": 5}}) == [
        "mine: 4 tests passed, 5 are recorded"
    ]
    assert gate.differences("mine", "1", outcome, {}) == [
        "mine: no recorded result; UPDATE=1 records it"
    ]


def test_expected_failures_have_a_policy_or_a_reason() -> None:
    policies = set(
        re.findall(r"^\| (A-\d+) \|", (ROOT / "docs" / "exchange.md").read_text(), re.MULTILINE)
    )
    names = [each.name for each in gate.suites(gate.DATA)]
    for each in gate.expectations():
        assert each.policy in {"", *policies}, each
        assert len(each.reason) > 10 and each.error, each
        assert any(gate.fnmatch.fnmatchcase(name, each.suite) for name in names), each


def test_page_shows_the_recorded_results() -> None:
    done = python(ROOT / "tools" / "docs" / "foreign_page.py", "--check")
    assert done.returncode == 0, "run tools/docs/foreign_page.py"
    recorded = json.loads((FOREIGN / "results.json").read_text(encoding="utf-8"))
    assert list(recorded) == list(gate.DATA["suite"])
    assert all(each["passed"] > 0 for each in recorded.values())
