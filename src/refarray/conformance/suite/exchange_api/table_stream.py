"""CAPI checks of the table's current_work_stream."""

from __future__ import annotations

from refarray.conformance.cases import CheckResult, check, check_cases
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.producer import Producer, describe_error
from refarray.conformance.suite.exchange_table import table_result, table_with
from refarray.conformance.suite.on_devices import check_on_devices, handle_of


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
    try:
        stream = api.stream(*device)
    except AssertionError:  # the native caller saw a broken contract
        raise
    except Exception as error:
        return table_result(producer, True, describe_error(error), line)
    return table_result(producer, False, f"{stream:#x}", line)
