"""Devices whose `data` is a handle (OpenCL, Vulkan, Metal, WebGPU): right and wrong partners for
each check, and refarray itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.cases import run_each
from mutants.consumer_malformed import (
    carries_devices_,
    own_add_offset,
    own_forget_offset,
    own_keep,
)
from mutants.producer_edge_cases import on_metal

import refarray as ra
from refarray.conformance import Outcome, _adversary, check, checks, give
from refarray.conformance.dlpack import HANDLES
from refarray.conformance.findings import Run
from refarray.conformance.harness.corpus import HANDLE
from refarray.conformance.profiles import RULES
from refarray.conformance.runner.engine import run_subject, select

pytestmark = pytest.mark.not_repeated

NEW = [each.name for each in checks(full=True) if each.rules == "2026.2" and not each.devices]
FINE = {Outcome.PASS, Outcome.NOT_APPLICABLE}


@pytest.fixture(autouse=True)
def subjects_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this file, and the mutants."""
    own = Path(__file__).resolve().parent
    monkeypatch.setenv("PYTHONPATH", f"{own}:{own.parent}", prepend=":")


def outcomes(run: Run) -> dict[str, Outcome]:
    """The outcome of each case. Fails if the subject could not be tried."""
    assert not run.broken and not run.dropped, (run.broken, run.dropped)
    return {found.name: found.outcome for found in run.findings}


def run_new(name: str) -> dict[str, Outcome]:
    return outcomes(run_subject(name, checks(ids=NEW), devices="none"))


def wrong(found: dict[str, Outcome]) -> set[str]:
    return {name for name, outcome in found.items() if outcome not in FINE}


# --- the checks


def test_the_cases_are_in_a_rule_set_of_their_own() -> None:
    """Who names the first set meets none of them."""
    assert RULES[:2] == ("2026.1", "2026.2")
    assert {each.partition("[")[0] for each in NEW} >= {"DEV-10", "DEV-13", "TENS-01", "LIFE-03"}
    assert not {each.name for each in select(full=True, rules="2026.1")} & set(NEW)
    assert set(NEW) <= {each.name for each in select(full=True)}
    for name in HANDLES.values():
        for way in ("handle", "bare-handle"):
            assert f"DEV-10[consumer-{way}-{name}]" in NEW
            assert f"TENS-01[consumer-{way}-{name}]" in NEW


def test_a_correct_producer_on_metal_passes_every_check() -> None:
    """Its handles fault when they are dereferenced, so no check does that."""
    every = [each for each in checks(full=True) if each.role == "producer" and not each.devices]
    found = outcomes(run_subject("mutants.producer_edge_cases:on_metal", every, devices="none"))
    assert not wrong(found)
    assert found["DEV-13[producer-slice]"] is Outcome.PASS
    assert found["TENS-18[producer-plain]"] is Outcome.PASS
    assert found["TENS-01[producer-first]"] is Outcome.NOT_APPLICABLE


@run_each("mutant", ["moveshandles", "forgetsoffsets"])
def test_a_producer_without_byte_offset_is_found(mutant: str) -> None:
    run = run_subject(f"mutants.producer_edge_cases:{mutant}", checks(ids=["DEV-13"]))
    (found,) = run.findings
    assert found.outcome is Outcome.WARN and found.level == "SHOULD" and not found.harm
    assert "byte_offset 0 on device (8, 0); of x data 0x1" in found.observed


def test_a_copied_slice_is_no_finding() -> None:
    (found,) = run_subject(f"{__name__}:COPIES", checks(ids=["DEV-13"])).findings
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert found.observed.startswith("a slice has memory of its own")


COPIES = replace(
    on_metal,
    name=f"{__name__}:COPIES",
    imports=f"{on_metal.imports}; "
    "Copies = type('Copies', (OnMetal,), {'__getitem__': "
    "lambda x, index: Copies(ra.copy(x.source[index]))})",
    arrays={"plain": "Copies(ra.arange(6, dtype=ra.float32))"},
    dtype="",
    ramp="",
    big="",
)


def test_a_consumer_that_carries_devices_passes() -> None:
    found = run_new(carries_devices_.name)
    assert not wrong(found)
    for name in HANDLES.values():
        for case in (f"DEV-10[consumer-handle-{name}]", f"TENS-01[consumer-handle-{name}]"):
            assert found[case] is Outcome.PASS
        assert found[f"LIFE-03[consumer-dev-10-handle-{name}]"] is Outcome.PASS
    for case in ("device2", "bare-device2", "device10"):
        assert found[f"DEV-07[consumer-{case}]"] is Outcome.NOT_APPLICABLE


@run_each(
    ("mutant", "broken"),
    [
        ("adds_offset_to_handle_", "DEV-10[consumer-handle-metal]"),
        ("takes_handle_for_address_", "DEV-10[consumer-handle-metal]"),
        ("forgets_offset_of_handle_", "TENS-01[consumer-handle-metal]"),
        (own_add_offset.name.partition(":")[2], "DEV-10[consumer-own-handle]"),
        (own_forget_offset.name.partition(":")[2], "TENS-01[consumer-own-handle]"),
    ],
)
def test_a_consumer_that_spoils_a_handle_is_found(mutant: str, broken: str) -> None:
    run = run_subject(f"mutants.consumer_malformed:{mutant}", checks(ids=NEW), devices="none")
    assert wrong(outcomes(run)) == {broken}
    (found,) = (each for each in run.findings if each.name == broken)
    assert found.outcome is Outcome.FAIL and found.harm == "wrong data"


def test_a_consumer_that_dereferences_a_handle_is_found() -> None:
    found = run_new("mutants.consumer_malformed:dereferences_device_handle_")
    assert wrong(found) == {"DEV-10[consumer-handle-metal]"}
    assert found["DEV-10[consumer-handle-metal]"] is Outcome.CRASH


def test_own_arrays_on_metal_come_back() -> None:
    found = run_new(own_keep.name)
    assert not wrong(found)
    assert found["DEV-10[consumer-own-handle]"] is Outcome.PASS
    assert found["TENS-01[consumer-own-handle]"] is Outcome.PASS


def test_a_made_up_handle_is_not_sent_to_who_has_real_ones() -> None:
    """Its runtime would look for the buffer."""
    name = f"{__name__}:OWNS_METAL"
    cases = ["DEV-10[consumer-handle-metal]", "DEV-10[consumer-device8]"]
    found = outcomes(run_subject(name, checks(ids=[*cases, "DEV-10[consumer-device7]"])))
    assert {found[case] for case in cases} == {Outcome.NOT_APPLICABLE}
    assert found["DEV-10[consumer-device7]"] is Outcome.PASS


OWNS_METAL = replace(
    own_keep,
    name=f"{__name__}:OWNS_METAL",
    arrays={"plain": "OnMetal(ra.arange(6, dtype=ra.float32))"},
)


# --- refarray


@pytest.mark.req("DEV-07", "DEV-10", "LIFE-03")
@run_each("kind", list(HANDLES))
def test_refarray_refuses_a_handle_and_deletes_it_once(kind: int) -> None:
    fields: dict[str, Any] = {"device": (kind, 0), "data": HANDLE, "byte_offset": 8}
    given = give(**fields)  # announces the device, so it is asked for no tensor
    with pytest.raises(BufferError, match=rf"device is \({kind}, 0\) = kDL\w+, which this process"):
        ra.from_dlpack(given)
    assert not given.tensors
    refusal = rf"device: \({kind}, 0\) = kDL\w+ is not memory that this process can use"
    given = give(**fields, dunder_device=(1, 0))
    with pytest.raises(BufferError, match=refusal):
        ra.from_dlpack(given)
    assert given.deleter_calls == len(given.tensors) == 1
    tensor = _adversary.make(**fields)
    with pytest.raises(BufferError, match=refusal):
        ra.from_capsule(tensor.capsule())
    assert tensor.deleter_calls == 1


def test_refarray_passes_the_new_cases() -> None:
    report = check("refarray", ids=NEW)
    assert {each.outcome for each in report.findings} == FINE
    passed = {each.name for each in report.findings if each.outcome is Outcome.PASS}
    assert {f"DEV-10[consumer-handle-{name}]" for name in HANDLES.values()} <= passed
