"""The checks of the conformance kit: each catches what breaks its requirement, and can fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parents[1]
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from mutants import edges, tables  # noqa: E402
from mutants.__main__ import caught, load, tried  # noqa: E402
from mutants.base import ANIMALS  # noqa: E402

from refarray.conformance import Outcome, check, checks  # noqa: E402
from refarray.conformance.cases import Check, NotApplicable  # noqa: E402
from refarray.conformance.matrix import grid as matrix  # noqa: E402
from refarray.conformance.matrix.exchange import Arrival  # noqa: E402

load()
#: Some of each kind; `make zoo` tries every one.
SAMPLE = [name for number, name in enumerate(ANIMALS) if number % 12 == 0]
CLEAN = [
    "mutants.edges:complete",
    "mutants.producers:clean",
    "mutants.consumers:clean_",
    "mutants.tables:clean",
]


@pytest.fixture(autouse=True)
def animals_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{HERE}:{HERE / 'fakegpu'}", prepend=":")


def test_every_requirement_with_a_check_has_an_animal() -> None:
    assert len(ANIMALS) >= 180
    assert {each.id for each in checks(full=True)} == set(ANIMALS.values())


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
@pytest.mark.parametrize("animal", SAMPLE)
def test_an_animal_is_caught_by_its_own_requirement(animal: str) -> None:
    run = tried(animal)
    assert not run.broken
    assert list(caught(run)) == [ANIMALS[animal]], caught(run)


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_subject_has_no_findings(name: str) -> None:
    run = tried(name)
    assert not run.broken and not caught(run), caught(run)
    assert sum(found.outcome is Outcome.PASS for found in run.findings) > 30


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
def test_refarray_has_no_findings() -> None:
    report = check("refarray", full=True)
    assert len(report.findings) > 400
    fine = {Outcome.PASS, Outcome.NOT_APPLICABLE}
    assert not [found for found in report.findings if found.outcome not in fine]


#: Pairs of which one side is an animal, and what the matrix has to show.
PAIRS = [
    ("refarray", "mutants.guests:forgets_axes_", Arrival.WRONG),
    ("refarray", "mutants.consumers:launders_", Arrival.WRITABLE),
    ("refarray", "mutants.consumers:always_copies_", Arrival.COPIED),
    ("mutants.producers:noshorts", "refarray", Arrival.REFUSED),
    ("mutants.producers:clean", "refarray", Arrival.SHARED),
]


@pytest.mark.parametrize(("producer", "consumer", "arrival"), PAIRS)
def test_a_pair_with_an_animal_is_seen_in_the_matrix(
    producer: str, consumer: str, arrival: Arrival
) -> None:
    cell = matrix.measure(producer, consumer)
    assert not cell.broken and cell.counts[arrival]
    others = set(cell.counts) - {arrival, Arrival.SHARED}
    assert not others, cell.text


def inverted(each: Check, probe: Any) -> dict[str, Any]:
    from refarray.conformance.runner.worker import judge

    return judge(each, probe, invert=True)


#: What not every one of the three subjects has: a table; an extension for 3.12's sub-interpreters.
LACKING = {"CAPI-01", "LIFE-25"}


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
def test_every_check_fails_when_its_judgement_is_inverted() -> None:
    """On subjects that break nothing, in this process: what held is reported once the judgement is
    turned round, and of no check it can be said that it was never asked. Those that end the
    process are left to their animal."""
    from refarray.conformance.harness.consumer import Consumer
    from refarray.conformance.harness.producer import Producer
    from refarray.conformance.runner.worker import probes_of
    from refarray.conformance.subjects.subject import REFARRAY

    asked = [c for c in checks(full=True) if not (c.part_of or c.exits or c.devices)]
    silent, judged = [], set()
    for subject in (REFARRAY, edges.complete, tables.clean):
        producer = Producer(subject)
        probes = probes_of(producer, Consumer(subject, producer.namespace))
        for each in asked:
            told = inverted(each, probes.get(each.role, producer))
            if told["held"] is False:
                judged.add(each.name)
            elif told["held"] is True and each.id not in LACKING:
                silent.append(each.name)
            if (told["second"] or {}).get("held") is True:
                silent.append(f"the second part of {each.name}")
    assert not silent
    assert {each.name for each in asked} == judged


@pytest.mark.not_sanitized("simulated drivers have a gate of their own: make gpu-sim-tsan")
def test_every_check_on_devices_fails_when_its_judgement_is_inverted() -> None:
    """On refarray's arrays, in a process of their own: it is the one that has the drivers."""
    command = [sys.executable, "-m", "mutants.inverted"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = [each.name for each in checks(full=True) if each.devices]
    assert len(asked) > 60 and done.stdout.split() == asked


def test_not_applicable_says_what_is_lacking() -> None:
    report = check("refarray", ids=["TENS-11"])
    assert [f.outcome for f in report.findings] == [Outcome.NOT_APPLICABLE]
    assert "no such arrays" in report.findings[0].observed
    assert issubclass(NotApplicable, Exception)
