"""The runner of the official array API suite: what breaks the ratchet, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.gate_loading import load_gate

gate = load_gate("array_api_tests")
REPORT = {
    "collectors": [
        {"nodeid": "tests/test_b.py", "outcome": "failed"},
        {"nodeid": "tests/test_a.py", "outcome": "passed"},
    ],
    "tests": [
        {"nodeid": "tests/test_a.py::test_1", "outcome": "passed"},
        {"nodeid": "tests/test_a.py::test_2", "outcome": "failed"},
        {"nodeid": "tests/test_a.py::test_3", "outcome": "skipped"},
    ],
}


def test_outcomes_list_every_id_and_every_file_that_cannot_be_collected() -> None:
    assert gate.outcomes(REPORT) == {
        "tests/test_b.py": "not collected",
        "tests/test_a.py::test_1": "passed",
        "tests/test_a.py::test_2": "failed",
        "tests/test_a.py::test_3": "skipped",
    }


def test_every_id_must_pass_but_the_recorded_ones() -> None:
    results = gate.outcomes(REPORT)
    left = ["tests/test_b.py", "tests/test_a.py::test_2", "tests/test_a.py::test_3"]
    assert gate.judge(results, {"passed": 1, "not_passing": left}, False) == []
    assert gate.judge(results, {"passed": 1, "not_passing": left[:1]}, False) == [
        "failed, but must pass: tests/test_a.py::test_2",
        "skipped, but must pass: tests/test_a.py::test_3",
    ]
    more = {"passed": 2, "not_passing": left}
    missing = "1 ids pass, 2 must: some were not collected"
    assert gate.judge(results, more, False) == [missing]
    assert gate.judge(results, more, True) == []


def test_ids_of_an_earlier_version_must_not_fail() -> None:
    results = gate.outcomes(REPORT)
    failed = ["tests/test_b.py", "tests/test_a.py::test_2"]
    assert gate.judge_other(results, "2023.12", None) == failed
    later = dict.fromkeys(gate.ASK_FOR_LATER, "failed")
    assert gate.judge_other({**results, **later}, "2022.12", None) == failed
    assert gate.judge_other(later, "2023.12", None) == list(gate.ASK_FOR_LATER)


def test_the_ratchet_is_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    monkeypatch.setattr(gate, "RATCHET", tmp_path / "suite.toml")
    results = gate.outcomes(REPORT)
    gate.write_ratchet(results)
    known = gate.records.read(tmp_path / "suite.toml")
    assert known["passed"] == 1 and known["not_passing"] == sorted(known["not_passing"])
    assert len(known["not_passing"]) == 3 and gate.judge(results, known, False) == []


def test_the_recorded_ids_are_few() -> None:
    known = gate.records.read(gate.RATCHET)
    assert known["passed"] > 1000 and len(known["not_passing"]) < 10


def test_folders_that_are_no_suite_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no checkout of array-api-tests"):
        gate.check_suite(tmp_path)
    (tmp_path / "array_api_tests").mkdir()
    (tmp_path / "array_api_tests" / "stubs.py").touch()
    with pytest.raises(SystemExit, match="has no stubs of 2025.12"):
        gate.check_suite(tmp_path)
    (tmp_path / "array-api" / "src" / "array_api_stubs" / "_2025_12").mkdir(parents=True)
    gate.check_suite(tmp_path)
    with pytest.raises(SystemExit, match="has no stubs of 2023.12"):
        gate.check_suite(tmp_path, "2023.12")


def test_a_suite_inside_the_repository_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "suite"
    (inside / "array_api_tests").mkdir(parents=True)
    (inside / "array_api_tests" / "stubs.py").touch()
    (inside / "array-api" / "src" / "array_api_stubs" / "_2025_12").mkdir(parents=True)
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="inside the repository"):
        gate.check_suite(inside)


def test_arguments_after_two_dashes_go_to_pytest() -> None:
    given = gate.parse(["folder", "--write", "--", "-k", "add", "file.py"])
    assert (given.suite, given.write) == (Path("folder"), True)
    assert given.pytest == ["-k", "add", "file.py"]
