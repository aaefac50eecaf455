"""One cause is one finding, and what the kit does itself is none."""

from __future__ import annotations

import ctypes

import pytest
from helpers import one_cause

from refarray.conformance import Outcome
from refarray.conformance.cases import NotApplicable, is_raised_by_subject, subject_code
from refarray.conformance.findings import Finding
from refarray.conformance.harness import memory
from refarray.conformance.harness.producer import Producer
from refarray.conformance.report.totals import totals
from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import run_subject
from refarray.conformance.subjects.lookup import subject
from refarray.conformance.suite.producer.tensors_read import export_state

pytestmark = [pytest.mark.not_repeated, pytest.mark.usefixtures("mutants_are_importable")]


def failures(name: str, *ids: str) -> list[Finding]:
    checks = engine.select(ids=ids)
    run = run_subject(f"helpers.one_cause:{name}", checks, devices="none")
    assert not run.dropped and not [f for f in run.findings if f.outcome is Outcome.ERROR]
    return [found for found in run.findings if found.outcome.failed]


def test_a_device_without_an_id_is_one_finding() -> None:
    """The kit's own int(None) is none: 120 of 175 failures of Paddle were that."""
    found = failures("no_id", "DEV", "ABI", "TENS-01", "PROD-06", "COPY")
    assert [each.name for each in found] == ["DEV-01[producer-pair]"]


def test_findings_of_one_line_have_one_cause() -> None:
    found = failures("fails", "PROD", "COPY-05", "AAPI-02")
    raised = [each for each in found if "RuntimeError" in each.observed]
    assert len({each.id for each in raised}) >= 3
    (first, *rest) = [each for each in raised if not each.same_as]
    assert not rest and first.name in {each.same_as for each in raised}
    assert all("one_cause.py:" in each.origin for each in raised)
    sums = totals(found)
    assert sums.broken - sums.repeated <= 3


def test_values_that_tolist_cannot_show_accuse_nobody() -> None:
    assert not failures("bits", "TENS-01", "DTYPE", "TENS-18", "PROD-11", "FLAG")


def test_whose_exception_it_is() -> None:
    """That of a function of the kit which a block of the subject's code calls is the kit's."""
    with pytest.raises(TypeError) as kit, subject_code():
        memory.width(None)  # type: ignore[arg-type]
    assert not is_raised_by_subject(kit.value)
    with pytest.raises(memory.Unreadable) as evidence, subject_code():
        memory.read(8, 1)
    assert is_raised_by_subject(evidence.value)
    with pytest.raises(ValueError) as other, subject_code():
        int("x")
    assert is_raised_by_subject(other.value)
    assert Producer.device(one_cause.Array(one_cause.ra.zeros(1))) == (1, 0)


def test_a_long_double_is_unusual_where_it_is_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows and on macOS for arm64 it is a double, which DLPack describes."""
    producer = Producer(subject("numpy"))
    export_state(producer, "long-double")
    monkeypatch.setattr(ctypes, "c_longdouble", ctypes.c_double)
    with pytest.raises(NotApplicable, match="a long double is a double"):
        export_state(producer, "long-double")
