"""The manual's page of benchmark figures is generated from benchmarks/results and up to date."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from benchmarks import pages
from benchmarks.pages import exchange, records
from benchmarks.pages.plots import Plot, digest_in

OUTDATED = "outdated: run `make bench-docs`"


@pytest.fixture(scope="module")
def made() -> list[records.Section]:
    return pages.sections(pages.load())


def test_page_is_up_to_date(made: list[records.Section]) -> None:
    assert pages.PAGE.read_text(encoding="utf-8") == pages.page(made), OUTDATED


def test_plots_are_up_to_date(made: list[records.Section]) -> None:
    expected = {name: plot.digest for name, plot in pages.plots(made).items()}
    there = {path.name: digest_in(path) for path in pages.IMAGES.glob("bench-*.svg")}
    assert there == expected, OUTDATED


def test_changed_figure_changes_page_and_plot() -> None:
    found = pages.load()
    (before,) = [exchange.section(found)]
    changed = copy.deepcopy(found)
    for record in changed:
        for row in record["rows"]:
            if row["id"] == "A1":
                row["units"]["value"] *= 1.1
    after = exchange.section(changed)
    assert after.markdown != before.markdown
    assert after.plots[exchange.IMAGE].digest != before.plots[exchange.IMAGE].digest


def test_relative_targets_are_converted_to_units() -> None:
    row = {
        "id": "A5",
        "title": "from_dlpack(np)",
        "units": {"value": 8.0},
        "peers": {
            "np.__dlpack__": {"ratio_to_ours": {"value": 0.5}},
            "numpy.from_dlpack": {"ratio_to_ours": {"value": 2.0}},
            "jax": {"refused": "TypeError"},
        },
        "targets": [
            {"target": "<= np.__dlpack__ + 3 U", "met": False},
            {"target": "<= 0.75 x numpy.from_dlpack", "met": True},
        ],
    }
    point = exchange.points(row)
    assert point["limit"] == 7.0  # 4 + 3, less than 0.75 x 16
    assert point["others"] == {"np.__dlpack__": 4.0, "numpy.from_dlpack": 16.0}
    assert records.verdicts(row) == (
        "≤ `np.__dlpack__` + 3 U: **missed**; ≤ 0.75 x numpy.from_dlpack: met"
    )


def test_newest_record_is_chosen_by_date_and_time(tmp_path: Path) -> None:
    for name, time in (("a", "10:00"), ("b", "09:00"), ("c", None)):
        record = {"date": "2026-11-21", "id": name, "rows": []} | ({"time": time} if time else {})
        (tmp_path / f"{name}.json").write_text(json.dumps(record))
    found = records.load(tmp_path)
    assert [record["id"] for record in found] == ["c", "b", "a"]
    newest = records.newest(found, lambda record: record["id"] != "a")
    assert newest is not None and newest["id"] == "b"


def test_plot_without_a_digest_is_outdated(tmp_path: Path) -> None:
    path = tmp_path / "bench-x.svg"
    path.write_text("<svg/>")
    assert digest_in(path) is None
    plot = Plot([1, 2], draw=lambda axes, data: None)
    path.write_text(f"<svg><!-- data sha256:{plot.digest} --></svg>")
    assert digest_in(path) == plot.digest != Plot([1, 3], draw=plot.draw).digest
