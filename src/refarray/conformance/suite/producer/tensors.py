"""TENS checks of a producer: data, shape and strides of its tensors."""

from __future__ import annotations

import ctypes

from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.dlpack import HOST_READABLE
from refarray.conformance.harness.producer import VERSIONED, Producer
from refarray.conformance.suite.exports import LAYOUTS, export_kind


@check("TENS-01", "first", "data + byte_offset is the address of the first element: 0.0 of 0 to 5")
def data_and_byte_offset(producer: Producer) -> CheckResult:
    producer.require_usual_plain()
    export = export_kind(producer, "plain")
    if export["device"][0] not in HOST_READABLE:
        raise NotApplicable("its data cannot be read from the host")
    value = ctypes.c_float.from_address(export.address + 4).value
    observed = f"the second element reads {value}"
    return producer.make_result(value == 1.0, export, observed, field="byte_offset")


@check(
    "TENS-02",
    "aligned",
    "data is aligned to 256 bytes, which one sentence requires and another does not",
)
def data_is_aligned(producer: Producer) -> CheckResult:
    export = export_kind(producer, "plain")
    rest = int(export["data"] or 0) % 256
    observed = f"data {export['data']:#x}, {rest} beyond"
    return producer.make_result(rest == 0, export, observed, field="data")


@check_cases("TENS-03", ("empty", "empty2"), "data is NULL where there are no elements")
def empty_data_is_null(producer: Producer, kind: str) -> CheckResult:
    export = export_kind(producer, kind)
    return producer.make_result(
        not export["data"], export, f"data {export['data']:#x}", field="data"
    )


@check_cases("TENS-06", LAYOUTS, "strides are not NULL where ndim is not 0")
def strides_are_given(producer: Producer, kind: str) -> CheckResult:
    export = export_kind(producer, kind)
    held = export["ndim"] == 0 or export["strides"] is not None
    if not held and (export["version"] or (0, 0)) < (1, 2):
        raise NotApplicable(f"{export}: before 1.2 NULL strides mean row-major order")
    return producer.make_result(held, export, f"strides {export['strides']}", field="strides")


@check_cases("TENS-08", LAYOUTS, "shape is not NULL where ndim is not 0")
def shape_is_given(producer: Producer, kind: str) -> CheckResult:
    export = export_kind(producer, kind)
    held = export["ndim"] == 0 or export["shape"] is not None
    return producer.make_result(held, export, f"shape {export['shape']}", field="shape")


@check("TENS-11", "odd", "byte strides that are no multiple of the item size: BufferError")
def odd_byte_strides(producer: Producer) -> CheckResult:
    export = producer.export(producer.text("unaligned-strides"), **VERSIONED)
    return producer.make_result(isinstance(export.error, BufferError), export)


@check("TENS-16", "dropped", "shape and strides stay valid after the array is destroyed")
def shape_outlives_array(producer: Producer) -> CheckResult:
    export = export_kind(producer, "transposed")
    before = (export["shape"], export["strides"])
    churn = [producer.make(producer.text("one")) for _ in range(64)]  # reuses freed memory
    again = producer.read(export.capsule) or {}
    after = (again.get("shape"), again.get("strides"))
    del churn
    return producer.make_result(before == after, export, f"{before}, later {after}")


@check("TENS-17", "sparse", "sparse data is a BufferError")
def sparse_data(producer: Producer) -> CheckResult:
    export = producer.ask(producer.text("sparse"), **VERSIONED)
    return producer.make_result(isinstance(export.error, BufferError), export)


@check_cases(
    "TENS-18",
    ("plain", "strided", "reversed", "transposed", "broadcast", "scalar"),
    "two exports of one array show the same memory: nothing was copied",
)
def export_shares_memory(producer: Producer, kind: str) -> CheckResult:
    text, array = producer.own(kind)
    first, second = (producer.export(text, array, **VERSIONED) for _ in range(2))
    for export in (first, second):
        if isinstance(export.error, BufferError):
            raise NotApplicable(f"{export.call} raised {export}")
    observed = f"{first.address:#x} and {second.address:#x}"
    return producer.make_result(first.address == second.address, first, observed, beside=second)
