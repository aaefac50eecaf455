"""The matrix of producers and consumers: its cells and reports, and pairs that crash or hang."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refarray.__main__ import main
from refarray.conformance.harness.exchange import Arrival, Exchange
from refarray.conformance.matrix import measure as matrix
from refarray.conformance.matrix.measure import Cell, measure
from refarray.conformance.report import grid

pytestmark = [pytest.mark.not_repeated, pytest.mark.usefixtures("mutants_are_importable")]


@pytest.mark.not_sanitized("ASAN answers a SIGSEGV itself, and aborts")
def test_a_pair_continues_after_a_crash() -> None:
    """Two of the producer's arrays crash when NumPy asks for version 1.0; the others are
    measured."""
    cell = measure("mutants.misbehaving:crashes_numpy", "numpy")
    arrivals = {each.case: each.arrival for each in cell.exchanges}
    assert arrivals == {
        "plain": Arrival.SHARED,
        "strided": Arrival.CRASHED,
        "reversed": Arrival.SHARED,
        "scalar": Arrival.CRASHED,
    }
    crash = next(each for each in cell.exchanges if each.case == "strided")
    assert crash.observed.startswith("SIGSEGV") and "np.from_dlpack" in crash.repro
    assert cell.failed and not cell.broken and cell.text == "2/4 2X!"


def test_a_pair_continues_after_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "SECONDS", 2.0)
    cell = measure("mutants.misbehaving:hangs_in_device", "refarray")
    assert [each.arrival for each in cell.exchanges] == [Arrival.HUNG, Arrival.SHARED]
    assert cell.failed


@pytest.mark.parametrize("name", ["missing", "stopping", "dying"])
def test_a_library_that_fails_to_import_is_reported(name: str) -> None:
    cell = measure(f"mutants.misbehaving:{name}", "refarray")
    assert cell.broken and not cell.failed and cell.text == "not tried"


def row() -> list[Cell]:
    """A row whose first cell has every outcome."""
    each = [Exchange("a", "b", what, what, "seen | so", "import a") for what in Arrival]
    return [
        Cell("refarray", "refarray", ("1", "1"), each),
        Cell("refarray", "torch", ("1", "2"), [], "no module named <torch>"),
    ]


def test_markdown_and_page_agree() -> None:
    rows = [row(), [Cell("torch", "refarray", ("2", "1")), Cell("torch", "torch", ("2", "2"))]]
    text = grid.write_markdown(rows)
    assert "| **refarray 1** | 1/8 1c 1r 1w! 1W! 1X! 1H! 1? | not tried |" in text
    assert "seen \\| so" in text and "no module named <torch>" in text
    page = grid.page(rows)
    assert 'href="#refarray-torch"' in page and 'id="refarray-torch"' in page
    assert "&lt;torch&gt;" in page and "@EXTRA@" not in page and "://" not in page
    assert all(f">{what}<" in page for what in Arrival)


def test_findings_of_a_matrix() -> None:
    found = {f["case"]: f for f in grid.document([row()])["findings"]}
    assert found["crashed"]["outcome"] == "crash" and found["hung"]["outcome"] == "hang"
    assert found["wrong"]["outcome"] == "warn" and found["shared"]["outcome"] == "pass"
    assert found["refused"]["outcome"] == "not-applicable"
    sticky = Exchange("a", "b", "readonly", Arrival.WRITABLE, "", "")
    for consumer, outcome in (("numpy", "warn"), ("torch", "pass")):
        (each,) = grid.document([[Cell("refarray", consumer, ("", ""), [sticky])]])["findings"]
        assert each["outcome"] == outcome


def test_the_command_writes_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = {form: tmp_path / form for form in ("html", "json", "markdown")}
    options = [word for form, path in paths.items() for word in ("--report", f"{form}={path}")]
    assert main(["matrix", "refarray", *options]) == 0
    assert "producer \\ consumer  refarray" in capsys.readouterr().out
    assert json.loads(paths["json"].read_text())["pairs"][0]["producer"] == "refarray"
    assert paths["html"].read_text().startswith("<!doctype html>")
    assert paths["markdown"].read_text().startswith("| producer")
    assert main(["matrix", "refarray", "--report", "junit=x"]) == 2
    assert "the forms are json, html, markdown" in capsys.readouterr().err
    assert main(["matrix", "no_such_module"]) == 3
