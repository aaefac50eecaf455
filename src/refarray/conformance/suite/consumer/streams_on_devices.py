"""STRM checks of a consumer: the stream that it passes, and the order of its reads."""

from __future__ import annotations

from refarray.conformance.cases import CheckResult, NotApplicable, subject_code
from refarray.conformance.gpu.device_fixture import SIZE, DeviceFixture
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Producer
from refarray.conformance.suite.on_devices import (
    LEFT_OUT,
    Lender,
    check_on_devices,
    write_spy_repro,
)

FILLED = 0x3F
"""The byte that the kit fills its memory with."""


def find_passed_stream(lender: Lender) -> int | str | None:
    """The stream of the first request. NotApplicable for -1."""
    if lender.stream == -1:
        raise NotApplicable("it passes -1, and orders by itself: STRM-20 judges that")
    return lender.stream


@check_on_devices("STRM-01", "chosen", "the current stream is passed")
def current_stream_is_passed(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    stream, handle = fixture.stream()
    lender = Lender(fixture)
    with fixture.working_on(stream):
        consumer.take(lender)
    passed = find_passed_stream(lender)
    use = f"with {fixture.on.use.format('s')}: {consumer.subject.from_dlpack.format('x')}"
    repro = write_spy_repro(fixture, consumer, f"s = {fixture.on.stream.format(0)}", use)
    return CheckResult(passed == handle, f"{passed} is passed for stream {handle}", repro)


@check_on_devices("STRM-18", "default", "on the default stream 1 (CUDA) or 0 (ROCm) is passed")
def default_stream_is_passed(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    lender = Lender(fixture)
    consumer.take(lender)
    passed = find_passed_stream(lender)
    held = passed not in {None, LEFT_OUT}
    return CheckResult(held, f"{passed} is passed", write_spy_repro(fixture, consumer))


@check_on_devices("STRM-19", "device-1", "an import leaves the current device unchanged")
def current_device_is_restored(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    fixture.several()
    lender = Lender(fixture, 1)
    consumer.import_from(lender)
    now = fixture.driver.current()
    wrong = fixture.wrong("wrong-device-record", "wrong-device-launch")
    observed = "; ".join([f"device {now} is current", *wrong])
    return CheckResult(
        now == 0 and not wrong, observed, write_spy_repro(fixture, consumer, device=1)
    )


@check_on_devices("STRM-20", "read", "a read in its stream sees data that was written before")
def reads_are_ordered(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    stream, handle = fixture.stream()
    lender = Lender(fixture)
    with fixture.driver.gate(lender.own):
        fixture.driver.call("fill", lender.pointer, FILLED, SIZE, lender.own)
        with fixture.working_on(stream):
            found = consumer.import_from(lender)
        copied = fixture.read(found.array, stream)
        if fixture.checker is None:
            fixture.driver.is_delayed(handle)  # an unordered read finishes now, and too early
    fixture.driver.call("all")
    races = fixture.wrong("race")
    with subject_code():
        capsule = copied.__dlpack__(stream=-1) if hasattr(copied, "__dlpack__") else None
    held = None if capsule is None else Producer.read(capsule)
    data = b"" if held is None else fixture.driver.bytes(int(held["data"]), SIZE, lender.own)
    right = held is None or data == bytes([FILLED]) * SIZE
    observed = "; ".join(races[:1]) or ("what was written" if right else "not what was written")
    use = f"with {fixture.on.use.format('s')}: y = {consumer.subject.from_dlpack.format('x')}; "
    repro = write_spy_repro(
        fixture,
        consumer,
        f"s = {fixture.on.stream.format(0)}  # and it is unfinished work that is read",
        f"{use}z = {fixture.on.read.format('y')}",
    )
    return CheckResult(right and not races, f"{observed}; stream {lender.stream} was passed", repro)
