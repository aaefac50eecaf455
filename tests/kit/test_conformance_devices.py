"""The conformance kit on devices: without the simulated drivers' proof, as on a real device, and
where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from refarray.__main__ import main
from refarray.conformance import Outcome, checks
from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import run_subject
from refarray.conformance.subjects import devices

HERE = Path(__file__).resolve().parents[1]
WRONG = {Outcome.FAIL, Outcome.WARN, Outcome.INFO, Outcome.CRASH, Outcome.HANG}


pytestmark = pytest.mark.not_sanitized(
    "the drivers and their processes are tried by make gpu-sim-tsan"
)


@pytest.fixture(autouse=True)
def animals_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{HERE}:{HERE / 'fakegpu'}", prepend=":")


def found(subject: str, *ids: str, where: str = "real") -> dict[str, Outcome]:
    """The worst of each requirement's cases that need a device."""
    chosen = [c for c in checks(full=True) if c.devices and (not ids or c.id in ids)]
    run = run_subject(subject, chosen, devices=where)
    assert not run.broken, run.broken
    out: dict[str, Outcome] = {}
    for each in run.findings:
        if each.outcome in WRONG or each.id not in out:
            out[each.id] = each.outcome
    return out


def test_a_clean_library_has_no_findings_without_the_proof() -> None:
    outcomes = found("mutants.machine:clean")
    assert not {name: o for name, o in outcomes.items() if o in WRONG}
    assert sum(each is Outcome.PASS for each in outcomes.values()) > 28


@pytest.mark.parametrize(
    ("animal", "name"),
    [
        ("handle_ignored", "STRM-02"),
        ("none_is_nothing", "STRM-06"),
        ("minus_one_waits", "STRM-04"),
        ("host_waits", "STRM-03"),
        ("copies_before", "PROD-14"),
        ("moves_anywhere", "AAPI-04"),
        ("never_waits", "STRM-20"),
        ("deletes_at_once", "LIFE-26"),
    ],
)
def test_an_animal_is_caught_without_the_proof(animal: str, name: str) -> None:
    """By what a stopped stream shows: the same that can be seen of a real device."""
    assert found(f"mutants.machine:{animal}", name)[name] in WRONG


def test_a_library_without_devices_needs_no_process_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modes: list[str] = []
    begin = engine.Worker.__init__

    def note(self: engine.Worker, subject: str, mode: str = "forks", where: str = "none") -> None:
        modes.append(mode)
        begin(self, subject, mode, where)

    monkeypatch.setattr(engine.Worker, "__init__", note)
    run = run_subject("mutants.producers:clean", engine.selected(ids=["STRM-06"]))
    assert [each.outcome for each in run.findings] == [Outcome.NOT_APPLICABLE]
    assert "has no arrays on devices that the kit knows of" in run.findings[0].observed
    assert modes == ["forks"]


def test_none_were_asked_for() -> None:
    run = run_subject("refarray", engine.selected(ids=["STRM-06"]), devices="none")
    assert [each.observed for each in run.findings] == ["no devices were asked for"]


def test_a_machine_without_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """refarray may use any: only its own process finds out that there is none."""
    for name in ("REFARRAY_LIBCUDA", "REFARRAY_LIBHIP"):
        monkeypatch.delenv(name, raising=False)
    run = run_subject("refarray", engine.selected(ids=["STRM-06"]), devices="real")
    [only] = run.findings
    assert only.outcome is Outcome.PASS or "CUDA" in only.observed


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("gpu", "'gpu' is no choice of devices"),
        ("real:here", "'real:here' is no choice of devices"),
        ("simulated:/nowhere", "/nowhere holds no package fakegpu"),
    ],
)
def test_a_choice_that_is_none(where: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "refarray", "--only", "STRM-06", "--devices", where]) == 3
    assert why in capsys.readouterr().err


def test_simulated_drivers_that_are_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    assert main(["check", "refarray", "--only", "STRM-06", "--devices", "simulated"]) == 3
    assert "pip install refarray-fakegpu" in capsys.readouterr().err
    assert devices.resolved("auto", devices.REFARRAY) == "real"


def test_drivers_are_compiled_before_anything_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source tree's fakegpu compiles them at first use, for longer than an import may."""
    begun: list[tuple[str, str]] = []

    def note(command: list[str], *, env: dict[str, str], **_: object) -> None:
        begun.append((command[-1], env["PYTHONPATH"].split(":")[0]))

    monkeypatch.setattr(devices.subprocess, "run", note)
    for where in ("none", "real"):
        devices.prepare(where)
    assert not begun
    devices.prepare("simulated:/somewhere")
    [(script, folder)] = begun
    assert "fakegpu.Drivers.here()" in script and folder == "/somewhere"
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    devices.prepare("auto")
    assert len(begun) == 1
