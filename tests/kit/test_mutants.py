"""The checks of the conformance kit: each mutant fails exactly its own requirement, and each check
can fail."""

from __future__ import annotations

import itertools
import re

import pytest
from helpers.processes import python
from mutants import exchange_table, producer_edge_cases
from mutants.__main__ import failures, load, run_mutant
from mutants.base import MUTANTS

from refarray.conformance import Outcome, check, checks
from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.exchange import Arrival
from refarray.conformance.harness.producer import Producer
from refarray.conformance.matrix import measure as matrix
from refarray.conformance.runner.engine import run_subject
from refarray.conformance.runner.worker import judge, probes_of
from refarray.conformance.subjects.libraries import REFARRAY

pytestmark = [pytest.mark.not_repeated, pytest.mark.usefixtures("drivers_are_importable")]

load()
#: The first of each module, and every 60th; `make gate G=mutants` runs all of them.
SAMPLE = [
    name
    for _, names in itertools.groupby(MUTANTS, lambda each: each.partition(":")[0])
    for name in list(names)[::60]
]
CLEAN = [
    "mutants.producer_edge_cases:every_kind",
    "mutants.producer_fields:clean",
    "mutants.consumer_negotiation:clean_",
    "mutants.exchange_table:clean",
    "mutants.producer_lifetime:freesatthreadend",
    "mutants.producer_lifetime:freesbycollection",
    "mutants.data.late_deleters:in_cycle_",
]


def test_every_requirement_with_a_check_has_a_mutant() -> None:
    assert len(MUTANTS) >= 410
    assert {each.id for each in checks(full=True)} == set(MUTANTS.values())


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
@pytest.mark.parametrize("mutant", SAMPLE)
def test_a_mutant_fails_only_its_own_requirement(mutant: str) -> None:
    run = run_mutant(mutant)
    assert not run.broken
    assert list(failures(run)) == [MUTANTS[mutant]], failures(run)


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
@pytest.mark.parametrize("name", CLEAN)
def test_a_correct_subject_passes(name: str) -> None:
    run = run_mutant(name)
    assert not run.broken and not failures(run), failures(run)
    assert sum(found.outcome is Outcome.PASS for found in run.findings) > 30


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
def test_refarray_passes() -> None:
    report = check("refarray", full=True)
    assert len(report.findings) > 400
    fine = {Outcome.PASS, Outcome.NOT_APPLICABLE}
    assert not [found for found in report.findings if found.outcome not in fine]


def test_one_finding_hides_no_other() -> None:
    run = run_subject(
        "mutants.data.producer_data:twofaults",
        [each for each in checks() if each.role == "producer"],
    )
    assert not run.broken
    found = {f.id for f in run.findings if f.outcome is Outcome.FAIL and "transposed" in f.case}
    assert found == {"TENS-01", "ABI-05"}


#: Pairs with a mutant on one side, and the outcome that the matrix has to report.
PAIRS = [
    ("refarray", "mutants.consumer_results:loses_transposition_", Arrival.WRONG),
    ("refarray", "mutants.consumer_negotiation:exports_read_only_as_writable_", Arrival.WRITABLE),
    ("refarray", "mutants.consumer_negotiation:copies_by_default_", Arrival.COPIED),
    ("mutants.producer_fields:refusesint16", "refarray", Arrival.REFUSED),
    ("mutants.producer_fields:clean", "refarray", Arrival.SHARED),
]


@pytest.mark.parametrize(("producer", "consumer", "arrival"), PAIRS)
def test_the_matrix_shows_the_mutant_of_a_pair(
    producer: str, consumer: str, arrival: Arrival
) -> None:
    cell = matrix.measure(producer, consumer)
    assert not cell.broken and cell.counts[arrival]
    others = set(cell.counts) - {arrival, Arrival.SHARED}
    assert not others, cell.text


#: Need a table, or an extension that supports sub-interpreters: some of the three subjects have
#: none.
LACKING = {"CAPI-01", "LIFE-25"}
#: Arrays that refarray refuses to export so (read-only data has no legacy struct and is not lent),
#: and imports of bare capsules and through the table of a foreign type, which refarray does not
#: use. The same functions are judged on the other arrays and ways.
FOR_OTHERS = re.compile(
    r"legacy-(readonly|broadcast)|dltensor-(readonly|broadcast)|consumer-(table|bare)-"
    # States that no array of these subjects can have: their mutants are the test.
    r"|CAPI-31\[exchange-api-(?!unexportable)|CAPI-11\[exchange-api-class-(?!unexportable)"
    r"|CAPI-14\[exchange-api-pending-|FLAG-02.*-immutable"
    r"|COPY-0[256]\[consumer-(across|second-device)"
    # Arrays on devices whose data is a handle.
    r"|DEV-13|DEV-10\[consumer-own-handle"
)


@pytest.mark.not_sanitized("looks at the memory of a process, and ASAN keeps what is freed")
def test_every_check_fails_when_its_verdict_is_inverted() -> None:
    """Runs in this process on three correct subjects. A check that passes must fail once its
    verdict is inverted, and every check must apply to one of the subjects. Checks that end the
    process are covered by their mutants only."""
    selected = [c for c in checks(full=True) if not (c.part_of or c.exits or c.devices)]
    silent, judged = [], set()
    for subject in (REFARRAY, producer_edge_cases.every_kind, exchange_table.clean):
        producer = Producer(subject)
        probes = probes_of(producer, Consumer(producer.subject, producer.namespace))
        for each in selected:
            result = judge(each, probes.get(each.role, producer), invert=True)
            if result["held"] is False:
                judged.add(each.name)
            elif result["held"] is True and each.id not in LACKING:
                silent.append(each.name)
            silent += [name for name, part in result["parts"].items() if part["held"] is True]
    assert not silent
    elsewhere = {each.name for each in selected if FOR_OTHERS.search(each.name)}
    assert {each.name for each in selected} - judged <= elsewhere


@pytest.mark.not_sanitized("simulated drivers have a gate of their own: make gpu-sim-tsan")
def test_every_device_check_fails_when_its_verdict_is_inverted() -> None:
    """Runs on refarray in another process, which loads the simulated drivers."""
    done = python("-m", "mutants.inverted_device_checks")
    assert done.returncode == 0, done.stdout + done.stderr
    expected = [each.name for each in checks(full=True) if each.devices]
    assert len(expected) > 60 and done.stdout.split() == expected


def test_not_applicable_names_what_is_missing() -> None:
    report = check("refarray", ids=["TENS-11"])
    assert [f.outcome for f in report.findings] == [Outcome.NOT_APPLICABLE]
    assert "no such arrays" in report.findings[0].observed
    assert issubclass(NotApplicable, Exception)
