"""DTYPE checks of a producer: the DLDataType of each dtype."""

from __future__ import annotations

from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.harness.producer import VERSIONED, Producer

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
    export = producer.export(producer.typed(name), **VERSIONED)
    if export.error is not None:
        raise NotApplicable(f"{export.call} raised {export}")
    held = tuple(export["dtype"]) == (code, bits, 1)
    return producer.seen(held, export, f"{tuple(export['dtype'])}", field="code")


for _dtype, (_id, _code, _bits) in TRIPLES.items():
    check_cases(
        _id,
        "producer",
        {_dtype: (_dtype, _code, _bits)},
        "{value[0]} is exported as (code, bits, lanes) = ({value[1]}, {value[2]}, 1)",
    )(code_and_bits)


@check_cases(
    "DTYPE-15",
    "producer",
    {dtype: dtype for dtype in STANDARD},
    "{value}, a dtype of the array API, can be exported",
)
def standard_dtype(producer: Producer, dtype: str) -> CheckResult:
    export = producer.export(producer.typed(dtype))
    if export.error is not None:  # a producer may refuse the legacy struct
        export = producer.export(producer.typed(dtype), **VERSIONED)
    return producer.seen(export.held is not None, export)


@check("DTYPE-11", "producer", "swapped", "data in the other byte order is an exception")
def swapped_byte_order(producer: Producer) -> CheckResult:
    export = producer.ask(producer.text("swapped"), **VERSIONED)
    return producer.seen(export.error is not None, export)
