"""Owns the checks of a producer's device, pinned and managed memory: what it is called, and copies
out of it and within it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable
from refarray.conformance.gpu.device_fixture import SIZE, DeviceFixture
from refarray.conformance.gpu.driver_calls import LOOK_SECONDS
from refarray.conformance.harness.producer import VERSIONED, Export, Producer, raised
from refarray.conformance.suite.producer.device_streams import BOTH, exported, handle_of, on_each

COPIES = ("Memcpy", "Memset", "LaunchKernel")
OTHER = 0xEE
"""A byte that no array holds."""


def kinds(fixture: DeviceFixture) -> dict[str, int]:
    """The device type of each kind of memory."""
    vendor = fixture.vendor
    return {"device": vendor.kind, "pinned": vendor.pinned, "managed": vendor.managed}


def made(fixture: DeviceFixture, kind: str) -> tuple[str, Any]:
    """An array of a kind of memory, and its expression."""
    text = fixture.text() if kind == "device" else getattr(fixture.on, kind)
    return text, fixture.eval(text)


def _kind(kind: str, vendors: tuple[str, ...] = BOTH) -> None:
    @on_each("DEV-04", "producer", kind, f"{kind} memory is announced as what it is", vendors)
    def _truth(fixture: DeviceFixture, producer: Producer) -> CheckResult:
        text, array = made(fixture, kind)
        device = producer.device(array)
        repro = fixture.repro(f"print({text}.__dlpack_device__())")
        return CheckResult(device[0] == kinds(fixture)[kind], f"device {device}", repro)

    @on_each("DEV-03", "producer", kind, "the struct's device is the announced one", vendors)
    def _same(fixture: DeviceFixture, producer: Producer) -> CheckResult:
        text, array = made(fixture, kind)
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
    def _(fixture: DeviceFixture, producer: Producer) -> CheckResult:
        text, array = made(fixture, kind)
        device = producer.device(array)
        return CheckResult(
            device[1] == 0, f"device {device}", fixture.repro(f"print({text}.__dlpack_device__())")
        )


_zero("pinned")
_zero("managed", ("cuda",))


@on_each("PROD-09", "producer", "copy-False", "to the host with copy=False is a BufferError")
def _no_copy(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    asked = {"dl_device": (1, 0), "copy": False, **VERSIONED}
    export = producer.export(fixture.text(), fixture.array(), **asked)
    held = isinstance(export.error, BufferError)
    return CheckResult(held, f"{export}", fixture.repro(f"print({export.call})"))


@on_each("STRM-17", "producer", "to-host", "a stream beside dl_device of the host is refused")
def _unfit(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    array = fixture.array()
    if producer.export(fixture.text(), array, dl_device=(1, 0), **VERSIONED).error is not None:
        raise NotApplicable("it makes no copies for the host")
    stream = fixture.foreign()
    export = producer.export(fixture.text(), array, dl_device=(1, 0), stream=stream, **VERSIONED)
    return CheckResult(
        export.error is not None, f"{export}", fixture.repro(f"print({export.call})")
    )


@on_each("FLAG-03", "producer", "to-host", "IS_COPIED is set on a copy for the host")
def _marked(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    export = producer.export(fixture.text(), fixture.array(), dl_device=(1, 0), **VERSIONED)
    if export.error is not None:
        raise NotApplicable(f"it makes no copies for the host: {export}")
    held = bool(export.flags & 2)
    return producer.seen(held, export, f"flags {export.flags:#x}", field="flags")


def copied_on(
    fixture: DeviceFixture, stream: int, source: int, copy: Callable[[], Export]
) -> tuple[bool, str]:
    """Whether a copy was made in a stream, and what was seen. On a real device the stream is
    stopped, and what is copied is overwritten meanwhile."""
    if fixture.checker is not None:
        before = len(fixture.checker.trace())
        copy()
        calls = fixture.checker.trace()[before:]
        work = [call for call in calls if any(word in call["call"] for word in COPIES)]
        if not work:
            raise NotApplicable("nothing was copied")
        told = ", ".join(f"{call['call']} on stream {call.get('stream', 0):#x}" for call in work)
        return all(call.get("stream") == stream for call in work), told
    other = fixture.foreign()
    with fixture.driver.gate(stream) as gate:
        export = copy()
        if gate.opened:
            raise NotApplicable("the copy waits for the stream")
        time.sleep(LOOK_SECONDS)
        fixture.driver.call("fill", source, OTHER, SIZE, other)
        fixture.driver.call("wait", other)
    held = fixture.driver.bytes(export.address, SIZE, stream) == bytes([OTHER]) * SIZE
    return held, "copied in the stream" if held else "copied before the stream could do it"


@on_each("PROD-14", "producer", "copy", "copy=True is done in the stream that is passed")
def _copy(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    array = fixture.array()
    source = exported(producer, fixture, array, -1)
    stream = fixture.foreign()
    held, told = copied_on(
        fixture,
        stream,
        source.address,
        lambda: exported(producer, fixture, array, stream, copy=True),
    )
    call = f"c = x.__dlpack__(stream={handle_of(fixture)}, copy=True, max_version=(1, 3))"
    return CheckResult(held, told, fixture.repro_pending(call))


@on_each("AAPI-04", "producer", "move", "to_device with stream copies in that stream")
def _moved(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    fixture.several()
    array = fixture.array()
    source = exported(producer, fixture, array, -1)
    stream = fixture.foreign(1)
    text = fixture.on.move.format("_x", 1, "_t")

    def move() -> Export:
        moved = fixture.eval(text, _x=array, _t=stream)
        return producer.export(text, moved, stream=-1, **VERSIONED)

    held, told = copied_on(fixture, stream, source.address, move)
    there = fixture.on.stream.format(1)
    call = fixture.on.move.format("x", 1, handle_of(fixture))
    return CheckResult(
        held, told, fixture.repro(f"x = {fixture.text()}; t = {there}", f"y = {call}")
    )


@on_each("AAPI-04", "producer", "values", "to_device refuses the streams that __dlpack__ refuses")
def _same_values(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    fixture.several()
    array = fixture.array()
    wrong = 0 if fixture.vendor.name == "cuda" else 1
    if producer.export(fixture.text(), array, stream=wrong, **VERSIONED).error is None:
        raise NotApplicable(f"__dlpack__ takes stream={wrong}; STRM-10 and STRM-12 judge that")
    if not fixture.on.move:
        raise NotApplicable(f"no to_device of {fixture.subject.name} is known")
    call = fixture.on.move.format("_x", 1, wrong)
    repro = fixture.repro(f"print({fixture.on.move.format(fixture.text(), 1, wrong)})")
    try:
        eval(call, {**fixture.namespace, "_x": array})
    except Exception as error:
        return CheckResult(True, raised(error), repro)
    return CheckResult(False, f"stream={wrong} is taken", repro)
