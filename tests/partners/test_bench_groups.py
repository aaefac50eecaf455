"""The groups of the benchmarks run beside NumPy; their figures are not looked at."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from helpers.processes import python

from benchmarks import __main__ as script
from benchmarks import exchange, page
from benchmarks.environment import UNWANTED, load, records
from benchmarks.measure import OURS, Absent

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.numpy, pytest.mark.repository]


def run(*arguments: str) -> str:
    done = python("-m", "benchmarks", *arguments, seconds=600, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.not_sanitized("its times are of no interest, and it compiles a library")
@pytest.mark.parametrize(
    ("group", "cases", "ids"),
    [
        ("exchange", "A1,A5,A12,A16 class", ["A1", "A5 8-d", "A12 legacy", "A16 class"]),
        ("copies", "B1,B13,B15", ["B1 256K", "B13 u8", "B15"]),
        ("ops", "C1,C14 64 qr", ["C1 slice", "C14 64 qr"]),
        ("growth", "Gsize add 10,Gaxes", ["Gsize add 10", "Gaxes add 16"]),
        ("shared", "F", ["F1", "F2", "F3", "F4"]),
        ("footprint", "E1,E4", ["E1", "E1 modules", "E4 A3"]),
    ],
)
def test_a_group_runs(group: str, cases: str, ids: list[str]) -> None:
    options = [group, "--cases", cases, "--partners", "numpy", "--seconds", "0", "--figures"]
    printed = dict(line.rsplit(" ", 1) for line in run(*options).splitlines())
    assert set(ids) <= printed.keys()
    # A single round may be shorter than the empty loop, whose time is taken off.
    assert all(math.isfinite(float(figure)) for figure in printed.values())


def test_statements_of_every_exchange_are_made() -> None:
    environment = load(("numpy",))
    setup = exchange.Setup(environment)
    made, absent = {}, {}
    for case in exchange.cases():
        try:
            made[case.id] = setup.statements(case)
        except Absent as why:
            absent[case.id] = str(why)
    assert {"A1", "A5 4-d", "A6", "A12 copy", "A16 slots"} <= made.keys()
    assert all(OURS in statements for statements in made.values())
    assert {"A4", "A7", "A16 jax"} <= absent.keys() and set(absent.values()) == {UNWANTED}


def test_a_run_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyperf")
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(page, "SUMMARIES", tmp_path)
    monkeypatch.setattr(records, "keep", lambda name, raw: kept.setdefault(name, raw) and "f" * 40)
    given = ["exchange", "--cases", "A1,A9", "--seconds", "0"]
    environment, options = load(("numpy",)), script.parser().parse_args(given)
    found = script.measure(exchange, environment, options)
    script.save("exchange", environment, *found, before=0.0)
    (summary,) = page.summaries("exchange")
    assert summary["raw"] == "f" * 40 and "A9" in summary["figures"] and summary["unit_ns"] > 0
    assert page.rows("exchange", summary["figures"]).count("\n| A1") == 5
    (raw,) = kept.values()
    names = [each["metadata"]["name"] for each in json.loads(raw)["benchmarks"]]
    assert "A9: refarray" in names and b"hostname" not in raw
