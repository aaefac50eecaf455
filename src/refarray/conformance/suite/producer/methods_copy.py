"""PROD checks of a producer: the keyword copy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refarray.conformance.cases import CheckResult, check, check_cases
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.producer import VERSIONED, Producer
from refarray.conformance.requirements import Level
from refarray.conformance.suite.exports import export_kind
from refarray.conformance.suite.on_devices import (
    check_on_devices,
    export_for,
    handle_of,
    is_copied_on,
)


def copy_is_new_memory(
    producer: Producer, keywords: dict[str, Any], refusal: Level | None = None
) -> CheckResult:
    """`refusal`: the level at which a BufferError is judged."""
    text, array = producer.own()
    plain = producer.export(text, array, **keywords).require()
    copy = producer.export(text, array, copy=True, **keywords)
    if copy.error is not None:
        refused = isinstance(copy.error, BufferError)
        return replace(producer.make_result(False, copy), level=refusal if refused else None)
    held = plain.address != copy.address
    observed = "its own memory" if held else "the array's own memory"
    return producer.make_result(held, copy, observed, beside=plain)


@check("PROD-11", "versioned", "copy=True gives memory of its own")
def copy_true(producer: Producer) -> CheckResult:
    return copy_is_new_memory(producer, VERSIONED)


@check_cases(
    "PROD-16",
    {"legacy": {}, "legacy-asked": {"max_version": (0, 8)}},
    "copy=True gives memory of its own",
    same_as="PROD-11[producer-versioned]",
)
def copy_true_legacy(producer: Producer, keywords: dict[str, Any]) -> CheckResult:
    # A copy has to be flagged, and the legacy struct has no flags: a producer may refuse.
    return copy_is_new_memory(producer, keywords, refusal=Level.DISPUTED)


@check_cases(
    "PROD-12",
    ("plain", "strided", "transposed"),
    "copy=False gives the array's own memory, or BufferError",
)
def copy_false(producer: Producer, kind: str) -> CheckResult:
    text, array = producer.own(kind)
    export_kind(producer, kind)  # NotApplicable if this kind cannot be exported at all
    export, again = (producer.export(text, array, copy=False, **VERSIONED) for _ in range(2))
    if export.error is not None:
        return producer.make_result(isinstance(export.error, BufferError), export)
    plain = producer.export(text, array, **VERSIONED)
    held = export.address in {plain.address, again.address}
    return producer.make_result(
        held, export, "the same memory" if held else "other memory", beside=plain
    )


@check("PROD-13", "none", "copy=None shares memory that can be shared")
def copy_none(producer: Producer) -> CheckResult:
    text, array = producer.own()
    first = producer.export(text, array, copy=None, **VERSIONED)
    if first.error is not None:
        return producer.make_result(False, first)
    second = producer.export(text, array, copy=None, **VERSIONED)
    observed = f"{first.address:#x} and {second.address:#x}"
    return producer.make_result(first.address == second.address, first, observed, beside=second)


@check_on_devices("PROD-14", "copy", "copy=True copies in the stream that is passed")
def copy_in_stream(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    array = fixture.array()
    source = export_for(producer, fixture, array, -1)
    stream = fixture.foreign()
    held, observed = is_copied_on(
        fixture,
        stream,
        source.address,
        lambda: export_for(producer, fixture, array, stream, copy=True),
    )
    call = f"c = x.__dlpack__(stream={handle_of(fixture)}, copy=True, max_version=(1, 3))"
    return CheckResult(held, observed, fixture.repro_pending(call))


MALFORMED: dict[str, Any] = {"one": 1, "text": "no", "list": []}


@check_cases("PROD-15", MALFORMED, "copy={value!r} is a TypeError or a ValueError")
def malformed_copy(producer: Producer, copy: Any) -> CheckResult:
    export = producer.export(producer.text(), copy=copy, **VERSIONED)
    return producer.make_result(isinstance(export.error, TypeError | ValueError), export)
