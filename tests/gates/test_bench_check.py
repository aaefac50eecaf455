"""`make bench-check`: instruction counts over budget, below budget, and not comparable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import budget, instructions

pytestmark = pytest.mark.repository

BUDGET = {"cp311": {"versions": {"numpy": "2.4.6"}, "instructions": {"A1": 400.0, "A2": 900.0}}}


def judge(
    capsys: pytest.CaptureFixture[str], a1: float, a2: float, numpy: str = "2.4.6"
) -> tuple[bool, str]:
    counts = {"cp311": {"A1": a1, "A2": a2}}
    passed = budget.judge(BUDGET, {"cp311": {"numpy": numpy}}, counts)
    return passed, capsys.readouterr().out


def test_counts_up_to_one_percent_over_budget_pass(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert judge(capsys, 404.0, 900.0) == (True, "")
    passed, text = judge(capsys, 404.1, 900.0)
    assert not passed
    assert text == "cp311 A1: 404.1 instructions, budget 400.0 (+1.0%): over budget\n"


def test_counts_below_budget_pass_and_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    passed, text = judge(capsys, 380.0, 895.0)
    assert passed
    assert text.count("\n") == 1 and "A1" in text and "--update" in text


def test_other_partner_versions_are_not_comparable(capsys: pytest.CaptureFixture[str]) -> None:
    passed, text = judge(capsys, 400.0, 900.0, numpy="2.5.2")
    assert not passed
    assert "not comparable" in text and "numpy 2.4.6" in text and "numpy 2.5.2" in text


def test_a_build_or_case_without_a_budget_fails(capsys: pytest.CaptureFixture[str]) -> None:
    facts = {"numpy": "2.4.6"}
    assert not budget.judge(BUDGET, {"cp312": facts}, {"cp312": {"A1": 1.0}})
    assert not budget.judge(BUDGET, {"cp311": facts}, {"cp311": {"A1": 400.0}})
    more = {"A1": 400.0, "A2": 900.0, "A3": 1.0}
    assert not budget.judge(BUDGET, {"cp311": facts}, {"cp311": more})
    assert "A3: has no budget" in capsys.readouterr().out


def test_table_shows_the_cases_of_each_build() -> None:
    text = budget.table({"cp311": {"no-op": 200.0, "A1": 400.0}, "cp312": {"no-op": 220.0}})
    assert [line.split() for line in text.splitlines()] == [
        ["case", "cp311", "cp312"],
        ["no-op", "200.0", "1.00U", "220.0", "1.00U"],
        ["A1", "400.0", "2.00U"],
    ]


def test_committed_budget_covers_every_case_of_every_build() -> None:
    committed = json.loads(budget.BUDGET.read_text(encoding="utf-8"))
    assert committed.keys() == budget.BUILDS.keys()
    for abi, partners in budget.BUILDS.items():
        cases = {id_.split()[0] for id_ in committed[abi]["instructions"]} - {"no-op"}
        absent = set() if "torch" in partners else {"A4", "A7"}
        assert cases == set(instructions.COUNTED) - absent
        assert set(partners) <= committed[abi]["versions"].keys()


def test_totals_are_read_from_callgrinds_files(tmp_path: Path) -> None:
    """Only the instructions of refarray and of the interpreter are summed."""
    labels = [("before", 7), ("A8 kw 1000 0", 1500), ("A1 2000 2", 9)]
    for number, (label, total) in enumerate(labels):
        text = (
            f"# callgrind format\ndesc: Trigger: Client Request: {label}\nsummary: 99999\n"
            "ob=(1) /x/refarray/_native.abi3.so\nfl=(1) a.cpp\nfn=(1) f\n"
            f"3 {total - 3}\ncob=(2) /x/numpy/_core/_multiarray_umath.so\ncfn=(2) g\n"
            "calls=5 7\n+2 5000\nob=(2)\nfn=(2) g\n7 5000\n"
            "ob=(3) /x/libpython3.11.so.1.0\nfn=(3)\n* 2\nob=(1)\nfn=(1)\n-2 1\n"
            "totals: 99999\n"
        )
        (tmp_path / f"counts.{number}").write_text(text)
    assert instructions.read_totals(tmp_path) == {("A8 kw", 1000, 0): 1500, ("A1", 2000, 2): 9}
    with pytest.raises(SystemExit):
        instructions.read_totals(tmp_path / "nothing")
