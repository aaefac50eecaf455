"""The conformance kit on devices: without the simulated drivers' race detection, as on a real
device, and on machines without devices."""

from __future__ import annotations

import pytest

from refarray.__main__ import main
from refarray.conformance import Outcome, checks
from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import run_subject
from refarray.conformance.subjects import devices

WRONG = {Outcome.FAIL, Outcome.WARN, Outcome.INFO, Outcome.CRASH, Outcome.HANG}


pytestmark = [
    pytest.mark.not_sanitized("the drivers and their processes are tested by make gpu-sim-tsan"),
    pytest.mark.not_repeated,
    pytest.mark.usefixtures("drivers_are_importable"),
]


def found(subject: str, *ids: str, where: str = "real") -> dict[str, Outcome]:
    """Requirement → the worst outcome of its cases that need a device."""
    chosen = [c for c in checks(full=True) if c.devices and (not ids or c.id in ids)]
    run = run_subject(subject, chosen, devices=where)
    assert not run.broken, run.broken
    out: dict[str, Outcome] = {}
    for each in run.findings:
        if each.outcome in WRONG or each.id not in out:
            out[each.id] = each.outcome
    return out


def test_a_correct_library_passes_without_race_detection() -> None:
    outcomes = found("mutants.as_real_devices:clean")
    assert not {name: o for name, o in outcomes.items() if o in WRONG}
    assert sum(each is Outcome.PASS for each in outcomes.values()) > 28


@pytest.mark.parametrize(
    ("mutant", "name"),
    [
        ("handleignored", "STRM-02"),
        ("noneisnosync", "STRM-06"),
        ("minusonesyncs", "STRM-04"),
        ("blockshost", "STRM-03"),
        ("copynotordered", "PROD-14"),
        ("todeviceignoresstream", "AAPI-04"),
        ("passes_minus_one_", "STRM-20"),
        ("deletes_before_work_ends_", "LIFE-26"),
    ],
)
def test_a_mutant_fails_without_race_detection(mutant: str, name: str) -> None:
    """The kit stops a stream and observes what waits for it, as it does on a real device."""
    assert found(f"mutants.as_real_devices:{mutant}", name)[name] in WRONG


def test_a_library_without_devices_starts_no_device_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modes: list[str] = []
    begin = engine.Worker.__init__

    def note(self: engine.Worker, subject: str, mode: str = "forks", where: str = "none") -> None:
        modes.append(mode)
        begin(self, subject, mode, where)

    monkeypatch.setattr(engine.Worker, "__init__", note)
    run = run_subject("mutants.producer_fields:clean", engine.select(ids=["STRM-06"]))
    assert [each.outcome for each in run.findings] == [Outcome.NOT_APPLICABLE]
    assert "has no arrays on devices that the kit knows of" in run.findings[0].observed
    assert modes == ["forks"]


def test_devices_none_skips_device_checks() -> None:
    run = run_subject("refarray", engine.select(ids=["STRM-06"]), devices="none")
    assert [each.observed for each in run.findings] == ["no devices were asked for"]


def test_a_machine_without_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """refarray supports both vendors, so only its process can find out that there is no driver."""
    for name in ("REFARRAY_LIBCUDA", "REFARRAY_LIBHIP"):
        monkeypatch.delenv(name, raising=False)
    run = run_subject("refarray", engine.select(ids=["STRM-06"]), devices="real")
    [only] = run.findings
    assert only.outcome is Outcome.PASS or "CUDA" in only.observed


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("gpu", "'gpu' is no choice of devices"),
        ("real:here", "'real:here' is no choice of devices"),
        ("simulated:/nowhere", "/nowhere contains no package fakegpu"),
    ],
)
def test_an_invalid_choice_of_devices(
    where: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "refarray", "--only", "STRM-06", "--devices", where]) == 2
    assert why in capsys.readouterr().err


def test_simulated_drivers_that_are_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    assert main(["check", "refarray", "--only", "STRM-06", "--devices", "simulated"]) == 2
    assert "pip install refarray-fakegpu" in capsys.readouterr().err
    assert devices.resolve("auto", devices.REFARRAY) == "real"


def test_drivers_are_compiled_before_imports_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a source tree fakegpu compiles its drivers at first use, which takes longer than the
    import timeout."""
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
