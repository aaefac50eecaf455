"""One exchange between two libraries: compares the exported tensor with the imported array."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from refarray.conformance.cases import NotApplicable, describe_error
from refarray.conformance.dlpack import READ_ONLY
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Export, Producer
from refarray.conformance.harness.reasons import find_reason
from refarray.conformance.subjects.subject import UNUSUAL


class Arrival(StrEnum):
    """The outcome of one exchange."""

    SHARED = "shared"
    COPIED = "copied"
    REFUSED = "refused"
    WRONG = "wrong"
    """Shape or dtype differ from the exported tensor."""
    WRITABLE = "writable"
    """Read-only data was imported as writable."""
    UNKNOWN = "unknown"
    """Imported, but the array cannot be inspected."""
    CRASHED = "crashed"
    """The process died."""
    HUNG = "hung"
    """The exchange exceeded its timeout."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One array from a producer to a consumer."""

    producer: str
    consumer: str
    case: str
    arrival: Arrival
    observed: str
    repro: str


class Pair:
    """Two subjects in one process."""

    def __init__(self, producer: Producer, consumer: Consumer) -> None:
        self.producer = producer
        self.consumer = consumer

    def repro(self, text: str) -> str:
        """The exchange as Python code."""
        imports = dict.fromkeys([self.producer.subject.imports, self.consumer.subject.imports])
        return "\n".join([*imports, f"print({self.consumer.subject.from_dlpack.format(text)})"])

    def exchange(self, case: str, text: str, read_only: bool = False) -> Exchange:
        """Sends the array that an expression makes. NotApplicable if the expression raises."""
        array = self.producer.make(text)
        exported = self.producer.export(text, array, max_version=(1, 3))
        if exported.error is not None:
            exported = self.producer.export(text, array)
        found = self.consumer.take(array)
        if found.error is not None:
            arrival, observed = Arrival.REFUSED, describe_error(found.error)
        else:
            try:
                arrival, observed = compare(exported, found.read_fields(), read_only)
            except NotApplicable as reason:
                arrival, observed = Arrival.UNKNOWN, str(reason)
        if exported.held is not None and arrival in {Arrival.COPIED, Arrival.REFUSED}:
            why = find_reason(self.consumer, exported.held, arrival)
            observed = f"{observed}; {why}" if why else observed
        names = (self.producer.subject.name, self.consumer.subject.name)
        return Exchange(*names, case, arrival, observed, self.repro(text))


def compare(exported: Export, imported: dict[str, Any], read_only: bool) -> tuple[Arrival, str]:
    """The outcome of an import, and the observation that shows it."""
    if exported.held is None:
        return Arrival.UNKNOWN, f"the producer cannot be inspected: {exported}"
    for field in ("dtype", "shape"):
        if tuple(exported[field] or ()) != tuple(imported[field] or ()):
            return Arrival.WRONG, f"{field} {exported[field]} exported, {imported[field]} imported"
    address = int(imported["data"]) + int(imported["byte_offset"])
    empty = 0 in tuple(imported["shape"] or ())
    if address != exported.address and not empty:
        return Arrival.COPIED, f"from {exported.address:#x} to {address:#x}"
    if read_only and imported.get("flags") is not None and not imported["flags"] & READ_ONLY:
        return Arrival.WRITABLE, "shared, and exported again without READ_ONLY"
    return Arrival.SHARED, f"shape {imported['shape']}, strides {imported['strides']}"


def cases(producer: Producer) -> list[tuple[str, str, bool]]:
    """The arrays of a producer: (case, expression, whether it is read-only)."""
    subject = producer.subject
    out = [
        (kind, text, kind == "readonly")
        for kind, text in subject.arrays.items()
        if kind not in {*UNUSUAL, "unaligned-strides", "unexportable", "sparse", "swapped"}
    ]
    if subject.dtype:
        out += [(dtype, subject.dtype.format(dtype), False) for dtype in subject.dtypes]
    return out
