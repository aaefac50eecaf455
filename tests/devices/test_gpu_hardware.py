"""`python -m benchmarks.gpu` without a GPU: it reports that nothing was run, runs on the simulated
driver without measuring, and tells failed stages from stages that were not run."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers.processes import python

from benchmarks import page
from benchmarks.environment import records
from benchmarks.gpu import __main__ as script
from benchmarks.gpu import report, stages
from benchmarks.gpu.stages import FAILED, NOT_RUN, PASSED, Stage

pytestmark = pytest.mark.not_repeated

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "benchmarks.gpu", *arguments, seconds=500, cwd=ROOT, **variables)


def recorded() -> set[str]:
    return {path.name for path in script.RESULTS.glob("*")}


def test_without_a_device_no_stage_runs(tmp_path: Path) -> None:
    before = recorded()
    done = run(REFARRAY_LIBCUDA=str(tmp_path / "libmissing.so"))
    assert done.returncode == report.NOTHING_RUN
    first, last = done.stdout.splitlines()
    assert first.startswith("no CUDA device: ") and "libmissing.so" in first
    assert last == "nothing was run"
    assert recorded() == before


@pytest.mark.not_sanitized("it builds and starts processes of its own")
def test_the_simulated_driver_runs_all_stages_unmeasured(tmp_path: Path) -> None:
    before = recorded()
    done = run("--simulated", "--out", str(tmp_path))
    assert done.returncode == report.ALL_PASSED, done.stdout + done.stderr
    assert done.stdout.startswith("SIMULATED: ")
    for name in ("refarray ", "driver by ctypes", "figures"):
        (line,) = [line for line in done.stdout.splitlines() if line.startswith(name)]
        assert "passed on the simulated driver" in line
    rows = [line.split("|")[1:] for line in done.stdout.splitlines() if line.startswith("| D")]
    assert len(rows) == 21
    assert all(cells[2].strip().startswith("ran") for cells in rows)
    exports = [cells for cells in rows if cells[0].startswith(" D1 ")]
    assert [cells[2].strip() for cells in exports] == ["ran, 0 driver calls"] * 2
    assert recorded() == before and list(tmp_path.iterdir()) == []


@pytest.mark.not_sanitized("it starts a process of its own")
def test_a_partner_that_does_not_wait_fails() -> None:
    """With the partner `careless`, which ignores stream order, the order tests must fail, and
    quickly even if CI is set, where pytest prints full diffs."""
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["--hardware=simulated", "--partner=careless", "--tb=no", "--color=no"]
    command += ["tests/devices/hardware"]
    done = python(*command, seconds=300, cwd=ROOT, CI="true")
    failed = {name for name in TESTS_OF_ORDER if f"FAILED {ORDER}::{name}" in done.stdout}
    output = f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == 1 and failed == TESTS_OF_ORDER, output


ORDER = "tests/devices/hardware/test_order.py"
TESTS_OF_ORDER = {
    "test_we_wait_for_what_they_write",
    "test_they_wait_for_what_we_write",
    "test_we_wait_for_the_stream_of_their_interface",
    "test_they_wait_for_the_stream_of_our_interface",
}


@pytest.mark.not_sanitized("its times are of no interest, and it compiles a library")
def test_the_figures_are_measured_and_checked(isolated: Any) -> None:
    assert isolated("gpu_figures.py") == "alive\n"


def test_the_four_exit_statuses() -> None:
    passed, failed, left = Stage("a", PASSED), Stage("b", FAILED, "why"), Stage("c", NOT_RUN, "no")
    assert report.exit_status([passed], {}) == 0
    assert report.exit_status([passed, failed, left], {"c": "no"}) == 1
    assert report.exit_status([left], {"c": "no"}) == 3
    assert report.exit_status([passed, left], {"c": "no"}) == 4


ROW: dict[str, Any] = {
    "id": "D6 32 8192", "kind": "gpu", "title": ".T float32 8192", "unit": "of the driver's copy",
    "ns": {"refarray": 200.0, "driver": 100.0},
    "ratios": {"refarray": 0.5, "torch": 0.25},
    "gb_per_s": {"refarray": 1.0, "driver": 2.0}, "refused": {"cupy": "why not"},
    "ours": 0.5, "target": ">= 0.93", "met": False,
}  # fmt: skip


def invented_run(tmp_path: Path) -> tuple[argparse.Namespace, dict[str, Any], list[Stage]]:
    """The options, record and stages of an invented run; its files go to `tmp_path`."""
    options = script.parser().parse_args(["--out", str(tmp_path), "--id", "made-up"])
    found = [
        Stage("refarray 0.1.0", PASSED, seconds=3, counts={"tests": 5, "failures": 0}),
        Stage("cudf", NOT_RUN, "ModuleNotFoundError: No module named 'cudf'"),
        Stage("figures", PASSED, counts={"rows": 1}),
    ]
    facts = {"device": "no device", "cuda_of_the_driver": "0.0"}
    left = {"absent": {"cupy": "ImportError: no"}, "not_run": {"D2": "no C++ compiler"}}
    figures = {"facts": facts, "rows": [ROW], **left}
    build = {"version": "0.1.0", "abi": "cp311", "compiler": "GNU"}
    record = script.make_record(options, build, found, figures)
    record["gpu"]["driver"] = "0"
    return options, record, found


def test_stages_not_run_are_printed_and_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, record, found = invented_run(tmp_path)
    assert script.conclude(options, record, found) == report.IN_PART
    output = capsys.readouterr().out
    assert "not run: cudf: ModuleNotFoundError" in output
    assert "not run: figures of cupy: ImportError: no" in output
    assert "not run: D2: no C++ compiler" in output
    assert output.splitlines()[-1] == (
        "everything that was run passed; not run: cudf, figures of cupy, D2"
    )
    assert "0 of 1 targets were met; missed: D6 32 8192" in output and "**missed**" in output
    kept, summary = sorted(tmp_path.iterdir())
    assert kept.name == f"{record['date']}-made-up.json"
    assert summary.name == f"{record['date']}-made-up.toml"
    again = json.loads(kept.read_text(encoding="utf-8"))
    assert again["rows"] == [ROW] and again["tests"]["cudf"]["status"] == NOT_RUN
    assert "cupy: why not" in output
    git = ["git", "hash-object", kept]
    hashed = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    assert records.read(summary)["raw"] == hashed


def test_docs_show_the_summary_of_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, record, _ = invented_run(tmp_path)
    record["gpu"]["memory_bytes"] = 80 << 30
    record["tests"]["refarray 0.1.0"]["risks"] = [("a risk", "nothing", "something")]
    records.write(tmp_path / "gpu-none.toml", "Made up.", report.summary(record, "f" * 40))
    monkeypatch.setattr(page, "SUMMARIES", tmp_path)
    text = page.devices()
    assert "### no device (80 GiB)\n\nDriver 0. Recorded" in text and "**missed**" in text
    assert report.table(record["rows"]) in text and "| a risk | nothing | something |" in text


def test_a_failure_is_printed_and_sets_the_exit_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, record, found = invented_run(tmp_path)
    found.append(Stage("torch 2", FAILED, "AssertionError: the old value"))
    assert script.conclude(options, record, found) == report.SOMETHING_FAILED
    assert "AssertionError: the old value" in capsys.readouterr().out


def test_a_missing_partner_is_not_run(tmp_path: Path) -> None:
    runner = stages.Runner(1, simulated=False, paths=[])
    for name in ("cudf", "cupy"):  # no wheel of them is installed where there is no GPU
        stage = stages.with_partner(runner, name, tmp_path)
        assert (stage.name, stage.status) == (name, NOT_RUN)
        assert stage.detail != ""


RAN = "everything that was run passed"


def test_missing_parts_are_given_up_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for named, status, last in (
        (
            ["cudf"],
            report.IN_PART,
            f"{RAN}; not run: figures of cupy, D2; given up by --without: cudf",
        ),
        (
            ["cudf", "figures", "D2"],
            report.ALL_PASSED,
            "everything passed; given up by --without: cudf, figures of cupy, D2",
        ),
    ):
        options, record, found = invented_run(tmp_path)
        options.without = named
        assert script.conclude(options, record, found) == status
        assert capsys.readouterr().out.splitlines()[-1] == last
        (kept,) = tmp_path.glob("*.json")
        assert set(json.loads(kept.read_text(encoding="utf-8"))["without"]) >= {"cudf"}


def test_only_missing_parts_can_be_given_up(tmp_path: Path) -> None:
    options, record, found = invented_run(tmp_path)
    options.without = ["torch"]  # it ran, or is misspelt
    with pytest.raises(SystemExit, match="--without 'torch': no such part is missing"):
        script.conclude(options, record, found)


RACES = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
HAZARD = "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"


@pytest.mark.parametrize(
    ("check", "says", "code", "status"),
    [
        ("memcheck", "========= ERROR SUMMARY: 0 errors", 0, PASSED),
        ("memcheck", "Invalid __global__ write\n========= ERROR SUMMARY: 1 error", 66, FAILED),
        ("memcheck", "1 failed\n========= ERROR SUMMARY: 0 errors", 1, FAILED),
        ("memcheck", "========= Error: Device not supported.", 255, NOT_RUN),
        ("memcheck", "Segmentation fault", 139, FAILED),
        ("racecheck", RACES, 0, PASSED),
        ("racecheck", HAZARD, 66, FAILED),
        ("racecheck", "========= ERROR SUMMARY: 0 errors", 0, FAILED),
        ("initcheck", "========= ERROR SUMMARY: 0 errors", 0, PASSED),
        ("initcheck", "Uninitialized __global__ memory read", 66, FAILED),
    ],
)
def test_results_of_the_sanitizers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    check: str,
    says: str,
    code: int,
    status: str,
) -> None:
    tool = tmp_path / "compute-sanitizer"
    wanted = f"test \"$1 $2\" = '--tool {check}' || exit 9"
    tool.write_text(f"#!/bin/sh\n{wanted}\necho '{says}'\nexit {code}\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    stage = stages.sanitized(stages.Runner(1, simulated=False, paths=[]), check)
    assert stage.name == f"compute-sanitizer {check}" and stage.status == status
    assert status == PASSED or says.splitlines()[-1] in stage.detail


def test_without_the_memory_checker_it_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages.shutil, "which", lambda *names, **more: None)
    for check in ("memcheck", "racecheck", "initcheck"):
        stage = stages.sanitized(stages.Runner(1, simulated=False, paths=[]), check)
        assert (stage.status, stage.detail) == (NOT_RUN, "neither on PATH nor in CUDA_HOME")


def test_no_stage_starts_after_the_time_limit(tmp_path: Path) -> None:
    runner = stages.Runner(0, simulated=False, paths=[])
    stage = stages.with_partner(runner, "driver", tmp_path)
    assert (stage.status, stage.detail) == (NOT_RUN, "out of time")
