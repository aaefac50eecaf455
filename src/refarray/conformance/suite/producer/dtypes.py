"""Owns the checks of how a producer names its dtypes: DTYPE."""

from __future__ import annotations

from refarray.conformance.cases import CheckResult, NotApplicable, check
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
STANDARD = [
    name for name in TRIPLES if name not in {"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}
]


def _triple(dtype: str, name: str, code: int, bits: int) -> None:
    @check(
        name, "producer", dtype, f"{dtype} is exported as (code, bits, lanes) = ({code}, {bits}, 1)"
    )
    def _(producer: Producer) -> CheckResult:
        export = producer.export(producer.typed(dtype), **VERSIONED)
        if export.error is not None:
            raise NotApplicable(f"{export.call} raised {export}")
        held = tuple(export["dtype"]) == (code, bits, 1)
        return producer.seen(held, export, f"{tuple(export['dtype'])}", field="code")


def _exported(dtype: str) -> None:
    @check("DTYPE-15", "producer", dtype, f"{dtype}, a dtype of the array API, can be exported")
    def _(producer: Producer) -> CheckResult:
        export = producer.export(producer.typed(dtype))
        if export.error is not None:  # a producer may refuse the legacy struct
            export = producer.export(producer.typed(dtype), **VERSIONED)
        return producer.seen(export.held is not None, export)


for _dtype, (_name, _code, _bits) in TRIPLES.items():
    _triple(_dtype, _name, _code, _bits)
for _dtype in STANDARD:
    _exported(_dtype)
