"""STRM checks of a producer: host memory has no streams; on a device the stream values, and the
order that an export creates."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from refarray._describe import device_type_text
from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.dlpack import CPU
from refarray.conformance.gpu.device_fixture import SIZE, DeviceFixture, Pending
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.requirements import Level
from refarray.conformance.suite.on_devices import (
    BOTH,
    SYNCHRONISES,
    check_on_devices,
    export_for,
    export_line,
    handle_of,
    order_observed,
)
from refarray.conformance.suite.producer.methods import require_no_stream

MALFORMED: dict[str, Any] = {"below": -2, "huge": 2**80, "float": 1.0, "text": "1"}
"""Values that are no stream on any device."""


def cpu_text(producer: Producer) -> str:
    """The expression of an array on the CPU. NotApplicable if there is none."""
    text = producer.text()
    device = producer.device(producer.make(text))[0]
    if device != CPU:
        raise NotApplicable(
            f"its arrays lie on device type {device_type_text(device)}, not on the CPU"
        )
    return text


@check_cases(
    "STRM-05",
    {f"cpu-{case}": value for case, value in MALFORMED.items()},
    "stream={value!r} is refused: it is no int of -1 or more",
    same_as="STRM-14[producer-cpu-1]",
)
@check_cases(
    "STRM-14",
    {f"cpu-{value}": value for value in (-1, 0, 1, 2)},
    "stream={value} is refused on the CPU: only None is valid",
    # One sentence allows -1 to every consumer, another only None on the CPU.
    level={"cpu--1": "DISPUTED"},
)
def stream_is_refused(producer: Producer, stream: Any) -> CheckResult:
    export = producer.export(cpu_text(producer), stream=stream, **VERSIONED)
    return producer.make_result(export.error is not None, export)


@check("STRM-14", "cpu-none", "stream=None is accepted on the CPU")
def none_is_accepted(producer: Producer) -> CheckResult:
    export = producer.export(cpu_text(producer), stream=None, **VERSIONED)
    return producer.make_result(export.held is not None, export)


@check("STRM-17", "cpu", "a stream that does not fit dl_device is an exception")
def stream_does_not_fit_device(producer: Producer) -> CheckResult:
    require_no_stream(producer, 2)
    export = producer.export(producer.text(), dl_device=(1, 0), stream=2, **VERSIONED)
    return producer.make_result(export.error is not None, export)


# --- on a device


SHORT = 0.2
"""Seconds that a gate stays closed when the host is expected to wait for it."""


def order_result(fixture: DeviceFixture, held: bool, stream: str, line: str) -> CheckResult:
    """Whether an export ordered a stream after work on the library's current stream. A library
    without one is given a stream by each call, and may leave the order to its users (as in the case
    `left`)."""
    level = None if fixture.on.use else Level.DISPUTED
    repro = fixture.repro_pending(then=line)
    return CheckResult(held, order_observed(held, stream), repro, level=level)


def stream_value_waits(
    fixture: DeviceFixture, producer: Producer, row: tuple[Any, int, str]
) -> CheckResult:
    value, stream, name = row
    with fixture.pending() as pending, fixture.writing_on(pending.stream):
        export = export_for(producer, fixture, pending.array, value)
        held = fixture.follows(pending, export, stream)
    return order_result(fixture, held, name, export_line(value))


# (requirement, vendor, case, the value passed, the stream that it means, the stream's name)
DEFAULT_STREAMS = (
    ("STRM-06", "cuda", "none", None, 1, "the legacy default stream"),
    ("STRM-07", "cuda", "1", 1, 1, "the legacy default stream"),
    ("STRM-08", "cuda", "2", 2, 2, "the per-thread default stream"),
    ("STRM-11", "rocm", "none", None, 0, "the default stream"),
    ("STRM-11", "rocm", "0", 0, 0, "the default stream"),
)
for _id, _vendor, _case, _value, _stream, _name in DEFAULT_STREAMS:
    check_on_devices(
        *(_id, _case, f"stream={_value}: {_name} waits for unfinished work"),
        vendors=(_vendor,),
        value=(_value, _stream, _name),
        same_as=(f"STRM-02[producer-{_vendor}-handle]",),
    )(stream_value_waits)


def export_by_handle(
    fixture: DeviceFixture, producer: Producer, pending: Pending
) -> tuple[bool, bool, int]:
    """Exports for a stream passed by its handle: whether that stream waits, whether the legacy
    default stream waits instead, and the handle."""
    stream = fixture.foreign()
    export = export_for(producer, fixture, pending.array, stream)
    held = fixture.follows(pending, export, stream)
    elsewhere = not held and fixture.follows(pending, export, fixture.vendor.legacy)
    return held, elsewhere, stream


@check_on_devices("STRM-02", "handle", "a stream that is passed waits for unfinished work")
def passed_stream_waits(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    with fixture.pending() as pending, fixture.writing_on(pending.stream):
        held, elsewhere, _ = export_by_handle(fixture, producer, pending)
    if elsewhere:
        raise NotApplicable("another stream waits: STRM-09 and STRM-11 judge that")
    return order_result(fixture, held, "the stream", export_line(handle_of(fixture)))


@check_on_devices(
    "STRM-02",
    "left",
    "the same after the library has left the stream of that work",
    level="DISPUTED",  # libraries leave the order of their own streams to their users
    rules="2026.2",
)
def passed_stream_waits_for_left_one(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    with fixture.pending() as pending:
        held, elsewhere, _ = export_by_handle(fixture, producer, pending)
    if elsewhere:
        raise NotApplicable("another stream waits: STRM-09 and STRM-11 judge that")
    repro = fixture.repro_pending(export_line(handle_of(fixture)))
    return CheckResult(held, order_observed(held, "the stream"), repro)


@check_on_devices("STRM-02", "again", "a second export waits for work queued after the first")
def passed_stream_waits_again(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    with fixture.pending() as pending, fixture.writing_on(pending.stream):
        if not export_by_handle(fixture, producer, pending)[0]:
            raise NotApplicable("the first does not wait: the case before judges that")
        fixture.write(pending.array, pending.source, pending.stream)
        held, _, _ = export_by_handle(fixture, producer, pending)
    export = export_line(handle_of(fixture))
    repro = fixture.repro_pending(fixture.repro_write(export), then=export)
    return CheckResult(held, order_observed(held, "the stream"), repro)


HANDLE = "above 2 the number is that stream's address"


@check_on_devices("STRM-09", "handle", HANDLE, vendors=("cuda",))
@check_on_devices("STRM-11", "handle", HANDLE, vendors=("rocm",))
def number_is_a_handle(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    with fixture.pending() as pending, fixture.writing_on(pending.stream):
        held, elsewhere, stream = export_by_handle(fixture, producer, pending)
    if not held and not elsewhere:
        raise NotApplicable("no stream waits: STRM-02 judges that")
    observed = f"stream={stream:#x}: {'it' if held else 'the legacy default stream'} waits"
    return CheckResult(held, observed, fixture.repro_pending(then=export_line(handle_of(fixture))))


@check_on_devices("STRM-03", "handle", "the export returns before the work is done")
def export_does_not_block(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    with fixture.pending() as pending:
        before = fixture.calls("Synchronize")
        export_for(producer, fixture, pending.array, fixture.foreign())
        blocked = pending.gate.opened
        waits = fixture.calls("Synchronize")[len(before) :]
    observed = f"{'waited for the work' if blocked else 'returned'}; "
    observed += ", ".join(waits) or "no waits"
    repro = fixture.repro_pending(export_line(handle_of(fixture)))
    return CheckResult(not blocked and not waits, observed, repro)


MINUS_1 = "stream=-1: neither a stream nor the host waits"


@check_on_devices("STRM-04", "minus-1", MINUS_1, vendors=("cuda",))
@check_on_devices("STRM-13", "minus-1", MINUS_1, vendors=("rocm",))
def minus_1_does_not_synchronise(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    with fixture.pending() as pending:
        before = fixture.calls(*SYNCHRONISES)
        export = export_for(producer, fixture, pending.array, -1)
        made = fixture.calls(*SYNCHRONISES)[len(before) :]
        blocked = pending.gate.opened
        waits = not blocked and fixture.follows(pending, export, fixture.vendor.legacy)
    wrong = [*made, *["the host waits"] * blocked, *["the default stream waits"] * waits]
    observed = ", ".join(wrong) or "nothing was synchronised"
    return CheckResult(not wrong, observed, fixture.repro_pending(export_line(-1)))


def stream_value_is_refused(
    fixture: DeviceFixture, producer: Producer, row: tuple[Any]
) -> CheckResult:
    (value,) = row
    export = producer.export(fixture.text(), fixture.array(), stream=value, **VERSIONED)
    call = f"print({fixture.text()}.__dlpack__(stream={value!r}))"
    return CheckResult(export.error is not None, f"{export}", fixture.repro(call))


# (requirement, vendor, case, value, expected)
REFUSED_VALUES: list[tuple[str, str, str, Any, str]] = [
    ("STRM-10", "cuda", "0", 0, "stream=0, which may mean either default stream, is refused"),
    ("STRM-12", "rocm", "1", 1, "stream=1 is refused with ROCm"),
    ("STRM-12", "rocm", "2", 2, "stream=2 is refused with ROCm"),
    *(
        ("STRM-05", vendor, case, value, f"stream={value!r} is refused: no int of -1 or more")
        for vendor in BOTH
        for case, value in MALFORMED.items()
    ),
]
for _id, _vendor, _case, _refused, _expected in REFUSED_VALUES:
    check_on_devices(*(_id, _case, _expected), vendors=(_vendor,), value=(_refused,))(
        stream_value_is_refused
    )


@check_on_devices(
    "STRM-15", "destroyed", "the stream is neither used after the export nor destroyed"
)
def stream_is_not_kept(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    array, source = fixture.array(), fixture.array()
    stream, _ = fixture.stream()
    fixture.write(array, source, stream)
    theirs = fixture.foreign()
    export: Export | None = export_for(producer, fixture, array, theirs)
    fixture.driver.call("all")
    code = fixture.driver.code(fixture.vendor.calls["destroy"], theirs)
    fixture.write(array, source, stream)
    export = array = source = None
    fixture.driver.use(0)
    fixture.driver.call("all")
    wrong = fixture.wrong("bad-handle")
    observed = "; ".join([*[f"destroying it gave {code}"] * bool(code), *wrong]) or "it was not"
    destroy = f"n = {handle_of(fixture)}; x.__dlpack__(stream=n, max_version=(1, 3)); del t, x"
    held = not code and not wrong and export is None
    return CheckResult(held, observed, fixture.repro_pending(destroy))


@check_on_devices(
    "STRM-17",
    "to-host",
    "a stream together with dl_device of the host is refused",
    level="DISPUTED",  # the sentence may bind the consumer, and CuPy and PyTorch use the stream
)
def stream_with_host_device(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    array = fixture.array()
    if producer.export(fixture.text(), array, dl_device=(1, 0), **VERSIONED).error is not None:
        raise NotApplicable("it makes no copies for the host")
    stream = fixture.foreign()
    export = producer.export(fixture.text(), array, dl_device=(1, 0), stream=stream, **VERSIONED)
    call = f"{fixture.text()}.__dlpack__(dl_device=(1, 0), stream={handle_of(fixture)})"
    repro = fixture.repro(f"t = {fixture.on.stream.format(0)}", f"print({call})")
    return CheckResult(export.error is not None, f"{export}", repro)


@check_on_devices(
    "STRM-19",
    "device-1",
    "if device 1 is current, it stays current, and the work is queued on device 0",
)
def current_device_is_restored(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    fixture.several()
    with fixture.pending() as pending:
        theirs = fixture.foreign()
        fixture.driver.use(1)
        export_for(producer, fixture, pending.array, theirs)
        now = fixture.driver.current()
        wrong = fixture.wrong("wrong-device-record", "wrong-device-launch")
    observed = "; ".join([f"device {now} is current", *wrong])
    repro = fixture.repro_pending(export_line(handle_of(fixture)))
    return CheckResult(now == 1 and not wrong, observed, repro)


def export_during_capture(
    fixture: DeviceFixture, producer: Producer, stream: int, array: Any, value: int, line: str
) -> CheckResult:
    """Whether an export with `stream=value`, in a repro `line`, leaves a capture of `stream`
    valid."""
    fixture.driver.call("capture", stream, 0)
    try:
        export = producer.export(fixture.text(), array, stream=value, **VERSIONED)
    finally:
        graph = ctypes.c_uint64()
        end = fixture.vendor.calls["captured"]
        code = fixture.driver.code(end, stream, ctypes.byref(graph))
    if not code:
        fixture.driver.call("graph", graph.value)
    observed = f"{export}; the capture {f'is invalid: {code}' if code else 'goes on'}"
    repro = fixture.repro_pending("# while a stream is captured:", line)
    return CheckResult(export.error is None and code == 0, observed, repro)


@check_on_devices("STRM-21", "minus-1", "an export with stream=-1 leaves a running capture valid")
def capture_survives_minus_1(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    stream, array = fixture.foreign(), fixture.array()
    return export_during_capture(fixture, producer, stream, array, -1, export_line(-1))


@check_on_devices(
    "STRM-21",
    "same",
    "an export for the stream that wrote the array leaves a running capture valid",
)
def capture_survives_own_stream(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    array, source = fixture.array(), fixture.array()
    stream, handle = fixture.stream()
    fixture.write(array, source, stream)
    fixture.driver.use(0)
    fixture.driver.call("all")
    line = export_line(handle_of(fixture, "s"))
    with fixture.writing_on(stream):
        return export_during_capture(fixture, producer, handle, array, handle, line)


def host_memory_is_ready(fixture: DeviceFixture, producer: Producer, kind: str) -> CheckResult:
    with fixture.pending(kind=kind, seconds=SHORT) as pending:
        export = export_for(producer, fixture, pending.array, None)
        early = not pending.gate.opened
        if fixture.checker is not None:
            fixture.checker.touch(export.address, SIZE)
            early = bool(fixture.wrong("race"))
    observed = f"{'unfinished' if early else 'done'} when the export returned"
    return CheckResult(not early, observed, fixture.repro_pending(export_line(None), kind=kind))


for _kind, _vendors in (("pinned", BOTH), ("managed", ("cuda",))):
    check_on_devices(
        *("STRM-22", _kind, f"{_kind} memory is ready for the host"), vendors=_vendors, value=_kind
    )(host_memory_is_ready)


@check_on_devices("STRM-24", "thread", "stream=2 is the calling thread's own", vendors=("cuda",))
def per_thread_stream_of_another_thread(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    outcomes: list[bool | BaseException] = []

    def work(pending: Pending) -> None:
        try:
            fixture.driver.use(0)
            export = export_for(producer, fixture, pending.array, 2)
            outcomes.append(fixture.follows(pending, export, 2))
        except BaseException as error:
            outcomes.append(error)

    with fixture.pending() as pending:
        if not fixture.follows(pending, export_for(producer, fixture, pending.array, 2), 2):
            raise NotApplicable("it does not wait in this thread either: STRM-08 judges that")
        thread = threading.Thread(target=work, args=(pending,))
        thread.start()
        thread.join()
    (outcome,) = outcomes
    if isinstance(outcome, BaseException):
        raise outcome
    observed = order_observed(outcome, "the per-thread default stream of another thread")
    thread_text = f"import threading; z = threading.Thread(target=lambda: {export_line(2)[4:]})"
    repro = fixture.repro_pending(thread_text, "z.start(); z.join()")
    return CheckResult(outcome, observed, repro)
