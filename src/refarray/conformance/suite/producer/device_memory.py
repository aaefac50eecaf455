"""Owns the checks of a producer's device, pinned and managed memory: what it is called, and copies
out of it and within it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from refarray.conformance.cases import NotApplicable, Seen
from refarray.conformance.gpu.device_fixture import SIZE, Stage
from refarray.conformance.gpu.driver_calls import LOOK_SECONDS
from refarray.conformance.harness.producer import VERSIONED, Export, Producer, raised
from refarray.conformance.suite.producer.device_streams import BOTH, exported, handle_of, on_each

COPIES = ("Memcpy", "Memset", "LaunchKernel")
OTHER = 0xEE
"""A byte that no array holds."""


def kinds(stage: Stage) -> dict[str, int]:
    """The device type of each kind of memory."""
    vendor = stage.vendor
    return {"device": vendor.kind, "pinned": vendor.pinned, "managed": vendor.managed}


def made(stage: Stage, kind: str) -> tuple[str, Any]:
    """An array of a kind of memory, and its expression."""
    text = stage.text() if kind == "device" else getattr(stage.on, kind)
    return text, stage.eval(text)


def _kind(kind: str, vendors: tuple[str, ...] = BOTH) -> None:
    @on_each("DEV-04", "producer", kind, f"{kind} memory is announced as what it is", vendors)
    def _truth(stage: Stage, producer: Producer) -> Seen:
        text, array = made(stage, kind)
        device = producer.device(array)
        repro = stage.repro(f"print({text}.__dlpack_device__())")
        return Seen(device[0] == kinds(stage)[kind], f"device {device}", repro)

    @on_each("DEV-03", "producer", kind, "the struct's device is the announced one", vendors)
    def _same(stage: Stage, producer: Producer) -> Seen:
        text, array = made(stage, kind)
        export = producer.export(text, array, **VERSIONED)
        told = f"announced {producer.device(array)}, the struct has {tuple(export['device'])}"
        return producer.seen(
            producer.device(array) == tuple(export["device"]), export, told, field="device_type"
        )


_kind("device")
_kind("pinned")
_kind("managed", ("cuda",))


def _zero(kind: str, vendors: tuple[str, ...] = BOTH) -> None:
    @on_each("DEV-02", "producer", kind, f"the number of {kind} memory is 0", vendors)
    def _(stage: Stage, producer: Producer) -> Seen:
        text, array = made(stage, kind)
        device = producer.device(array)
        return Seen(
            device[1] == 0, f"device {device}", stage.repro(f"print({text}.__dlpack_device__())")
        )


_zero("pinned")
_zero("managed", ("cuda",))


@on_each("PROD-09", "producer", "copy-False", "to the host with copy=False is a BufferError")
def _no_copy(stage: Stage, producer: Producer) -> Seen:
    asked = {"dl_device": (1, 0), "copy": False, **VERSIONED}
    export = producer.export(stage.text(), stage.array(), **asked)
    held = isinstance(export.error, BufferError)
    return Seen(held, f"{export}", stage.repro(f"print({export.call})"))


@on_each("STRM-17", "producer", "to-host", "a stream beside dl_device of the host is refused")
def _unfit(stage: Stage, producer: Producer) -> Seen:
    array = stage.array()
    if producer.export(stage.text(), array, dl_device=(1, 0), **VERSIONED).error is not None:
        raise NotApplicable("it makes no copies for the host")
    stream = stage.foreign()
    export = producer.export(stage.text(), array, dl_device=(1, 0), stream=stream, **VERSIONED)
    return Seen(export.error is not None, f"{export}", stage.repro(f"print({export.call})"))


@on_each("FLAG-03", "producer", "to-host", "IS_COPIED is set on a copy for the host")
def _marked(stage: Stage, producer: Producer) -> Seen:
    export = producer.export(stage.text(), stage.array(), dl_device=(1, 0), **VERSIONED)
    if export.error is not None:
        raise NotApplicable(f"it makes no copies for the host: {export}")
    held = bool(export.flags & 2)
    return producer.seen(held, export, f"flags {export.flags:#x}", field="flags")


def copied_on(
    stage: Stage, stream: int, source: int, copy: Callable[[], Export]
) -> tuple[bool, str]:
    """Whether a copy was made in a stream, and what was seen. On a real device the stream is
    stopped, and what is copied is overwritten meanwhile."""
    if stage.checker is not None:
        before = len(stage.checker.trace())
        copy()
        calls = stage.checker.trace()[before:]
        work = [call for call in calls if any(word in call["call"] for word in COPIES)]
        if not work:
            raise NotApplicable("nothing was copied")
        told = ", ".join(f"{call['call']} on stream {call.get('stream', 0):#x}" for call in work)
        return all(call.get("stream") == stream for call in work), told
    other = stage.foreign()
    with stage.driver.gate(stream) as gate:
        export = copy()
        if gate.opened:
            raise NotApplicable("the copy waits for the stream")
        time.sleep(LOOK_SECONDS)
        stage.driver.call("fill", source, OTHER, SIZE, other)
        stage.driver.call("wait", other)
    held = stage.driver.bytes(export.address, SIZE, stream) == bytes([OTHER]) * SIZE
    return held, "copied in the stream" if held else "copied before the stream could do it"


@on_each("PROD-14", "producer", "copy", "copy=True is done in the stream that is passed")
def _copy(stage: Stage, producer: Producer) -> Seen:
    array = stage.array()
    source = exported(producer, stage, array, -1)
    stream = stage.foreign()
    held, told = copied_on(
        stage, stream, source.address, lambda: exported(producer, stage, array, stream, copy=True)
    )
    call = f"c = x.__dlpack__(stream={handle_of(stage)}, copy=True, max_version=(1, 3))"
    return Seen(held, told, stage.repro_pending(call))


@on_each("AAPI-04", "producer", "move", "to_device with stream copies in that stream")
def _moved(stage: Stage, producer: Producer) -> Seen:
    stage.several()
    array = stage.array()
    source = exported(producer, stage, array, -1)
    stream = stage.foreign(1)
    text = stage.on.move.format("_x", 1, "_t")

    def move() -> Export:
        moved = stage.eval(text, _x=array, _t=stream)
        return producer.export(text, moved, stream=-1, **VERSIONED)

    held, told = copied_on(stage, stream, source.address, move)
    there = stage.on.stream.format(1)
    call = stage.on.move.format("x", 1, handle_of(stage))
    return Seen(held, told, stage.repro(f"x = {stage.text()}; t = {there}", f"y = {call}"))


@on_each("AAPI-04", "producer", "values", "to_device refuses the streams that __dlpack__ refuses")
def _same_values(stage: Stage, producer: Producer) -> Seen:
    stage.several()
    array = stage.array()
    wrong = 0 if stage.vendor.name == "cuda" else 1
    if producer.export(stage.text(), array, stream=wrong, **VERSIONED).error is None:
        raise NotApplicable(f"__dlpack__ takes stream={wrong}; STRM-10 and STRM-12 judge that")
    if not stage.on.move:
        raise NotApplicable(f"no to_device of {stage.subject.name} is known")
    call = stage.on.move.format("_x", 1, wrong)
    repro = stage.repro(f"print({stage.on.move.format(stage.text(), 1, wrong)})")
    try:
        eval(call, {**stage.namespace, "_x": array})
    except Exception as error:
        return Seen(True, raised(error), repro)
    return Seen(False, f"stream={wrong} is taken", repro)
