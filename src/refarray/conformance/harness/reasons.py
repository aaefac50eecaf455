"""Why a consumer copied or refused a tensor: the property without which it shares it. Found by
sending tensors of the kit that differ in one property each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from refarray.conformance.cases import NotApplicable
from refarray.conformance.dlpack import CPU, IS_COPIED, READ_ONLY
from refarray.conformance.harness import memory
from refarray.conformance.harness.consumer import Consumer, Given

ALIGNMENT = 256  # bytes, to which DLPack asks producers to align data
FLOAT = (2, 32, 1)
Fields = dict[str, Any]


def make_alike(fields: Mapping[str, Any]) -> Fields:
    """The fields of a tensor of the kit with the properties of another one: shape, strides, dtype,
    alignment, read-only or not, struct. NotApplicable if there can be none."""
    shape = tuple(fields["shape"] or ())
    strides = fields["strides"]
    strides = memory.row_major(shape) if strides is None else tuple(strides)
    address = int(fields["data"] or 0) + int(fields["byte_offset"] or 0)
    out: Fields = {"shape": shape, "strides": strides, "dtype": tuple(fields["dtype"])}
    if fields.get("version") is None:
        out["versioned"] = False
    elif fields["flags"] & READ_ONLY:  # flags need the versioned struct
        out["flags"] = READ_ONLY
    return with_memory(out, address % ALIGNMENT)


def with_memory(fields: Fields, rest: int) -> Fields:
    """The fields with memory that the strides reach, whose first element lies `rest` bytes beyond
    a multiple of ALIGNMENT."""
    size = memory.width(fields["dtype"])
    span = memory.span(0, fields["shape"], fields["strides"], size)
    first = -span.start + (rest + span.start) % ALIGNMENT
    data = bytes(first + len(span) + span.start + size + ALIGNMENT)
    return {**fields, "data": data, "byte_offset": first}


def rest_of(fields: Fields) -> int:
    return int(fields["byte_offset"]) % ALIGNMENT


CHANGES: dict[str, tuple[str, Callable[[Fields], Fields]]] = {
    "alignment": (
        "its data is {rest} bytes beyond a multiple of {ALIGNMENT}",
        lambda it: with_memory(it, 0),
    ),
    "strides": (
        "its strides are {strides}",
        lambda it: with_memory({**it, "strides": memory.row_major(it["shape"])}, rest_of(it)),
    ),
    "read-only": (
        "it is read-only",
        lambda it: {key: value for key, value in it.items() if key != "flags"},
    ),
    "dtype": (
        "its dtype is {dtype}",
        lambda it: with_memory({**it, "dtype": FLOAT}, rest_of(it)),
    ),
    "axes": (
        "its shape is {shape}",
        lambda it: with_memory({**it, "shape": (6,), "strides": (1,)}, rest_of(it)),
    ),
    "struct": (
        "its struct is the legacy one",
        lambda it: {key: value for key, value in it.items() if key != "versioned"},
    ),
}
"""A property → how a reason tells it, the tensor without it."""


def send(consumer: Consumer, fields: Fields) -> str:
    """What a consumer does with a tensor: "shared", "copied" or "refused"; empty if unknown."""
    given = Given(fields)
    found = consumer.take(given)
    if found.error is not None:
        return "refused"
    try:
        address = found.address
    except NotApplicable:
        return ""
    return "shared" if address == given.address + fields["byte_offset"] else "copied"


def find_reason(consumer: Consumer, fields: Mapping[str, Any], arrival: str) -> str:
    """Why a consumer did not share a tensor with these fields: "because its strides are (2,)".
    Empty if no property decides, alone or beside the alignment."""
    if fields["device"][0] != CPU:
        return f"because its device is {tuple(fields['device'])}"
    if arrival == "copied" and (fields.get("flags") or 0) & IS_COPIED:
        return "because the producer copied: IS_COPIED is set"
    try:
        alike = make_alike(fields)
        if send(consumer, alike) != arrival:
            return "not because of the tensor: the consumer takes one of the kit that is like it"
        for first in (alike, with_memory(alike, 0)):
            also = "" if first is alike else f", and {tell('alignment', alike)}"
            for name, (_, change) in CHANGES.items():
                changed = change(first)
                better = {"shared"} if arrival == "copied" else {"shared", "copied"}
                if changed != first and send(consumer, changed) in better:
                    return f"because {tell(name, alike)}{also}"
    except NotApplicable:
        pass
    return ""


def tell(name: str, fields: Fields) -> str:
    """How a reason tells a property."""
    return CHANGES[name][0].format(rest=rest_of(fields), ALIGNMENT=ALIGNMENT, **fields)
