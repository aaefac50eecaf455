"""ABI checks of a producer: the fields of the structs that it fills in."""

from __future__ import annotations

from refarray.conformance.cases import CheckResult, check
from refarray.conformance.harness.producer import Producer
from refarray.conformance.suite.exports import export_kind


@check("ABI-01", "fields", "each field is read where the header has it")
def fields_at_header_offsets(producer: Producer) -> CheckResult:
    producer.require_usual_plain()
    export = export_kind(producer, "plain")
    fields = (export["ndim"], tuple(export["shape"] or ()), tuple(export["dtype"]))
    return producer.make_result(fields == (1, (6,), (2, 32, 1)), export, f"{fields}", field="ndim")


@check("ABI-02", "deleter", "the deleter field holds NULL or the address of a function")
def deleter_at_header_offset(producer: Producer) -> CheckResult:
    export = export_kind(producer, "one" if "one" in producer.subject.arrays else "plain")
    address = int(export["deleter"] or 0)
    return producer.make_result(address == 0 or address > 4096, export, f"deleter {address:#x}")


@check("ABI-05", "strided", "strides count elements: every second of six has stride 2")
def strides_count_elements(producer: Producer) -> CheckResult:
    export = export_kind(producer, "strided")
    held = tuple(export["shape"]) == (3,) and tuple(export["strides"] or ()) == (2,)
    observed = f"shape {export['shape']}, strides {export['strides']}"
    return producer.make_result(held, export, observed, field="strides")
