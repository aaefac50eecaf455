"""DEV checks of a producer: `__dlpack_device__` and the device of the struct."""

from __future__ import annotations

from refarray._describe import device_type_text
from refarray._system import system
from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    check,
    check_cases,
    describe_error,
    subject_code,
)
from refarray.conformance.dlpack import GPU_MEMORY, HOST_READABLE
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.producer import VERSIONED, Producer
from refarray.conformance.suite.exports import LAYOUTS, export_kind, newest
from refarray.conformance.suite.handles import place_text, require_handle
from refarray.conformance.suite.on_devices import (
    BOTH,
    array_of,
    check_on_devices,
    is_member,
    memory_types,
)


@check("DEV-01", "pair", "__dlpack_device__() returns a tuple of a DLDeviceType value and an int")
def device_is_a_pair(producer: Producer) -> CheckResult:
    text, array = producer.own()
    answer = producer.ask_device(array)
    with subject_code():
        observed = f"{answer!r}"
    held = (
        isinstance(answer, tuple)
        and len(answer) == 2
        and (isinstance(answer[0], int) or is_member(answer[0]))
        and isinstance(answer[1], int)
    )
    return CheckResult(held, observed, producer.repro(f"print({text}.__dlpack_device__())"))


@check("DEV-02", "cpu", "device_id is 0 for host memory")
def host_device_id(producer: Producer) -> CheckResult:
    export = export_kind(producer, "plain")
    kind, number = export["device"]
    if kind not in HOST_READABLE:
        raise NotApplicable(f"its arrays lie on device type {device_type_text(kind)}")
    return producer.make_result(
        number == 0, export, f"device ({kind}, {number})", field="device_id"
    )


@check_cases("DEV-03", LAYOUTS, "the struct's device equals __dlpack_device__()")
def struct_has_announced_device(producer: Producer, kind: str) -> CheckResult:
    text, array = producer.own(kind)
    export = producer.export(text, array, **VERSIONED)
    announced = producer.device(array)
    observed = f"__dlpack_device__() {announced}, struct {tuple(export['device'])}"
    return producer.make_result(
        announced == tuple(export["device"]), export, observed, field="device_type"
    )


def readable(address: int) -> bool:
    """Whether this process may read at an address. NotApplicable if the system does not tell."""
    try:
        return system.is_mapped(address)
    except OSError as error:
        raise NotApplicable("this system does not list a process's memory mappings") from error


@check("DEV-05", "host", "memory that the host can read is not announced under a GPU's device type")
def host_memory_is_not_gpu_memory(producer: Producer) -> CheckResult:
    export = export_kind(producer, "plain")
    kind = export["device"][0]
    held = kind not in GPU_MEMORY or not readable(export.address)
    return producer.make_result(
        held, export, f"device type {device_type_text(kind)}", field="device_type"
    )


@check("DEV-09", "view", "a view is on its array's device")
def view_has_device_of_its_array(producer: Producer) -> CheckResult:
    whole = producer.device(producer.make(producer.text()))
    part = producer.device(producer.make(producer.text("strided")))
    repro = producer.repro(f"print({producer.text('strided')}.__dlpack_device__())")
    return CheckResult(whole == part, f"{whole} and {part}", repro)


@check(
    "DEV-13",
    "slice",
    "x[2:5] has the data of x, a handle; its byte_offset is that of x plus two elements",
    rules="2026.2",
)
def slice_keeps_handle(producer: Producer) -> CheckResult:
    text, array = producer.own()
    whole = producer.export(text, array, **newest(producer)).require()
    require_handle(whole["device"][0])
    try:
        sliced = array[2:5]
    except Exception as error:
        raise NotApplicable(f"it has no slices: {describe_error(error)}") from error
    part = producer.export(f"({text})[2:5]", sliced, **newest(producer)).require()
    assert whole.held is not None and part.held is not None
    _, bits, lanes = whole["dtype"]
    step, moved = 2 * bits * lanes // 8, part.address - whole.address
    observed = f"{place_text(part.held)}; of x {place_text(whole.held)}"
    same = part["data"] == whole["data"]
    if not same and moved != step:
        raise NotApplicable(f"a slice has memory of its own: {observed}")
    return producer.make_result(same and moved == step, part, observed, field="byte_offset")


@check_cases(
    "DEV-02",
    {"second-device": "second-device"},
    "device_id is 0 for host memory, on whatever device the library counts it",
)
def host_memory_of_second_device(producer: Producer, kind: str) -> CheckResult:
    export = producer.export(producer.text(kind), **VERSIONED).require()
    device, number = export["device"]
    if device not in HOST_READABLE:
        raise NotApplicable(f"it lies on device type {device_type_text(device)}")
    return producer.make_result(
        number == 0, export, f"device ({device}, {number})", field="device_id"
    )


check_cases("DEV-03", ["second-device"], "the struct's device equals __dlpack_device__()")(
    struct_has_announced_device
)


# --- on devices


def judge_memory_type(fixture: DeviceFixture, producer: Producer, kind: str) -> CheckResult:
    text, array = array_of(fixture, kind)
    device = producer.device(array)
    repro = fixture.repro(f"print({text}.__dlpack_device__())")
    return CheckResult(device[0] == memory_types(fixture)[kind], f"device {device}", repro)


def struct_has_announced_memory_type(
    fixture: DeviceFixture, producer: Producer, kind: str
) -> CheckResult:
    text, array = array_of(fixture, kind)
    export = producer.export(text, array, **VERSIONED)
    announced = producer.device(array)
    observed = f"announced {announced}, the struct has {tuple(export['device'])}"
    return producer.make_result(
        announced == tuple(export["device"]), export, observed, field="device_type"
    )


def host_memory_has_id_0(fixture: DeviceFixture, producer: Producer, kind: str) -> CheckResult:
    text, array = array_of(fixture, kind)
    device = producer.device(array)
    repro = fixture.repro(f"print({text}.__dlpack_device__())")
    return CheckResult(device[1] == 0, f"device {device}", repro)


MEMORY: dict[str, tuple[str, ...]] = {"device": BOTH, "pinned": BOTH, "managed": ("cuda",)}
"""The kinds of memory, and the vendors that have them."""
for _kind, _vendors in MEMORY.items():
    check_on_devices(
        *("DEV-04", _kind, f"{_kind} memory is announced as such"), vendors=_vendors, value=_kind
    )(judge_memory_type)
    check_on_devices(
        *("DEV-03", _kind, "the struct's device is the announced one"),
        vendors=_vendors,
        value=_kind,
    )(struct_has_announced_memory_type)
    if _kind != "device":
        check_on_devices(
            *("DEV-02", _kind, f"the device_id of {_kind} memory is 0"),
            vendors=_vendors,
            value=_kind,
        )(host_memory_has_id_0)
