"""Arrays in unusual states: values that are not computed yet, arrays without memory, data that the
struct cannot describe, frozen memory, and a second device."""

from __future__ import annotations

from dataclasses import replace

from refarray.conformance.cases import WRONG_DATA, CheckResult, NotApplicable, check_cases, harmed
from refarray.conformance.dlpack import HOST_READABLE, READ_ONLY
from refarray.conformance.harness import memory
from refarray.conformance.harness.memory import Unreadable
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.harness.statement import statement
from refarray.conformance.suite.reading import Reading

PENDING: dict[str, tuple[str, memory.Dtype]] = {
    "conjugate": ("complex64", (5, 64, 1)),
    "negative": ("float32", (2, 32, 1)),
}
"""Arrays whose values differ from their memory → their dtype."""
WITHOUT_MEMORY = ("meta", "fake", "functional", "wrapper", "zeros", "freed", "traced")
"""Arrays that have no memory to export."""
CANNOT_BE_DESCRIBED = (
    *("quantized", "nested", "sparse-rows", "sharded", "object", "text", "time", "records"),
    *("long-double", "nulls", "bits", "gradient"),
)
"""Data that no DLTensor describes, or that the library does not export."""


def exported_state(producer: Producer, kind: str, way: str = "versioned") -> Export:
    """The export of an array in that state."""
    return producer.ask(producer.text(kind), **(VERSIONED if way == "versioned" else {}))


@check_cases(
    "TENS-01",
    "producer",
    {f"{way}-{kind}": (way, kind) for kind in PENDING for way in ("versioned", "legacy")},
    "{value[1]}: every element has the library's own value, or the export is refused",
)
def pending_values(producer: Producer, row: tuple[str, str]) -> CheckResult:
    way, kind = row
    name, triple = PENDING[kind]
    text = producer.text(kind)
    array = producer.make(text)
    export = producer.export(text, array, **(VERSIONED if way == "versioned" else {}))
    if export.error is not None:
        return producer.seen(True, export)
    if export["device"][0] not in HOST_READABLE:
        raise NotApplicable("its data cannot be read from the host")
    assert export.held is not None
    said = statement(producer.subject, producer.namespace, array, name)
    held, observed = Reading(export.held, said, triple).judge_values()
    return harmed(producer.read_by_numpy(export, held, observed), WRONG_DATA)


@check_cases(
    "TENS-17",
    "producer",
    {f"no-memory-{kind}": kind for kind in WITHOUT_MEMORY},
    "{value}: an array without memory is refused",
    risky=True,
)
def no_memory(producer: Producer, kind: str) -> CheckResult:
    export = exported_state(producer, kind)
    if export.held is None:
        return producer.seen(export.error is not None, export)
    if memory.elements(tuple(export["shape"] or ())) == 0:
        raise NotApplicable("it exports no elements")
    try:
        memory.read(export.address, memory.width(tuple(export["dtype"])))
        what = "memory"
    except Unreadable as error:
        what = f"{error}"
    observed = f"exported with shape {tuple(export['shape'] or ())} at {export.address:#x}: {what}"
    if export.address:
        return harmed(producer.seen(False, export, observed, field="data"), WRONG_DATA)
    result = producer.read_bytes(export, False, observed, b"")
    return harmed(replace(result, wrong="saw == 'NULL'"), WRONG_DATA)


@check_cases(
    "PROD-04",
    "producer",
    {f"state-{kind}": kind for kind in (*CANNOT_BE_DESCRIBED, *WITHOUT_MEMORY[:4])},
    "{value}: what cannot be exported is a BufferError",
)
def class_of_refusal(producer: Producer, kind: str) -> CheckResult:
    export = exported_state(producer, kind)
    if export.error is None and kind in WITHOUT_MEMORY:
        raise NotApplicable("it is exported: TENS-17 judges that")
    return producer.seen(isinstance(export.error, BufferError), export)


@check_cases(
    "PROD-04",
    "producer",
    {"state-masked": "masked"},
    "masked values are refused: a DLTensor has no mask",
    level="HAZARD",  # the texts know no masks
)
def mask_is_not_dropped(producer: Producer, kind: str) -> CheckResult:
    export = exported_state(producer, kind)
    return producer.seen(export.error is not None, export)


@check_cases(
    "FLAG-02",
    "producer",
    {"frozen": "frozen", "immutable": "plain"},
    "memory that nobody may write is exported as READ_ONLY, or refused",
)
def frozen_memory_is_read_only(producer: Producer, kind: str) -> CheckResult:
    if kind == "plain" and not producer.subject.immutable:
        raise NotApplicable("its arrays may be written")
    text = producer.text(kind)
    array = producer.make(text)
    export, again = (producer.export(text, array, **VERSIONED) for _ in range(2))
    if export.error is not None:
        return producer.seen(isinstance(export.error, BufferError), export)
    if export.address != again.address:
        raise NotApplicable("its exports are copies: TENS-18 judges that")
    held = bool(export.flags & READ_ONLY)
    return producer.seen(held, export, f"flags {export.flags}", field="flags")


@check_cases(
    "DEV-02",
    "producer",
    {"second-device": "second-device"},
    "device_id is 0 for host memory, on whatever device the library counts it",
)
def host_memory_of_second_device(producer: Producer, kind: str) -> CheckResult:
    export = producer.export(producer.text(kind), **VERSIONED)
    if export.error is not None:
        raise NotApplicable(f"{export.call} raised {export}")
    device, number = export["device"]
    if device not in HOST_READABLE:
        raise NotApplicable(f"it lies on device type {device}")
    return producer.seen(number == 0, export, f"device ({device}, {number})", field="device_id")


@check_cases(
    "DEV-03",
    "producer",
    {"second-device": "second-device"},
    "the struct's device equals __dlpack_device__()",
)
def second_device_is_announced(producer: Producer, kind: str) -> CheckResult:
    text = producer.text(kind)
    array = producer.make(text)
    export = producer.export(text, array, **VERSIONED)
    announced, found = producer.device(array), tuple(export["device"])
    observed = f"__dlpack_device__() {announced}, struct {found}"
    return producer.seen(announced == found, export, observed, field="device_type")
