"""The mutants of the GPU layer: each applies, each promise of the manual has one; what counts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from gates.device_mutants import HERE, ROOT, Mutant, load, read
from helpers.gate_loading import load_gate

LISTS = sorted(HERE.glob("*.toml"))
#: What a mutant may do: remove or change one of these.
KINDS = {
    *("capture", "context", "device", "event", "fork", "free", "gil", "load", "order", "record"),
    *("relax", "retain", "stream", "swap", "wait"),
}


@pytest.fixture(scope="module")
def gate() -> Any:
    return load_gate("gpu_mutants/__main__")


def test_every_mutant_applies() -> None:
    found = load()
    assert len(found) >= 150
    for mutant in found:
        assert mutant.apply() != (ROOT / mutant.source).read_text(encoding="utf-8"), mutant.name
        assert mutant.kind in KINDS, mutant.name


def test_the_files_that_come_first_exist() -> None:
    folder = ROOT / "tests" / "devices"
    names = {path.name for path in (*folder.glob("test_*.py"), *folder.glob("simulated/sim_*.py"))}
    for mutant in load():
        assert names >= set(mutant.first), mutant.name


def test_every_source_of_the_runtime_that_orders_work_has_mutants() -> None:
    mutated = {mutant.source for mutant in load()}
    folders = [ROOT / "src" / "runtime" / name for name in ("streams", "memory", "copy")]
    sources = {path.relative_to(ROOT).as_posix() for one in folders for path in one.glob("*.cpp")}
    pure = {f"src/runtime/copy/device_{name}.cpp" for name in ("plan", "launches")}
    assert sources - pure <= mutated


def test_each_promise_of_the_manual_has_a_mutant() -> None:
    page = " ".join((ROOT / "docs" / "gpu.md").read_text(encoding="utf-8").split())
    names = {mutant.name for mutant in load()}
    claims = tomllib.loads((HERE / "manual.toml").read_text(encoding="utf-8"))["claims"]
    assert len(claims) >= 60
    for claim, (words, mutant) in claims.items():
        assert words in page, claim
        assert mutant in names, claim


def listed(tmp_path: Path, rows: str, more: str = "") -> list[Mutant]:
    path = tmp_path / "some.toml"
    path.write_text(f'file = "a.cpp"\nfirst = []\nmutants = [{rows}]\n{more}', encoding="utf-8")
    return read(path)


def test_a_text_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("x; x;", encoding="utf-8")
    (mutant,) = listed(tmp_path, '["m", "wait", "x;", ""]')
    with pytest.raises(ValueError, match=re.escape("some:m: its text occurs 2 times in a.cpp")):
        mutant.apply(tmp_path)


def test_a_proof_needs_its_mutant(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape("no mutants ['other']")):
        listed(tmp_path, '["m", "wait", "x", "y"]', '[equivalent]\nother = "because"\n')


def some(name: str, equivalent: str = "") -> Mutant:
    return Mutant(name, "wait", "x", "y", "a.cpp", (), equivalent=equivalent)


@pytest.mark.parametrize(
    ("verdicts", "proofs", "status", "line"),
    [
        (["killed"] * 97 + ["survived"] * 3, 0, 0, "97 of 100 mutants killed, 97.0 %; 0 are equi"),
        (["killed"] * 96 + ["survived"] * 4, 0, 1, "96 of 100 mutants killed, 96.0 %"),
        (["killed"] * 97 + ["survived"] * 4, 1, 0, "97 of 100 mutants killed, 97.0 %; 1 are equi"),
        (["killed"] * 4, 1, 1, "killed in spite of a proof of equivalence: m3"),
        (["killed"] * 99 + ["error"], 0, 1, "not built: m99"),
    ],
)
def test_the_rate_decides(
    gate: Any,
    capsys: pytest.CaptureFixture[str],
    verdicts: list[str],
    proofs: int,
    status: int,
    line: str,
) -> None:
    last = len(verdicts) - proofs
    wanted = [some(f"m{i}", "proof" if i >= last else "") for i in range(len(verdicts))]
    results = {f"m{i}": {"verdict": verdict} for i, verdict in enumerate(verdicts)}
    assert gate.report(wanted, results) == status
    output = capsys.readouterr().out
    assert line in output
    assert output.count("NO PROOF") == sum(verdict != "killed" for verdict in verdicts[:last])


def test_only_kills_of_the_same_source_are_kept(
    gate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = load()[:3]
    monkeypatch.setattr(gate, "RESULTS", tmp_path / "results.jsonl")
    before = [
        {"name": wanted[0].name, "key": gate.key_of(wanted[0]), "verdict": "killed"},
        {"name": wanted[1].name, "key": "of another source", "verdict": "killed"},
        {"name": wanted[2].name, "key": gate.key_of(wanted[2]), "verdict": "survived"},
    ]
    lines = "".join(json.dumps(one) + "\n" for one in before)
    gate.RESULTS.write_text(lines, encoding="utf-8")
    ran: list[str] = []

    def again(mutant: Mutant, *_: object) -> dict[str, Any]:
        ran.append(mutant.name)
        return {"name": mutant.name, "key": "new", "verdict": "killed"}

    monkeypatch.setattr(gate, "run_mutant", again)
    list(gate.run(wanted, False, None, tmp_path, {}))
    assert ran == [wanted[1].name, wanted[2].name]
    assert gate.known()[wanted[2].name]["key"] == "new"


def test_the_table_of_scenarios_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "docs" / "gpu_scenarios.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0, "run tools/docs/gpu_scenarios.py"
    page = (ROOT / "docs" / "gpu-scenarios.md").read_text(encoding="utf-8")
    found = re.search(r"^(\d+) scenarios", page, re.MULTILINE)
    assert found and int(found[1]) >= 150
