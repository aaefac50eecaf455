"""TENS checks of a producer's arrays in unusual states: values that are not computed yet, arrays
without memory."""

from __future__ import annotations

from dataclasses import replace

from refarray.conformance.cases import WRONG_DATA, CheckResult, NotApplicable, add_harm, check_cases
from refarray.conformance.dlpack import HOST_READABLE
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


def export_state(producer: Producer, kind: str, way: str = "versioned") -> Export:
    """The export of an array in that state."""
    return producer.ask(producer.text(kind), **(VERSIONED if way == "versioned" else {}))


@check_cases(
    "TENS-01",
    {f"{way}-{kind}": (way, kind) for kind in PENDING for way in ("versioned", "legacy")},
    "{value[1]}: every element has the library's own value, or the export is refused",
)
def pending_values(producer: Producer, row: tuple[str, str]) -> CheckResult:
    way, kind = row
    name, triple = PENDING[kind]
    text, array = producer.own(kind)
    export = producer.export(text, array, **(VERSIONED if way == "versioned" else {}))
    if export.error is not None:
        return producer.make_result(True, export)
    if export["device"][0] not in HOST_READABLE:
        raise NotApplicable("its data cannot be read from the host")
    assert export.held is not None
    said = statement(producer.subject, producer.namespace, array, name)
    held, observed = Reading(export.held, said, triple).judge_values()
    return add_harm(producer.read_by_numpy(export, held, observed), WRONG_DATA)


@check_cases(
    "TENS-17",
    {f"no-memory-{kind}": kind for kind in WITHOUT_MEMORY},
    "{value}: an array without memory is refused",
    risky=True,
)
def no_memory(producer: Producer, kind: str) -> CheckResult:
    export = export_state(producer, kind)
    if export.held is None:
        return producer.make_result(export.error is not None, export)
    if memory.elements(tuple(export["shape"] or ())) == 0:
        raise NotApplicable("it exports no elements")
    try:
        memory.read(export.address, memory.width(tuple(export["dtype"])))
        what = "memory"
    except Unreadable as error:
        what = f"{error}"
    observed = f"exported with shape {tuple(export['shape'] or ())} at {export.address:#x}: {what}"
    if export.address:
        return add_harm(producer.make_result(False, export, observed, field="data"), WRONG_DATA)
    result = producer.read_bytes(export, False, observed, b"")
    return add_harm(replace(result, wrong="saw == 'NULL'"), WRONG_DATA)
