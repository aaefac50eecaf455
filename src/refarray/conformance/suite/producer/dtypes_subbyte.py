"""DTYPE checks of a producer's elements of less than a byte: dtype, and bits in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from refarray.conformance.cases import WRONG_DATA, Check, CheckResult, NotApplicable, add, harmed
from refarray.conformance.dlpack import HOST_READABLE, SUBBYTE_PADDED
from refarray.conformance.harness import memory
from refarray.conformance.harness.memory import Unreadable
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.requirements import Role
from refarray.conformance.subjects.subject import SubByte

NAMES = (
    *("float4_e2m1fn", "float4_e2m1fn_x2", "float6_e2m3fn", "float6_e3m2fn"),
    *("int4", "uint4", "int2", "uint2"),
)
"""The dtypes for which adapters may have arrays."""
WAYS = {"versioned": VERSIONED, "legacy": {}}


def packed(data: bytes, bits: int, count: int) -> list[int]:
    """The elements of packed data: those of a little-endian stream of bits."""
    stream = int.from_bytes(data, "little")
    return [stream >> (index * bits) & (2**bits - 1) for index in range(count)]


def stream(sub: SubByte) -> bytes:
    """The packed data of an array."""
    bits = sub.dtype[1]
    number = sum(code << (index * bits) for index, code in enumerate(sub.codes))
    return number.to_bytes((len(sub.codes) * bits + 7) // 8, "little")


def padded(data: bytes, bits: int) -> list[int]:
    """The elements of padded data, a byte each."""
    return [each & (2**bits - 1) for each in data]


def claimed(producer: Producer, name: str) -> SubByte:
    """The array of that dtype. NotApplicable if the adapter claims none."""
    if name not in producer.subject.subbyte:
        raise NotApplicable(f"the adapter of {producer.subject.name} claims no {name}")
    return producer.subject.subbyte[name]


def elements_of(export: Export, sub: SubByte) -> Sequence[int]:
    """The elements that a consumer reads: padded if the flag says so, else packed."""
    count, bits = len(sub.codes), sub.dtype[1]
    flags = export.flags if export.versioned else 0
    if flags & SUBBYTE_PADDED:
        return padded(memory.read(export.address, count), bits)
    return packed(memory.read(export.address, (count * bits + 7) // 8), bits, count)


def bits_in_memory(producer: Producer, name: str, way: str, part: str) -> CheckResult:
    """Reads one export; `part` is the name of the check of its dtype."""
    sub = claimed(producer, name)
    array = producer.make(sub.text)
    export = producer.export(sub.text, array, **WAYS[way])
    if export.error is not None:
        raise NotApplicable(f"{export.call} raised {export}")
    found = tuple(export["dtype"])
    dtype = producer.seen(found == sub.dtype, export, f"{found}", field="bits")
    if found != sub.dtype or export["device"][0] not in HOST_READABLE:
        return CheckResult(None, f"dtype {found} cannot be read", "", parts={part: dtype})
    try:
        elements = elements_of(export, sub)
        held, observed = elements == list(sub.codes), f"bits {list(elements)}"
    except Unreadable as error:
        held, observed = False, f"{error}"
    if not held:
        observed += f" of {list(sub.codes)}"
        observed += "; a byte each without the padded flag" if _unpacked(export, sub) else ""
    right = stream(sub) if not (export.versioned and export.flags & SUBBYTE_PADDED) else sub.codes
    whole = producer.read_bytes(export, held, observed, bytes(right))
    whole = harmed(whole, WRONG_DATA)
    return replace(whole, parts={part: dtype})


def _unpacked(export: Export, sub: SubByte) -> bool:
    """Whether the memory holds an element in each byte."""
    try:
        return padded(memory.read(export.address, len(sub.codes)), sub.dtype[1]) == list(sub.codes)
    except Unreadable:
        return False


def register(name: str, way: str) -> None:
    """Registers the trial of one dtype and struct, and the check of its DLDataType."""
    case, role = f"{way}-{name}", Role.PRODUCER
    family = {"float4": "DTYPE-08", "float6": "DTYPE-07"}.get(name[:6], "DTYPE-02")
    part = f"{family}[producer-{case}]"

    def probe(producer: Producer) -> CheckResult:
        return bits_in_memory(producer, name, way, part)

    expected = f"{name}: packed, or padded with the flag that says so"
    whole = add(Check("DTYPE-09", case, role, expected, probe))
    expected = f"{name} is exported with its code, bits and lanes"
    add(Check(family, case, role, expected, probe, part_of=whole.name))


for _name in NAMES:
    for _way in WAYS:
        register(_name, _way)
