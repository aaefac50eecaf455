"""The benchmarks' figures, summaries and tables, and that every group runs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks import __main__ as script
from benchmarks import copies, measure, ops, page
from benchmarks.environment import records
from benchmarks.measure import OURS, Absent, Case, Statement, Target

pytestmark = pytest.mark.repository


def test_a_slow_first_execution_does_not_choose_the_count() -> None:
    class Warming:
        """Takes 10 us the first time, and 100 ns then."""

        executions = 0

        def timeit(self, number: int) -> float:
            first, self.executions = self.executions == 0, self.executions + number
            return 100.0 * number + (10_000 if first else 0)

    assert measure.calibrated(Warming(), 35_000) == 350


def test_contenders_take_turns_for_the_least_number_of_rounds() -> None:
    order: list[str] = []
    found = {n: Statement("f(n)", {"f": order.append, "n": n}).timer() for n in ("a", "b", "c")}
    times = measure.interleaved(found, 0.0, 3)
    assert [len(values) for values in times.values()] == [3, 3, 3]
    turns = [name for n, name in enumerate(order) if n == 0 or name != order[n - 1]]
    assert "".join(turns).endswith("abcbcacab"[1:])  # the first ends the calibration of c


def test_a_slow_contender_is_timed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "SLOW_NS", 0)
    times = measure.interleaved({"slow": Statement("pass", {}).timer()}, 0.0, 7)
    assert len(times["slow"]) == 2 and min(times["slow"]) > 0


def test_figures_are_relative_to_the_fastest_contender_named() -> None:
    ns = {OURS: 30.0, "numpy": 20.0, "torch": 10.0, "no-op": 5.0}
    assert Case("A1", "").figures(ns) == {OURS: 6.0, "numpy": 4.0, "torch": 2.0}
    of_peers = Case("C2 add", "", by=("numpy", "torch"))
    assert of_peers.figures(ns) == {OURS: 3.0, "numpy": 2.0, "torch": 1.0}
    with pytest.raises(Absent):
        Case("C10 abs", "", by=("array_api_strict",)).figures(ns)


@pytest.mark.parametrize(
    ("target", "limit", "met", "text"),
    [
        (Target(2.6), 2.6, False, "≤ 2.6"),
        (Target(0.75, "numpy"), 3.0, True, "≤ 0.75 x numpy"),
        (Target(3.0, "np.__dlpack__", above=True), None, None, "≤ np.__dlpack__ + 3 U"),
        (Target(1.0, "numpy", above=True), 5.0, True, "≤ numpy + 1 U"),
        (Target(1.6, least=True), 1.6, True, "≥ 1.6"),
    ],
)
def test_targets(target: Target, limit: float | None, met: bool | None, text: str) -> None:
    figures = {OURS: 2.8, "numpy": 4.0}
    assert (target.at(figures), target.met(figures), target.describe()) == (limit, met, text)
    assert Case("A1", "", (target,)).missed(figures) == (met is False)


def test_rows_are_derived_of_others() -> None:
    of = {case.id: {"memcpy": 1.0, OURS: 2.0, "numpy": 4.0} for case in copies.permutations()}
    of |= {"B1 64M": {"memcpy": 9.0, OURS: 4.0}, "B15 new": {"memcpy": 9.0, OURS: 6.0}}
    found = copies.summarised(of)
    assert found == {"B14": {OURS: pytest.approx(2.0), "numpy": pytest.approx(4.0)},
                     "B15": {OURS: 1.5}}  # fmt: skip
    row = {OURS: 2.0, "numpy": 4.0, ops.STRICT: 100.0, ops.OUR_STRICT: 3.0, "no-op": 2.0}
    small = {case.id: row for case in ops.cases() if case.given and case.given.of_call}
    small = {id_: {name: row[name] for name in row if id_.startswith("C10") or name != ops.STRICT}
             for id_, row in small.items()}  # fmt: skip
    found = ops.summarised(small)
    assert found["C10"][OURS] == pytest.approx(0.02)
    assert found["C15 mean"] == {OURS: pytest.approx(0.03), ops.STRICT: pytest.approx(1.0)}
    assert found["C15 above"] == found["C15 slice"] == {OURS: pytest.approx(0.5)}


def test_ids_choose_cases() -> None:
    assert measure.is_wanted("A1 0-d", ["A1"]) and measure.is_wanted("A12 copy", ["A"])
    assert not measure.is_wanted("A12 copy", ["A1"]) and measure.is_wanted("B2 512", [])


@pytest.mark.parametrize("group", page.GROUPS)
def test_ids_are_unique_and_survive_a_file(group: str, tmp_path: Path) -> None:
    ids = [case.id for case in page.cases(group)]
    assert len(set(ids)) == len(ids)
    figures: dict[str, dict[str, float]] = {id_: {OURS: 1.0} for id_ in ids}
    figures[ids[0]] = {OURS: 2.0, "numpy.from_dlpack(own)": 0.25}
    path = tmp_path / "summary.toml"
    records.write(path, "Made up.", {"figures": page.folded(figures)})
    assert page.unfolded(records.read(path)["figures"]) == figures


def test_summaries_are_short_and_name_their_raw_results() -> None:
    found = list(page.SUMMARIES.glob("*.toml"))
    assert {path.stem.partition("-")[0] for path in found} == {*page.GROUPS, "gpu"}
    for path in found:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 70, path
        if path.stem.startswith(("exchange", "copies", "ops", "gpu")):  # of others it has all
            assert len(records.read(path)["raw"]) == 40


@pytest.mark.parametrize("group", page.GROUPS)
def test_every_case_with_a_figure_has_a_line(group: str) -> None:
    summary = page.summaries(group)[-1]
    lines = page.rows(group, summary["figures"]).splitlines()[2:]
    of = page.shown(group, summary["figures"])
    assert [line.split(" | ")[0] for line in lines] == [f"| {case.id}" for case in of] != []
    assert summary["commit"] in page.origin(summary)
    missed = sum(case.missed(summary["figures"][case.id]) for case in of)
    assert sum("**missed**" in line for line in lines) == missed


def test_each_processor_has_a_column() -> None:
    text = page.processors()
    for group in ("exchange", "copies", "ops"):
        named = [each["cpu"] for each in page.summaries(group)]
        assert len(named) >= 2 and all(f"| {name}, 2" in text for name in named)
    assert math.isclose(float(page.relative("copies", {OURS: 2.0, "numpy": 4.0})[-5:-1]), 0.5)


def test_names_are_code_in_a_table() -> None:
    case = Case("A5", "from_dlpack(np)", (Target(3.0, "np.__dlpack__", above=True),))
    assert page.verdicts(case, {OURS: 9.0, "np.__dlpack__": 4.0}) == (
        "≤ `np.__dlpack__` + 3 U: **missed**"
    )


def test_a_peer_that_raises_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = {OURS: Statement("f()", {"f": list}), "peer": Statement("f()", {"f": ord})}
    assert list(script.runnable(found)) == [OURS]
    assert "peer: TypeError" in capsys.readouterr().err
    with pytest.raises(TypeError):
        script.runnable({OURS: found["peer"]})


def test_a_part_of_a_group_is_not_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "exchange", "--cases", "A1", "--save"])
    with pytest.raises(SystemExit, match="2"):
        script.main()
    assert "a summary is of a whole group" in capsys.readouterr().err
