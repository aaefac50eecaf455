"""DTYPE checks of a producer: the DLDataType of each dtype, and elements of less than a byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refarray.conformance.cases import (
    WRONG_DATA,
    Check,
    CheckResult,
    NotApplicable,
    add,
    add_harm,
    check,
    check_cases,
)
from refarray.conformance.dlpack import HOST_READABLE, SUBBYTE_PADDED
from refarray.conformance.harness import memory
from refarray.conformance.harness.memory import Unreadable
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.requirements import Role
from refarray.conformance.subjects.subject import SubByte

# dtype: (requirement, code, bits); lanes are 1.
TRIPLES = {
    "bool": ("DTYPE-01", 6, 8),
    **{f"int{bits}": ("DTYPE-02", 0, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": ("DTYPE-02", 1, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": ("DTYPE-03", 2, bits) for bits in (16, 32, 64)},
    **{f"complex{bits}": ("DTYPE-04", 5, bits) for bits in (64, 128)},
    "bfloat16": ("DTYPE-05", 4, 16),
    "float8_e4m3fn": ("DTYPE-06", 10, 8),
    "float8_e5m2": ("DTYPE-06", 12, 8),
}
EXTENSIONS = {"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}
STANDARD = [name for name in TRIPLES if name not in EXTENSIONS]
"""The dtypes of the array API."""


def code_and_bits(producer: Producer, dtype: tuple[str, int, int]) -> CheckResult:
    name, code, bits = dtype
    export = producer.export(producer.express_ones(name), **VERSIONED).require()
    held = tuple(export["dtype"]) == (code, bits, 1)
    return producer.make_result(held, export, f"{tuple(export['dtype'])}", field="code")


for _dtype, (_id, _code, _bits) in TRIPLES.items():
    check_cases(
        _id,
        {_dtype: (_dtype, _code, _bits)},
        "{value[0]} is exported as (code, bits, lanes) = ({value[1]}, {value[2]}, 1)",
    )(code_and_bits)


@check_cases("DTYPE-15", STANDARD, "{value}, a dtype of the array API, can be exported")
def standard_dtype(producer: Producer, dtype: str) -> CheckResult:
    export = producer.export(producer.express_ones(dtype))
    if export.error is not None:  # a producer may refuse the legacy struct
        export = producer.export(producer.express_ones(dtype), **VERSIONED)
    return producer.make_result(export.held is not None, export)


@check("DTYPE-11", "swapped", "data in the other byte order is an exception")
def swapped_byte_order(producer: Producer) -> CheckResult:
    export = producer.ask(producer.text("swapped"), **VERSIONED)
    return producer.make_result(export.error is not None, export)


# --- elements of less than a byte

SUBBYTE = (*("float4_e2m1fn", "float4_e2m1fn_x2", "float6_e2m3fn", "float6_e3m2fn"),)
"""The dtypes for which adapters may have arrays."""
WAYS: dict[str, dict[str, Any]] = {"versioned": VERSIONED, "legacy": {}}
"""The structs that __dlpack__ exports → the keywords that request them."""


def read_packed(sub: SubByte) -> bytes:
    """The packed data of an array."""
    bits = sub.dtype[1]
    number = sum(code << (index * bits) for index, code in enumerate(sub.codes))
    return number.to_bytes((len(sub.codes) * bits + 7) // 8, "little")


def find_claimed(producer: Producer, name: str) -> SubByte:
    """The array of that dtype. NotApplicable if the adapter claims none."""
    if name not in producer.subject.subbyte:
        raise NotApplicable(f"the adapter of {producer.subject.name} claims no {name}")
    return producer.subject.subbyte[name]


def codes_of(export: Export, sub: SubByte, padded: bool) -> list[int]:
    """The bits of the elements in memory, each padded to a byte or packed."""
    as_numbers = (memory.UINT, sub.dtype[1], 1)
    out: list[int] = memory.values(export.address, (len(sub.codes),), (1,), as_numbers, padded)
    return out


def bits_in_memory(producer: Producer, name: str, way: str, part: str) -> CheckResult:
    """Reads one export; `part` is the name of the check of its dtype."""
    sub = find_claimed(producer, name)
    array = producer.make(sub.text)
    export = producer.export(sub.text, array, **WAYS[way]).require()
    found = tuple(export["dtype"])
    dtype = producer.make_result(found == sub.dtype, export, f"{found}", field="bits")
    if found != sub.dtype or export["device"][0] not in HOST_READABLE:
        return CheckResult(None, f"dtype {found} cannot be read", "", parts={part: dtype})
    padded = export.versioned and bool(export.flags & SUBBYTE_PADDED)
    try:
        codes = codes_of(export, sub, padded)
        held, observed = codes == list(sub.codes), f"bits {codes}"
    except Unreadable as error:
        held, observed = False, f"{error}"
    if not held:
        observed += f" of {list(sub.codes)}"
        observed += "; a byte each without the padded flag" if _is_unpacked(export, sub) else ""
    right = bytes(sub.codes) if padded else read_packed(sub)
    whole = producer.read_bytes(export, held, observed, right)
    whole = add_harm(whole, WRONG_DATA)
    return replace(whole, parts={part: dtype})


def _is_unpacked(export: Export, sub: SubByte) -> bool:
    """Whether the memory holds an element in each byte."""
    try:
        return codes_of(export, sub, padded=True) == list(sub.codes)
    except Unreadable:
        return False


def register(name: str, way: str) -> None:
    """Registers the trial of one dtype and struct, and the check of its DLDataType."""
    case, role = f"{way}-{name}", Role.PRODUCER
    family = "DTYPE-08" if name.startswith("float4") else "DTYPE-07"
    part = f"{family}[producer-{case}]"

    def probe(producer: Producer) -> CheckResult:
        return bits_in_memory(producer, name, way, part)

    expected = f"{name}: packed, or padded with the flag that says so"
    whole = add(Check("DTYPE-09", case, role, expected, probe))
    expected = f"{name} is exported with its code, bits and lanes"
    add(Check(family, case, role, expected, probe, part_of=whole.name))


for _name in SUBBYTE:
    for _way in WAYS:
        register(_name, _way)
