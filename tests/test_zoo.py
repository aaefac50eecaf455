"""The checks of the conformance kit: each catches what breaks its requirement, and can fail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from zoo.__main__ import caught, load, tried  # noqa: E402
from zoo.base import ANIMALS  # noqa: E402

from refarray.conformance import Outcome, check, checks  # noqa: E402
from refarray.conformance.cases import NotApplicable  # noqa: E402

load()
#: Some of each kind; `make zoo` tries every one.
SAMPLE = [name for number, name in enumerate(ANIMALS) if number % 9 == 0]


@pytest.fixture(autouse=True)
def animals_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=":")


def test_there_are_enough_animals() -> None:
    assert len(ANIMALS) >= 60
    assert len(set(ANIMALS.values())) >= 50


@pytest.mark.parametrize("animal", SAMPLE)
def test_an_animal_is_caught_by_its_own_requirement(animal: str) -> None:
    run = tried(animal)
    assert not run.broken
    assert list(caught(run)) == [ANIMALS[animal]], caught(run)


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
def test_refarray_has_no_findings() -> None:
    report = check("refarray", full=True)
    assert len(report.findings) > 400
    fine = {Outcome.PASS, Outcome.NOT_APPLICABLE}
    assert not [found for found in report.findings if found.outcome not in fine]


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
def test_every_check_fails_when_its_judgement_is_inverted() -> None:
    """On refarray, in this process: what held is reported once the judgement is turned round."""
    from refarray.conformance.consumer import Consumer
    from refarray.conformance.producer import Producer
    from refarray.conformance.subjects import REFARRAY
    from refarray.conformance.worker import judge

    producer = Producer(REFARRAY)
    probes: dict[str, Any] = {"consumer": Consumer(REFARRAY, producer.namespace)}
    silent = []
    for each in checks(full=True):
        if each.part_of:
            continue
        told = judge(each, probes.get(each.role, producer), invert=True)
        if told["held"] is True or (told["second"] or {}).get("held") is True:
            silent.append(each.name)
    assert not silent


def test_not_applicable_says_what_is_lacking() -> None:
    report = check("refarray", ids=["TENS-11"])
    assert [f.outcome for f in report.findings] == [Outcome.NOT_APPLICABLE]
    assert "no such arrays" in report.findings[0].observed
    assert issubclass(NotApplicable, Exception)
