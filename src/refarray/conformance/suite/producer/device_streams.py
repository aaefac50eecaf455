"""Owns the checks of what a stream value means for arrays on devices, and of the order that an
export gives."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from refarray.conformance.cases import NotApplicable, Seen, check
from refarray.conformance.gpu.device_fixture import SIZE, Pending, Stage, staged
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
) -> Callable[[Callable[[Stage, Any], Seen]], None]:
    """Enters the decorated probe, which is given a stage, for each vendor."""

    def enter(probe: Callable[[Stage, Any], Seen]) -> None:
        for vendor in vendors:

            def on_stage(each: Any, vendor: str = vendor) -> Seen:
                with staged(each, vendor) as stage:
                    return probe(stage, each)

            check(name, role, f"{vendor}-{case}", expected, level=level, devices=True)(on_stage)

    return enter


def exported(producer: Producer, stage: Stage, array: Any, stream: Any, **more: Any) -> Export:
    """An export of an array of device 0 for a stream. NotApplicable when that is refused, which
    STRM-16 allows."""
    asked = producer.export(stage.text(), array, stream=stream, **VERSIONED, **more)
    if asked.error is not None:
        raise NotApplicable(f"it refuses stream={stream!r}, as STRM-16 allows: {asked}")
    return asked


def line(stream: object) -> str:
    """The export in a repro: by its value, or by the stream `t`."""
    return f"c = x.__dlpack__(stream={stream}, max_version=(1, 3))"


def handle_of(stage: Stage, name: str = "t") -> str:
    """The number of a stream of that name, as Python text."""
    return stage.on.handle.format(name)


def words(follows: bool, who: str) -> str:
    """What was seen of an order."""
    return f"{who} {'follows' if follows else 'does not wait for'} the array's unfinished write"


def _waits(name: str, vendor: str, case: str, value: Any, stream: int, who: str) -> None:
    @on_each(name, "producer", case, f"stream={value}: {who} waits for unfinished work", (vendor,))
    def _(stage: Stage, producer: Producer) -> Seen:
        with stage.pending() as pending:
            export = exported(producer, stage, pending.array, value)
            held = stage.follows(pending, export, stream)
        return Seen(held, words(held, who), stage.repro_pending(line(value)))


_waits("STRM-06", "cuda", "none", None, 1, "the legacy default stream")
_waits("STRM-07", "cuda", "1", 1, 1, "the legacy default stream")
_waits("STRM-08", "cuda", "2", 2, 2, "the per-thread default stream")
_waits("STRM-11", "rocm", "none", None, 0, "the default stream")
_waits("STRM-11", "rocm", "0", 0, 0, "the default stream")


def by_handle(stage: Stage, producer: Producer, pending: Pending) -> tuple[bool, bool, int]:
    """Exports for a stream by its handle: whether that stream waits, whether the legacy default
    stream does instead, and the handle."""
    stream = stage.foreign()
    export = exported(producer, stage, pending.array, stream)
    held = stage.follows(pending, export, stream)
    elsewhere = not held and stage.follows(pending, export, stage.vendor.legacy)
    return held, elsewhere, stream


@on_each("STRM-02", "producer", "handle", "a stream that is passed waits for unfinished work")
def _safe(stage: Stage, producer: Producer) -> Seen:
    with stage.pending() as pending:
        held, elsewhere, _ = by_handle(stage, producer, pending)
    if elsewhere:
        raise NotApplicable("another stream waits: STRM-09 and STRM-11 judge that")
    told = words(held, "the stream")
    return Seen(held, told, stage.repro_pending(line(handle_of(stage))))


@on_each("STRM-02", "producer", "again", "a second export waits for what came after the first")
def _again(stage: Stage, producer: Producer) -> Seen:
    with stage.pending() as pending:
        if not by_handle(stage, producer, pending)[0]:
            raise NotApplicable("the first does not wait: the case before judges that")
        stage.write(pending.array, pending.source, pending.stream)
        held, _, _ = by_handle(stage, producer, pending)
    export = line(handle_of(stage))
    again = f"with {stage.on.use.format('s')}: {stage.on.write.format('x', 'y')}"
    return Seen(held, words(held, "the stream"), stage.repro_pending(export, again, export))


def _is_a_handle(name: str, vendor: str) -> None:
    @on_each(name, "producer", "handle", "above 2 the number is that stream's address", (vendor,))
    def _(stage: Stage, producer: Producer) -> Seen:
        with stage.pending() as pending:
            held, elsewhere, stream = by_handle(stage, producer, pending)
        if not held and not elsewhere:
            raise NotApplicable("no stream waits: STRM-02 judges that")
        told = f"stream={stream:#x}: {'it' if held else 'the legacy default stream'} waits"
        return Seen(held, told, stage.repro_pending(line(handle_of(stage))))


_is_a_handle("STRM-09", "cuda")
_is_a_handle("STRM-11", "rocm")


@on_each("STRM-03", "producer", "handle", "the export returns before the work is done")
def _no_blocking(stage: Stage, producer: Producer) -> Seen:
    with stage.pending() as pending:
        before = stage.calls("Synchronize")
        exported(producer, stage, pending.array, stage.foreign())
        blocked = pending.gate.opened
        waits = stage.calls("Synchronize")[len(before) :]
    told = f"{'waited for the work' if blocked else 'returned'}; {', '.join(waits) or 'no waits'}"
    return Seen(not blocked and not waits, told, stage.repro_pending(line(handle_of(stage))))


def _nothing(name: str, vendor: str) -> None:
    @on_each(
        name, "producer", "minus-1", "stream=-1: no stream waits, nor does the host", (vendor,)
    )
    def _(stage: Stage, producer: Producer) -> Seen:
        with stage.pending() as pending:
            before = stage.calls(*SYNCHRONISES)
            export = exported(producer, stage, pending.array, -1)
            made = stage.calls(*SYNCHRONISES)[len(before) :]
            blocked = pending.gate.opened
            waits = not blocked and stage.follows(pending, export, stage.vendor.legacy)
        told = [*made, *["the host waits"] * blocked, *["the default stream waits"] * waits]
        seen = ", ".join(told) or "nothing was synchronised"
        return Seen(not told, seen, stage.repro_pending(line(-1)))


_nothing("STRM-04", "cuda")
_nothing("STRM-13", "rocm")


def _refused(name: str, vendor: str, case: str, value: Any, expected: str) -> None:
    @on_each(name, "producer", case, expected, (vendor,))
    def _(stage: Stage, producer: Producer) -> Seen:
        export = producer.export(stage.text(), stage.array(), stream=value, **VERSIONED)
        call = f"print({stage.text()}.__dlpack__(stream={value!r}))"
        return Seen(export.error is not None, f"{export}", stage.repro(call))


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
def _ownership(stage: Stage, producer: Producer) -> Seen:
    array, source = stage.array(), stage.array()
    stream, _ = stage.stream()
    stage.write(array, source, stream)
    theirs = stage.foreign()
    export: Export | None = exported(producer, stage, array, theirs)
    stage.driver.call("all")
    code = stage.driver.code(stage.vendor.calls["destroy"], theirs)
    stage.write(array, source, stream)
    export = array = source = None
    stage.driver.use(0)
    stage.driver.call("all")
    wrong = stage.wrong("bad-handle")
    told = "; ".join([*[f"destroying it gave {code}"] * bool(code), *wrong]) or "it was not"
    destroy = f"n = {handle_of(stage)}; x.__dlpack__(stream=n, max_version=(1, 3)); del t, x"
    return Seen(not code and not wrong and export is None, told, stage.repro_pending(destroy))


@on_each("STRM-19", "producer", "device-1", "with device 1 current: it stays so, and all is of 0")
def _restored(stage: Stage, producer: Producer) -> Seen:
    stage.several()
    with stage.pending() as pending:
        theirs = stage.foreign()
        stage.driver.use(1)
        exported(producer, stage, pending.array, theirs)
        now = stage.driver.current()
        wrong = stage.wrong("wrong-device-record", "wrong-device-launch")
    told = "; ".join([f"device {now} is current", *wrong])
    repro = stage.repro_pending(line(handle_of(stage)))
    return Seen(now == 1 and not wrong, told, repro)


def captured(stage: Stage, producer: Producer, stream: int, value: int, array: Any) -> Seen:
    """What an export does to a stream that is being captured."""
    stage.driver.call("capture", stream, 0)
    try:
        export = producer.export(stage.text(), array, stream=value, **VERSIONED)
    finally:
        graph = ctypes.c_uint64()
        end = stage.vendor.calls["captured"]
        code = stage.driver.code(end, stream, ctypes.byref(graph))
    if not code:
        stage.driver.call("graph", graph.value)
    told = f"{export}; the capture {f'is invalid: {code}' if code else 'goes on'}"
    repro = stage.repro_pending("# while a stream is captured:", line(value))
    return Seen(export.error is None and code == 0, told, repro)


@on_each("STRM-21", "producer", "minus-1", "stream=-1 does no harm to a capture that is under way")
def _capture(stage: Stage, producer: Producer) -> Seen:
    return captured(stage, producer, stage.foreign(), -1, stage.array())


@on_each("STRM-21", "producer", "same", "nor does the stream that the array was written in")
def _capture_same(stage: Stage, producer: Producer) -> Seen:
    array, source = stage.array(), stage.array()
    stream, handle = stage.stream()
    stage.write(array, source, stream)
    stage.driver.use(0)
    stage.driver.call("all")
    return captured(stage, producer, handle, handle, array)


def _for_the_host(kind: str, vendors: tuple[str, ...]) -> None:
    @on_each("STRM-22", "producer", kind, f"{kind} memory is ready for the host", vendors)
    def _(stage: Stage, producer: Producer) -> Seen:
        with stage.pending(kind=kind, seconds=SHORT) as pending:
            export = exported(producer, stage, pending.array, None)
            early = not pending.gate.opened
            if stage.checker is not None:
                stage.checker.touch(export.address, SIZE)
                early = bool(stage.wrong("race"))
        told = "unfinished when the export returned" if early else "done when the export returned"
        return Seen(not early, told, stage.repro_pending(line(None), kind=kind))


_for_the_host("pinned", BOTH)
_for_the_host("managed", ("cuda",))


@on_each("STRM-24", "producer", "thread", "stream=2 is the calling thread's own", ("cuda",))
def _thread(stage: Stage, producer: Producer) -> Seen:
    said: list[bool | BaseException] = []

    def work(pending: Pending) -> None:
        try:
            stage.driver.use(0)
            export = exported(producer, stage, pending.array, 2)
            said.append(stage.follows(pending, export, 2))
        except BaseException as error:
            said.append(error)

    with stage.pending() as pending:
        if not stage.follows(pending, exported(producer, stage, pending.array, 2), 2):
            raise NotApplicable("it does not wait in this thread either: STRM-08 judges that")
        thread = threading.Thread(target=work, args=(pending,))
        thread.start()
        thread.join()
    if isinstance(said[0], BaseException):
        raise said[0]
    told = words(said[0], "the per-thread default stream of another thread")
    thread_text = f"import threading; z = threading.Thread(target=lambda: {line(2)[4:]})"
    return Seen(said[0], told, stage.repro_pending(thread_text, "z.start(); z.join()"))
