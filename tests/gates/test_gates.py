"""The gates `coverage`, `mcdc` and `trust`: reading the reports of gcovr and llvm-cov, reasons for
unreached lines and open conditions, results of other gates; the test files that gates name, and the
canaries."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.gate_loading import load_gate

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]

coverage, mcdc = load_gate("coverage"), load_gate("mcdc/__main__")


def line(number: int, count: int) -> dict[str, int]:
    return {"line_number": number, "count": count}


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """gcovr reports: line 1 is reached in one of two template instances, line 2 in none."""
    lines = [line(1, 0), line(1, 5), line(2, 0), line(2, 0), line(3, 1)]
    sums = {"line_covered": 2, "line_total": 3, "branch_covered": 1, "branch_total": 4}
    files = [{"file": "src/core/a.cpp", "lines": lines}]
    (tmp_path / "lines.json").write_text(json.dumps({"files": files}))
    (tmp_path / "sums.json").write_text(
        json.dumps({"files": [{"filename": "src/core/a.cpp", **sums}]})
    )
    source = tmp_path / "src" / "core" / "a.cpp"
    source.parent.mkdir(parents=True)
    source.write_text("int f() {\n  return 1;\n}\n")
    return tmp_path


def test_template_instances_are_merged(reports: Path) -> None:
    (found,) = coverage.read_counts(reports)
    assert (found.path, found.lines, found.branches) == ("src/core/a.cpp", (2, 3), (1, 4))
    assert found.missed == [2]


def test_table_sums_over_all_files(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, branches = coverage.table(coverage.read_counts(reports))
    assert (lines, branches) == (pytest.approx(200 / 3), 25.0)
    rows = [row.split() for row in capsys.readouterr().out.splitlines()]
    assert ["src/core", "3", "66.67%", "4", "25.00%"] in rows
    assert ["src/extension", "0", "100.00%", "0", "100.00%"] in rows
    assert ["all", "3", "66.67%", "4", "25.00%"] in rows


def test_lines_for_another_processor_are_known() -> None:
    text = ["a;", "#if defined(__AVX512VBMI__)", "b;", "c;", "#else", "d;", "#endif", "e;"]
    assert coverage.avx512_lines(text) == {3, 4}


def test_branches_of_kernels_are_not_counted() -> None:
    kernel = coverage.File("src/core/kernels/a.hpp", (1, 1), (0, 100), [])
    other = coverage.File("src/core/a.cpp", (0, 1), (9, 10), [1])
    assert coverage.table([kernel, other]) == (50.0, 90.0)


def test_unreached_line_without_a_reason_is_reported(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = coverage.read_counts(reports)
    assert coverage.explain(files, [], reports) == ["src/core/a.cpp:2: return 1;"]
    other = coverage.Left("src/core/b.cpp", "return 1;", "never")
    assert coverage.explain(files, [other], reports) == ["src/core/a.cpp:2: return 1;"]
    assert "reached now, or deleted: src/core/b.cpp: return 1;" in capsys.readouterr().out


def test_unreached_line_with_a_reason_is_printed_with_it(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not coverage.Left("src/core/a.cpp", "return", "too short").names("  return 1;")
    reason = coverage.Left("src/core/a.cpp", "return...", "f is unused")
    assert coverage.explain(coverage.read_counts(reports), [reason], reports) == []
    assert "src/core/a.cpp:2: return 1;\n      f is unused" in capsys.readouterr().out


def test_listed_lines_exist_in_the_sources() -> None:
    left = coverage.read_left(ROOT / "tests" / "gates" / "not_reached.toml")
    assert left
    for each in left:
        text = (ROOT / each.path).read_text(encoding="utf-8")
        assert any(map(each.names, text.splitlines())), each
        assert each.path.startswith(coverage.FOLDERS) and len(each.why) > 10


SOURCE = """bool f(int a, bool b) {
  return a > 0 &&  // positive
         (b || a == 2);
}
"""


@pytest.fixture
def measured(tmp_path: Path) -> dict[Any, bool]:
    """What is read of two template instances; the middle condition is shown in neither."""
    source = tmp_path / "src" / "dlpack" / "a.cpp"
    source.parent.mkdir(parents=True)
    source.write_text(SOURCE)
    records = [
        [[2, 10, 3, 23, 0, 5, covered]] for covered in ([True, False, False], [False, False, True])
    ]
    functions = [{"filenames": [str(source)], "mcdc_records": record} for record in records]
    found = mcdc.read_conditions({"data": [{"functions": functions}]}, tmp_path)
    assert isinstance(found, dict)
    return found


def test_conditions_are_those_of_any_template_instance(measured: dict[Any, bool]) -> None:
    texts = {each.text: shown for each, shown in measured.items()}
    assert texts == {"a > 0": True, "b": False, "a == 2": True}
    assert {each.decision for each in measured} == {"a > 0 && (b || a == 2)"}


def test_an_open_condition_needs_a_reason_and_a_reason_an_open_condition(
    measured: dict[Any, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    (problem,) = mcdc.explain(measured, [])
    assert "src/dlpack/a.cpp:2: `b` of `a > 0 && (b || a == 2)`" in problem
    reason = mcdc.Reason("src/dlpack/a.cpp", "a > 0 && (b || a == 2)", ("b",), "never")
    assert mcdc.explain(measured, [reason]) == []
    assert "never" in capsys.readouterr().out
    stale = mcdc.Reason(reason.path, reason.decision, ("a > 0",), "never")
    assert mcdc.explain(measured, [reason, stale]) == [
        "shown now, or deleted: src/dlpack/a.cpp: `a > 0` of `a > 0 && (b || a == 2)`"
    ]


def test_an_operator_that_clang_leaves_out_is_a_problem(
    measured: dict[Any, bool], tmp_path: Path
) -> None:
    assert mcdc.not_measured(measured, tmp_path) == []
    source = tmp_path / "src" / "dlpack" / "a.cpp"
    source.write_text(SOURCE + "bool g(bool a, bool b) { return !(a && b); }\n")
    (problem,) = mcdc.not_measured(measured, tmp_path)
    assert problem == "clang measures 2 of 3 operators && and || in src/dlpack/a.cpp"


def test_a_part_with_too_many_open_conditions_fails(measured: dict[Any, bool]) -> None:
    (problem,) = mcdc.table(measured)
    assert problem == "66.67 % of src/dlpack/* is shown, which is below 95.0 %"


def test_open_conditions_exist_in_the_sources() -> None:
    for each in mcdc.read_reasons(mcdc.OPEN):
        lines = (ROOT / each.path).read_text(encoding="utf-8").splitlines()
        assert each.decision in mcdc.joined(lines), each
        assert each.path.startswith(tuple(mcdc.PARTS)) and len(each.why) > 10
        assert set(each.open) <= set(mcdc.conditions_of(each.decision))


def test_other_gates_findings_count_until_a_source_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trust = load_gate("trust")
    monkeypatch.setattr(trust, "ROOT", tmp_path)
    for folder in ("src/core/copy", "include", "build/fuzz"):
        (tmp_path / folder).mkdir(parents=True)
    source, result = tmp_path / "src/core/copy/copy.cpp", tmp_path / "build/fuzz/thrown.json"
    source.touch()
    assert trust.print_other_gates() == 0
    result.write_text(json.dumps({"thrown": 7, "what": "inputs", "findings": 2}), encoding="utf-8")
    os.utime(source, (1000, 1000))
    os.utime(result, (2000, 2000))
    assert trust.print_other_gates() == 2
    os.utime(source, (3000, 3000))
    capsys.readouterr()
    assert trust.print_other_gates() == 0
    assert "older sources, not counted" in capsys.readouterr().out


@pytest.mark.parametrize(
    "files", [load_gate("freethreaded").NOT_HERE, load_gate("memcheck").FILES, mcdc.FILES]
)
def test_each_file_that_a_gate_names_is_found_once(files: tuple[str, ...]) -> None:
    assert all(mcdc.located(file).exists() for file in files)


def test_the_abi3_run_leaves_out_values_and_no_folder_of_the_extension() -> None:
    gate = load_gate("abi3")
    tests = gate.ROOT / "tests"
    assert all((tests / name).is_dir() for name in gate.ONCE)
    left = {path.relative_to(tests).as_posix() for path in gate.run_once()}
    assert {"compute/test_reductions.py", "fakegpu/test_rules.py"} <= left
    assert not {"compute/modes/test_strict.py", "gates/test_oom.py"} & left
    for path in tests.rglob("test_*.py"):  # it chooses whole files
        assert "\n@pytest.mark.every_python" not in path.read_text("utf-8"), path
    assert {path.partition("/")[0] for path in left} == set(gate.ONCE)
    assert not {"array", "dlpack", "interop", "ledger", "partners"} & set(gate.ONCE)
    assert all((tests / name).exists() and name not in left for name in gate.ON_OLDEST)


def test_the_abi3_run_takes_the_oldest_and_the_newest_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = load_gate("abi3")
    monkeypatch.setattr(gate, "PROBE", "import sys; print(sys.executable)")
    monkeypatch.setattr(
        gate, "candidates", lambda name: [sys.executable] * (name[-2:] in {"12", "13", "15"})
    )
    for own, expected in (
        ("3.11", ["3.12", "3.15"]),
        ("3.12", ["3.15"]),
        ("3.13", ["3.12", "3.15"]),
    ):
        monkeypatch.setattr(gate, "OWN", own)
        assert list(gate.interpreters()) == expected


canary = load_gate("canary")


@pytest.mark.parametrize("path", canary.canaries(), ids=lambda path: path.stem)
def test_every_canary_patch_applies(path: Path) -> None:
    """`make gate G=canary` runs them."""
    planted = canary.read(path)
    assert planted.bug and planted.expect.pattern
    assert planted.expect.search("") is None, "Expect matches any output"
    canary.plant(planted, canary.ROOT, only_check=True)
