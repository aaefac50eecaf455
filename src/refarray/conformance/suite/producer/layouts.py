"""Owns the checks of how a producer describes device, shape, strides and data: DEV and TENS."""

from __future__ import annotations

import enum

from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.producer import VERSIONED, Export, Producer

LAYOUTS = (
    "plain",
    "strided",
    "reversed",
    "transposed",
    "broadcast",
    "scalar",
    "empty",
    "empty2",
    "one",
)
HOST = {1, 3, 11, 13}  # device types whose device_id is 0


def exported(producer: Producer, kind: str, **keywords: object) -> Export:
    """An export of a kind; NotApplicable when it is refused with a BufferError."""
    export = producer.export(producer.text(kind), **(keywords or VERSIONED))
    if isinstance(export.error, BufferError):
        raise NotApplicable(f"{export.call} raised {export}")
    return export


def _strides(kind: str) -> None:
    @check("TENS-06", "producer", kind, "strides are not NULL where ndim is not 0")
    def _(producer: Producer) -> CheckResult:
        export = exported(producer, kind)
        held = export["ndim"] == 0 or export["strides"] is not None
        if not held and (export["version"] or (0, 0)) < (1, 2):
            raise NotApplicable(f"{export}: before 1.2 NULL strides mean row-major order")
        return producer.seen(held, export, f"strides {export['strides']}", field="strides")


def _shape(kind: str) -> None:
    @check("TENS-08", "producer", kind, "shape is not NULL where ndim is not 0")
    def _(producer: Producer) -> CheckResult:
        export = exported(producer, kind)
        held = export["ndim"] == 0 or export["shape"] is not None
        return producer.seen(held, export, f"shape {export['shape']}", field="shape")


def _no_data(kind: str) -> None:
    @check("TENS-03", "producer", kind, "data is NULL where there are no elements")
    def _(producer: Producer) -> CheckResult:
        export = exported(producer, kind)
        return producer.seen(not export["data"], export, f"data {export['data']:#x}", field="data")


def _shared(kind: str) -> None:
    @check(
        "TENS-18",
        "producer",
        kind,
        "two exports of one array show the same memory: nothing was copied",
    )
    def _(producer: Producer) -> CheckResult:
        text = producer.text(kind)
        array = producer.make(text)
        first, second = (producer.export(text, array, **VERSIONED) for _ in range(2))
        for export in (first, second):
            if isinstance(export.error, BufferError):
                raise NotApplicable(f"{export.call} raised {export}")
        held = first.address == second.address
        observed = f"{first.address:#x} and {second.address:#x}"
        return producer.seen(held, first, observed, field="data")


def _device(kind: str) -> None:
    @check("DEV-03", "producer", kind, "the struct's device is what __dlpack_device__() says")
    def _(producer: Producer) -> CheckResult:
        text = producer.text(kind)
        array = producer.make(text)
        export = producer.export(text, array, **VERSIONED)
        said = producer.device(array)
        held = said == tuple(export["device"])
        observed = f"__dlpack_device__() {said}, struct {tuple(export['device'])}"
        return producer.seen(held, export, observed, field="device_type")


for _kind in LAYOUTS:
    _strides(_kind)
    _shape(_kind)
    _device(_kind)
for _kind in ("empty", "empty2"):
    _no_data(_kind)
for _kind in ("plain", "strided", "reversed", "transposed", "broadcast", "scalar"):
    _shared(_kind)


def is_member(value: object) -> bool:
    """Whether it is the member of an enumeration, as the array API writes: of Python's, or of one
    that a binding's generator made, which int() takes."""
    if isinstance(value, enum.Enum):
        return isinstance(value.value, int)
    return hasattr(type(value), "__members__") and hasattr(type(value), "__int__")


@check(
    "DEV-01",
    "producer",
    "pair",
    "__dlpack_device__() returns a tuple of a DLDeviceType value and an int",
)
def _pair(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    producer.device(array)
    said = type(array).__dlpack_device__(array)
    held = (
        isinstance(said, tuple)
        and len(said) == 2
        and (isinstance(said[0], int) or is_member(said[0]))
        and isinstance(said[1], int)
    )
    return CheckResult(held, f"{said!r}", producer.repro(f"print({text}.__dlpack_device__())"))


@check("DEV-02", "producer", "cpu", "device_id is 0 for host memory")
def _host_id(producer: Producer) -> CheckResult:
    export = exported(producer, "plain")
    kind, number = export["device"]
    if kind not in HOST:
        raise NotApplicable(f"its arrays lie on device type {kind}")
    return producer.seen(number == 0, export, f"device ({kind}, {number})", field="device_id")


@check(
    "TENS-01",
    "producer",
    "first",
    "data + byte_offset is the address of the first element: 0.0 of 0 to 5",
)
def _first(producer: Producer) -> CheckResult:
    import ctypes

    export = exported(producer, "plain")
    if export["device"][0] not in HOST:
        raise NotApplicable("its data cannot be read from the host")
    value = ctypes.c_float.from_address(export.address + 4).value
    return producer.seen(
        value == 1.0, export, f"the second element reads {value}", field="byte_offset"
    )


@check("ABI-05", "producer", "strided", "strides count elements: every second of six has stride 2")
def _elements(producer: Producer) -> CheckResult:
    export = exported(producer, "strided")
    held = tuple(export["shape"]) == (3,) and tuple(export["strides"] or ()) == (2,)
    observed = f"shape {export['shape']}, strides {export['strides']}"
    return producer.seen(held, export, observed, field="strides")


@check(
    "TENS-11", "producer", "odd", "byte strides that are no multiple of the item size: BufferError"
)
def _odd(producer: Producer) -> CheckResult:
    export = producer.export(producer.text("unaligned-strides"), **VERSIONED)
    return producer.seen(isinstance(export.error, BufferError), export)


@check("TENS-16", "producer", "dropped", "shape and strides stay valid when the array is gone")
def _dropped(producer: Producer) -> CheckResult:
    export = exported(producer, "transposed")
    before = (export["shape"], export["strides"])
    churn = [producer.make(producer.text("one")) for _ in range(64)]  # reuses what was freed
    again = producer.read(export.capsule) or {}
    after = (again.get("shape"), again.get("strides"))
    del churn
    return producer.seen(before == after, export, f"{before}, later {after}")
