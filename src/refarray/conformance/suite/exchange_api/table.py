"""CAPI checks of the exchange table itself: the attribute, the version, the members, and
the two functions that take no array."""

from __future__ import annotations

import builtins
import gc
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    about,
    check,
    check_cases,
    describe_error,
    subject_code,
)
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.producer import Producer
from refarray.conformance.suite.exchange_table import (
    NAME,
    allocate,
    any_table,
    array_type,
    attribute,
    require_allocator,
    table,
    table_result,
    table_with,
)
from refarray.conformance.suite.exports import SubjectCalls
from refarray.conformance.suite.on_devices import check_on_devices, handle_of

REQUIRED = ("allocator", "from_py", "to_py", "stream")
OLD_NAME = "__c_dlpack_exchange_api__"
"""The attribute's name in DLPack 1.2."""


@check("CAPI-01", "there", f"the array's type has {NAME}")
def type_has_table(producer: Producer) -> CheckResult:
    text, kind = array_type(producer)
    with subject_code():
        held = getattr(kind, NAME, None) is not None
    repro = producer.repro(f"print(hasattr({text}, {NAME!r}))")
    return CheckResult(held, "there" if held else "not there", repro)


@check("CAPI-02", "name", "the attribute is a capsule named dlpack_exchange_api")
def attribute_is_a_capsule(producer: Producer) -> CheckResult:
    text, value = attribute(producer)
    with subject_code():
        shown = repr(value)
    repro = producer.repro(f"print({text}.{NAME})")
    return CheckResult('"dlpack_exchange_api"' in shown, shown, repro)


@check("CAPI-03", "type", "the table is found on the type, always the same")
def table_is_always_the_same(producer: Producer) -> CheckResult:
    _, kind = array_type(producer)
    first = table(producer).members()["address"]
    second = SubjectCalls(_adversary.api(kind)).members()["address"]
    return table_result(producer, first == second, f"{first:#x} and {second:#x}")


@check("CAPI-04", "static", "the table outlives every capsule of it", risky=True)
def table_is_static(producer: Producer) -> CheckResult:
    api = table(producer)
    gc.collect()
    before = api.members()
    churn = [producer.make(producer.text()) for _ in range(64)]
    after = api.members()
    del churn
    return table_result(producer, before == after, f"version {after['version']}")


@check("CAPI-05", "version", "header.version is of a major version that exists: 1")
def version_exists(producer: Producer) -> CheckResult:
    version = any_table(producer).members()["version"]
    held = version[0] == 1 and version[1] < 1000
    return table_result(producer, held, f"version {version}")


@check("CAPI-07", "members", "allocator, from_py, to_py and current_work_stream are not NULL")
def required_members(producer: Producer) -> CheckResult:
    members = table(producer).members()
    missing = [name for name in REQUIRED if not members[name]]
    return table_result(producer, not missing, f"NULL: {', '.join(missing) or 'none'}")


@check(
    "CAPI-29",
    "older",
    "the name of 1.2, if present as well, holds the table's address as an int, or a capsule",
)
def attribute_of_dlpack_1_2(producer: Producer) -> CheckResult:
    text, value = attribute(producer, OLD_NAME)
    with subject_code():
        held = type(value).__name__ in {"int", "PyCapsule"} and bool(value)
        shown = repr(value)
    return CheckResult(held, shown, producer.repro(f"print({text}.{OLD_NAME})"))


# --- managed_tensor_allocator


ALLOCATE = "print(api.allocate(_adversary.make(shape=(2, 3))))"


@check("CAPI-20", "prototype", "the allocator reads dtype, ndim, shape and device only", risky=True)
def reads_only_the_prototype(producer: Producer) -> CheckResult:
    require_allocator(producer)
    wild = _adversary.make(shape=(2, 3), data=0xDEAD0008, strides=0xDEAD0008, byte_offset=2**63)
    code, owned, errors = allocate(producer, wild)
    held = code == 0 and owned is not None and tuple(owned.fields()["shape"]) == (2, 3)
    return table_result(producer, held, f"code {code}, errors {errors}", ALLOCATE)


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "dtype": {"dtype": (99, 32, 1)},
    "device": {"device": (9, 0)},
    "huge": {"shape": (2**62, 8)},
    "negative": {"shape": (-1,)},
}


@check_cases(
    "CAPI-21",
    IMPOSSIBLE,
    "SetError is called once if the allocation fails, and not if it succeeds",
    risky=True,
)
def failure_is_reported(producer: Producer, fields: dict[str, Any]) -> CheckResult:
    code, owned, errors = allocate(producer, _adversary.make(**fields))
    failed = code != 0
    held = (owned is None) == failed and len(errors) == int(failed)
    line = f"print(api.allocate(_adversary.make(**{fields!r})))"
    return table_result(producer, held, f"code {code}, SetError {errors}", line)


@check(
    "CAPI-22",
    "thread",
    "the allocator works in a native thread while another thread holds the GIL",
    risky=True,
)
def works_in_native_thread(producer: Producer) -> CheckResult:
    require_allocator(producer)
    code, owned, errors = allocate(producer, _adversary.make(shape=(2, 3)), thread=True)
    line = "print(api.allocate(_adversary.make(shape=(2, 3)), thread=True))"
    observed = f"code {code}, errors {errors}"
    return table_result(producer, code == 0 and owned is not None, observed, line)


@check("CAPI-23", "layout", "the allocated tensor is row-major, writable, with strides", risky=True)
def layout_is_row_major(producer: Producer) -> CheckResult:
    require_allocator(producer)
    _, owned, _ = allocate(producer, _adversary.make(shape=(2, 3)))
    fields = owned.fields()
    held = tuple(fields["strides"] or ()) == (3, 1) and fields["flags"] == 0
    observed = f"strides {fields['strides']}, flags {fields['flags']}"
    return table_result(producer, held, observed, ALLOCATE)


@check_cases(
    "CAPI-23",
    {name: IMPOSSIBLE[name] for name in ("huge", "negative")},
    "an allocation that no memory can hold fails",
    risky=True,
    level="HAZARD",  # no sentence speaks of the memory behind the tensor
    rules="2026.2",
)
def impossible_size_is_refused(producer: Producer, fields: dict[str, Any]) -> CheckResult:
    code, owned, errors = allocate(producer, _adversary.make(**fields))
    line = f"print(api.allocate(_adversary.make(**{fields!r})))"
    observed = f"code {code}, SetError {errors}"
    if owned is not None:
        observed += f", data {owned.fields()['data']:#x}"
    return table_result(producer, code != 0, observed, line)


@check(
    "CAPI-24", "kind", "the kind passed to SetError is the name of a Python exception", risky=True
)
def error_kind_is_an_exception(producer: Producer) -> CheckResult:
    code, _, errors = allocate(producer, _adversary.make(dtype=(99, 32, 1)))
    if code == 0 or not errors:
        raise NotApplicable(f"code {code}, SetError {errors}")
    kind = getattr(builtins, errors[0][0], None)
    held = isinstance(kind, type) and issubclass(kind, BaseException)
    line = "print(api.allocate(_adversary.make(dtype=(99, 32, 1))))"
    return table_result(producer, held, f"kind {errors[0][0]!r}", line)


# --- current_work_stream


def current_stream(fixture: DeviceFixture, producer: Producer, number: tuple[int]) -> CheckResult:
    (device,) = number
    api = table_with(producer, "stream")
    if device:
        fixture.several()
    stream, handle = fixture.stream(device)
    repro = fixture.repro(
        f"from refarray.conformance import _adversary; s = {fixture.on.stream.format(device)}",
        f"api = _adversary.api(type({fixture.text()}))",
        f"with {fixture.on.use.format('s')}: print(api.stream({fixture.vendor.kind}, {device}), "
        f"{handle_of(fixture, 's')})",
    )
    with fixture.working_on(stream):
        try:
            found = api.stream(fixture.vendor.kind, device)
        except Exception as error:
            return CheckResult(False, describe_error(error), repro)
    return CheckResult(found == handle, f"{found:#x} for stream {handle:#x}", repro)


for _device in (0, 1):
    check_on_devices(
        *("CAPI-25", f"device-{_device}", "it is the current stream"), value=(_device,)
    )(current_stream)


@check("CAPI-26", "cpu", "current_work_stream of the CPU is NULL", risky=True)
def cpu_stream_is_null(producer: Producer) -> CheckResult:
    stream = table_with(producer, "stream").stream(1, 0)
    return table_result(producer, stream == 0, f"{stream:#x}", "print(api.stream(1, 0))")


@check_cases(
    "CAPI-27",
    {"unknown-type": (99, 0), "unknown-id": (2, 2**30)},
    "current_work_stream of device {value} is an exception",
    risky=True,
)
def unknown_device_is_refused(producer: Producer, device: tuple[int, int]) -> CheckResult:
    api = table_with(producer, "stream")
    line = f"print(api.stream({device[0]}, {device[1]}))"
    about(table_result(producer, True, "", line).repro)
    try:
        stream = api.stream(*device)
    except AssertionError:  # the native caller saw a broken contract
        raise
    except Exception as error:
        return table_result(producer, True, describe_error(error), line)
    return table_result(producer, False, f"{stream:#x}", line)
