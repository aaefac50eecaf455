"""Owns an exchange between two libraries: what left the one against what arrived at the other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Export, Producer, raised


class Arrival(StrEnum):
    """What became of one array on its way."""

    SHARED = "shared"
    COPIED = "copied"
    REFUSED = "refused"
    WRONG = "wrong"
    """Shape, dtype or values are not what left."""
    WRITABLE = "writable"
    """Data that must not be written arrived as writable."""
    UNKNOWN = "unknown"
    """Imported, and cannot be looked at."""
    CRASHED = "crashed"
    """The process died of it."""
    HUNG = "hung"
    """It did not end in its time."""


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
        """The exchange as Python text."""
        imports = dict.fromkeys([self.producer.subject.imports, self.consumer.subject.imports])
        return "\n".join([*imports, f"print({self.consumer.subject.from_dlpack.format(text)})"])

    def exchange(self, case: str, text: str, read_only: bool = False) -> Exchange:
        """Sends what an expression makes. NotApplicable when it cannot be made."""
        array = self.producer.make(text)
        left = self.producer.export(text, array, max_version=(1, 3))
        if left.error is not None:
            left = self.producer.export(text, array)
        found = self.consumer.take(array)
        if found.error is not None:
            arrival, observed = Arrival.REFUSED, raised(found.error)
        else:
            try:
                arrival, observed = compare(left, found.held(), read_only)
            except NotApplicable as reason:
                arrival, observed = Arrival.UNKNOWN, str(reason)
        names = (self.producer.subject.name, self.consumer.subject.name)
        return Exchange(*names, case, arrival, observed, self.repro(text))


def compare(left: Export, came: dict[str, Any], read_only: bool) -> tuple[Arrival, str]:
    """What left against what came."""
    if left.held is None:
        return Arrival.UNKNOWN, f"the producer refuses to be looked at: {left}"
    for field in ("dtype", "shape"):
        if tuple(left[field] or ()) != tuple(came[field] or ()):
            return Arrival.WRONG, f"{field} {left[field]} left, {came[field]} came"
    address = int(came["data"]) + int(came["byte_offset"])
    empty = 0 in tuple(came["shape"] or ())
    if address != left.address and not empty:
        return Arrival.COPIED, f"from {left.address:#x} to {address:#x}"
    if read_only and came.get("flags") is not None and not came["flags"] & 1:
        return Arrival.WRITABLE, "shared, and exported again without READ_ONLY"
    return Arrival.SHARED, f"shape {came['shape']}, strides {came['strides']}"


def cases(producer: Producer) -> list[tuple[str, str, bool]]:
    """What a producer has to send: (case, expression, whether it must not be written)."""
    subject = producer.subject
    out = [
        (kind, text, kind == "readonly")
        for kind, text in subject.arrays.items()
        if kind not in {"unaligned-strides", "unexportable", "sparse", "swapped"}
    ]
    if subject.dtype:
        out += [(dtype, subject.dtype.format(dtype), False) for dtype in subject.dtypes]
    return out
