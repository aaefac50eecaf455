"""LIFE checks of a producer's capsules: their names and their destructors."""

from __future__ import annotations

from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, check, check_cases, subject_code
from refarray.conformance.harness.producer import ABSENT, Producer
from refarray.conformance.suite.exports import (
    Taken,
    host_export,
    intact_result,
    report_taken,
    take_plain,
)


@check_cases(
    "LIFE-06",
    {"name-default": ABSENT, "name-asked": (1, 3)},
    "the capsule is named after its struct: dltensor, or dltensor_versioned of major version 1",
)
def capsule_name(producer: Producer, max_version: Any) -> CheckResult:
    export = producer.ask(producer.text(), max_version=max_version)
    if export.error is not None:
        return producer.make_result(isinstance(export.error, BufferError), export)
    held = export.held is not None and (not export.versioned or export["version"][0] == 1)
    return producer.make_result(held, export)


@check("LIFE-07", "name", "the capsule's name is a static string: the same for every capsule")
def capsule_name_is_static(producer: Producer) -> CheckResult:
    first, second = (host_export(producer) for _ in range(2))
    places = [_adversary.inspect(each.capsule)["name_address"] for each in (first, second)]
    observed = f"{places[0]:#x} and {places[1]:#x}"
    return report_taken(producer, places[0] == places[1], first, observed)


def drop_capsule_then_tensor(producer: Producer, it: Taken) -> CheckResult:
    """Drops the capsule of a taken export: its tensor must stay valid."""
    it.drop_capsule()
    held = it.intact
    it.owned.drop()
    return intact_result(producer, held, it.export)


@check(
    "LIFE-09",
    "used",
    "the destructor of a capsule with the used name does not touch the tensor",
    risky=True,
)
def used_capsule_is_dropped(producer: Producer) -> CheckResult:
    return drop_capsule_then_tensor(producer, take_plain(producer))


@check(
    "LIFE-09",
    "foreign",
    "the destructor of a capsule with a foreign name does not crash",
    risky=True,
)
def foreign_capsule_is_dropped(producer: Producer) -> CheckResult:
    it = take_plain(producer, rename=False)
    _adversary.rename(it.export.capsule, "foo")
    return drop_capsule_then_tensor(producer, it)


@check(
    "LIFE-11", "clears", "a consumer may clear the destructor and rename the capsule", risky=True
)
def consumer_clears_destructor_and_renames(producer: Producer) -> CheckResult:
    return drop_capsule_then_tensor(
        producer, take_plain(producer, rename=True, clear_destructor=True)
    )


@check("LIFE-11", "only-clears", "a consumer may clear the destructor only", risky=True)
def consumer_only_clears_destructor(producer: Producer) -> CheckResult:
    return drop_capsule_then_tensor(
        producer, take_plain(producer, rename=False, clear_destructor=True)
    )


@check(
    "LIFE-14",
    "pending",
    "a capsule destroyed while an exception is pending leaves the exception unchanged",
    risky=True,
)
def destructor_keeps_pending_exception(producer: Producer) -> CheckResult:
    kind = "strided" if "strided" in producer.subject.arrays else "plain"
    export = host_export(producer, text=producer.text(kind))
    error = ValueError("pending")
    capsules = [export.capsule]
    export.capsule = None
    left = _adversary.drop_pending(capsules, error)
    with subject_code():
        observed = f"pending afterwards: {left!r}"
    return report_taken(producer, left is error, export, observed)
