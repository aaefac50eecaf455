"""Owns the checks of what a stream value means for arrays on devices, and of the order that an
export gives."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.gpu.device_fixture import SIZE, DeviceFixture, Pending, on_device
from refarray.conformance.harness.producer import VERSIONED, Export, Producer

BOTH = ("cuda", "rocm")
SHORT = 0.2
"""How long a gate is shut that the host has to wait for."""
SYNCHRONISES = ("Synchronize", "StreamWaitEvent", "EventRecord")


def on_each(
    name: str,
    role: str,
    case: str,
    expected: str,
    vendors: tuple[str, ...] = BOTH,
    level: str = "",
) -> Callable[[Callable[[DeviceFixture, Any], CheckResult]], None]:
    """Enters the decorated probe, which is given a fixture, for each vendor."""

    def enter(probe: Callable[[DeviceFixture, Any], CheckResult]) -> None:
        for vendor in vendors:

            def on_stage(each: Any, vendor: str = vendor) -> CheckResult:
                with on_device(each, vendor) as fixture:
                    return probe(fixture, each)

            check(name, role, f"{vendor}-{case}", expected, level=level, devices=True)(on_stage)

    return enter


def exported(
    producer: Producer, fixture: DeviceFixture, array: Any, stream: Any, **more: Any
) -> Export:
    """An export of an array of device 0 for a stream. NotApplicable when that is refused, which
    STRM-16 allows."""
    asked = producer.export(fixture.text(), array, stream=stream, **VERSIONED, **more)
    if asked.error is not None:
        raise NotApplicable(f"it refuses stream={stream!r}, as STRM-16 allows: {asked}")
    return asked


def line(stream: object) -> str:
    """The export in a repro: by its value, or by the stream `t`."""
    return f"c = x.__dlpack__(stream={stream}, max_version=(1, 3))"


def handle_of(fixture: DeviceFixture, name: str = "t") -> str:
    """The number of a stream of that name, as Python text."""
    return fixture.on.handle.format(name)


def words(follows: bool, who: str) -> str:
    """What was seen of an order."""
    return f"{who} {'follows' if follows else 'does not wait for'} the array's unfinished write"


def _waits(name: str, vendor: str, case: str, value: Any, stream: int, who: str) -> None:
    @on_each(name, "producer", case, f"stream={value}: {who} waits for unfinished work", (vendor,))
    def _(fixture: DeviceFixture, producer: Producer) -> CheckResult:
        with fixture.pending() as pending:
            export = exported(producer, fixture, pending.array, value)
            held = fixture.follows(pending, export, stream)
        return CheckResult(held, words(held, who), fixture.repro_pending(line(value)))


_waits("STRM-06", "cuda", "none", None, 1, "the legacy default stream")
_waits("STRM-07", "cuda", "1", 1, 1, "the legacy default stream")
_waits("STRM-08", "cuda", "2", 2, 2, "the per-thread default stream")
_waits("STRM-11", "rocm", "none", None, 0, "the default stream")
_waits("STRM-11", "rocm", "0", 0, 0, "the default stream")


def by_handle(
    fixture: DeviceFixture, producer: Producer, pending: Pending
) -> tuple[bool, bool, int]:
    """Exports for a stream by its handle: whether that stream waits, whether the legacy default
    stream does instead, and the handle."""
    stream = fixture.foreign()
    export = exported(producer, fixture, pending.array, stream)
    held = fixture.follows(pending, export, stream)
    elsewhere = not held and fixture.follows(pending, export, fixture.vendor.legacy)
    return held, elsewhere, stream


@on_each("STRM-02", "producer", "handle", "a stream that is passed waits for unfinished work")
def _safe(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    with fixture.pending() as pending:
        held, elsewhere, _ = by_handle(fixture, producer, pending)
    if elsewhere:
        raise NotApplicable("another stream waits: STRM-09 and STRM-11 judge that")
    told = words(held, "the stream")
    return CheckResult(held, told, fixture.repro_pending(line(handle_of(fixture))))


@on_each("STRM-02", "producer", "again", "a second export waits for what came after the first")
def _again(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    with fixture.pending() as pending:
        if not by_handle(fixture, producer, pending)[0]:
            raise NotApplicable("the first does not wait: the case before judges that")
        fixture.write(pending.array, pending.source, pending.stream)
        held, _, _ = by_handle(fixture, producer, pending)
    export = line(handle_of(fixture))
    again = f"with {fixture.on.use.format('s')}: {fixture.on.write.format('x', 'y')}"
    return CheckResult(
        held, words(held, "the stream"), fixture.repro_pending(export, again, export)
    )


def _is_a_handle(name: str, vendor: str) -> None:
    @on_each(name, "producer", "handle", "above 2 the number is that stream's address", (vendor,))
    def _(fixture: DeviceFixture, producer: Producer) -> CheckResult:
        with fixture.pending() as pending:
            held, elsewhere, stream = by_handle(fixture, producer, pending)
        if not held and not elsewhere:
            raise NotApplicable("no stream waits: STRM-02 judges that")
        told = f"stream={stream:#x}: {'it' if held else 'the legacy default stream'} waits"
        return CheckResult(held, told, fixture.repro_pending(line(handle_of(fixture))))


_is_a_handle("STRM-09", "cuda")
_is_a_handle("STRM-11", "rocm")


@on_each("STRM-03", "producer", "handle", "the export returns before the work is done")
def _no_blocking(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    with fixture.pending() as pending:
        before = fixture.calls("Synchronize")
        exported(producer, fixture, pending.array, fixture.foreign())
        blocked = pending.gate.opened
        waits = fixture.calls("Synchronize")[len(before) :]
    told = f"{'waited for the work' if blocked else 'returned'}; {', '.join(waits) or 'no waits'}"
    return CheckResult(
        not blocked and not waits, told, fixture.repro_pending(line(handle_of(fixture)))
    )


def _nothing(name: str, vendor: str) -> None:
    @on_each(
        name, "producer", "minus-1", "stream=-1: no stream waits, nor does the host", (vendor,)
    )
    def _(fixture: DeviceFixture, producer: Producer) -> CheckResult:
        with fixture.pending() as pending:
            before = fixture.calls(*SYNCHRONISES)
            export = exported(producer, fixture, pending.array, -1)
            made = fixture.calls(*SYNCHRONISES)[len(before) :]
            blocked = pending.gate.opened
            waits = not blocked and fixture.follows(pending, export, fixture.vendor.legacy)
        told = [*made, *["the host waits"] * blocked, *["the default stream waits"] * waits]
        seen = ", ".join(told) or "nothing was synchronised"
        return CheckResult(not told, seen, fixture.repro_pending(line(-1)))


_nothing("STRM-04", "cuda")
_nothing("STRM-13", "rocm")


def _refused(name: str, vendor: str, case: str, value: Any, expected: str) -> None:
    @on_each(name, "producer", case, expected, (vendor,))
    def _(fixture: DeviceFixture, producer: Producer) -> CheckResult:
        export = producer.export(fixture.text(), fixture.array(), stream=value, **VERSIONED)
        call = f"print({fixture.text()}.__dlpack__(stream={value!r}))"
        return CheckResult(export.error is not None, f"{export}", fixture.repro(call))


_refused("STRM-10", "cuda", "0", 0, "stream=0, which may mean either default stream, is refused")
for _value in (1, 2):
    _refused("STRM-12", "rocm", str(_value), _value, f"stream={_value} is refused with ROCm")
BAD: dict[str, Any] = {"below": -2, "huge": 2**80, "float": 1.0, "text": "1"}
for _vendor in BOTH:
    for _case, _bad in BAD.items():
        _refused(
            "STRM-05", _vendor, _case, _bad, f"stream={_bad!r} is refused: no int of -1 or more"
        )


@on_each(
    "STRM-15", "producer", "destroyed", "the stream is not used after the export, nor destroyed"
)
def _ownership(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    array, source = fixture.array(), fixture.array()
    stream, _ = fixture.stream()
    fixture.write(array, source, stream)
    theirs = fixture.foreign()
    export: Export | None = exported(producer, fixture, array, theirs)
    fixture.driver.call("all")
    code = fixture.driver.code(fixture.vendor.calls["destroy"], theirs)
    fixture.write(array, source, stream)
    export = array = source = None
    fixture.driver.use(0)
    fixture.driver.call("all")
    wrong = fixture.wrong("bad-handle")
    told = "; ".join([*[f"destroying it gave {code}"] * bool(code), *wrong]) or "it was not"
    destroy = f"n = {handle_of(fixture)}; x.__dlpack__(stream=n, max_version=(1, 3)); del t, x"
    return CheckResult(
        not code and not wrong and export is None, told, fixture.repro_pending(destroy)
    )


@on_each("STRM-19", "producer", "device-1", "with device 1 current: it stays so, and all is of 0")
def _restored(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    fixture.several()
    with fixture.pending() as pending:
        theirs = fixture.foreign()
        fixture.driver.use(1)
        exported(producer, fixture, pending.array, theirs)
        now = fixture.driver.current()
        wrong = fixture.wrong("wrong-device-record", "wrong-device-launch")
    told = "; ".join([f"device {now} is current", *wrong])
    repro = fixture.repro_pending(line(handle_of(fixture)))
    return CheckResult(now == 1 and not wrong, told, repro)


def captured(
    fixture: DeviceFixture, producer: Producer, stream: int, value: int, array: Any
) -> CheckResult:
    """What an export does to a stream that is being captured."""
    fixture.driver.call("capture", stream, 0)
    try:
        export = producer.export(fixture.text(), array, stream=value, **VERSIONED)
    finally:
        graph = ctypes.c_uint64()
        end = fixture.vendor.calls["captured"]
        code = fixture.driver.code(end, stream, ctypes.byref(graph))
    if not code:
        fixture.driver.call("graph", graph.value)
    told = f"{export}; the capture {f'is invalid: {code}' if code else 'goes on'}"
    repro = fixture.repro_pending("# while a stream is captured:", line(value))
    return CheckResult(export.error is None and code == 0, told, repro)


@on_each("STRM-21", "producer", "minus-1", "stream=-1 does no harm to a capture that is under way")
def _capture(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    return captured(fixture, producer, fixture.foreign(), -1, fixture.array())


@on_each("STRM-21", "producer", "same", "nor does the stream that the array was written in")
def _capture_same(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    array, source = fixture.array(), fixture.array()
    stream, handle = fixture.stream()
    fixture.write(array, source, stream)
    fixture.driver.use(0)
    fixture.driver.call("all")
    return captured(fixture, producer, handle, handle, array)


def _for_the_host(kind: str, vendors: tuple[str, ...]) -> None:
    @on_each("STRM-22", "producer", kind, f"{kind} memory is ready for the host", vendors)
    def _(fixture: DeviceFixture, producer: Producer) -> CheckResult:
        with fixture.pending(kind=kind, seconds=SHORT) as pending:
            export = exported(producer, fixture, pending.array, None)
            early = not pending.gate.opened
            if fixture.checker is not None:
                fixture.checker.touch(export.address, SIZE)
                early = bool(fixture.wrong("race"))
        told = "unfinished when the export returned" if early else "done when the export returned"
        return CheckResult(not early, told, fixture.repro_pending(line(None), kind=kind))


_for_the_host("pinned", BOTH)
_for_the_host("managed", ("cuda",))


@on_each("STRM-24", "producer", "thread", "stream=2 is the calling thread's own", ("cuda",))
def _thread(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    said: list[bool | BaseException] = []

    def work(pending: Pending) -> None:
        try:
            fixture.driver.use(0)
            export = exported(producer, fixture, pending.array, 2)
            said.append(fixture.follows(pending, export, 2))
        except BaseException as error:
            said.append(error)

    with fixture.pending() as pending:
        if not fixture.follows(pending, exported(producer, fixture, pending.array, 2), 2):
            raise NotApplicable("it does not wait in this thread either: STRM-08 judges that")
        thread = threading.Thread(target=work, args=(pending,))
        thread.start()
        thread.join()
    if isinstance(said[0], BaseException):
        raise said[0]
    told = words(said[0], "the per-thread default stream of another thread")
    thread_text = f"import threading; z = threading.Thread(target=lambda: {line(2)[4:]})"
    return CheckResult(said[0], told, fixture.repro_pending(thread_text, "z.start(); z.join()"))
