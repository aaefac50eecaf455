"""Owns the checks of a consumer that is given memory of a device, and of an exchange table's part
in streams."""

from __future__ import annotations

import gc
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable
from refarray.conformance.gpu.device_fixture import SIZE, DeviceFixture
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Producer, raised
from refarray.conformance.harness.recorder import Recorder
from refarray.conformance.subjects.devices import COUNT
from refarray.conformance.suite.exchange_api.table import member
from refarray.conformance.suite.producer.device_streams import SYNCHRONISES, handle_of, on_each

FILLED = 0x3F
"""A byte that the kit fills its memory with."""
LEFT_OUT = "nothing"


class Lender(Recorder):
    """A well-behaved producer of device memory of the kit's, filled in a stream of the kit's."""

    def __init__(self, fixture: DeviceFixture, unit: int = 0, **fields: Any) -> None:
        fixture.driver.use(unit)
        self.fixture = fixture
        self.unit = unit
        self.pointer = fixture.driver.made("memory", SIZE)
        fixture.scratch.append(self.pointer)
        self.own = fixture.driver.stream()
        fixture.driver.call("fill", self.pointer, 0, SIZE, self.own)
        fixture.driver.call("wait", self.own)
        fixture.driver.use(0)
        super().__init__(
            **{
                "device": (fixture.vendor.kind, unit),
                "data": self.pointer,
                "shape": (COUNT,),
                "dtype": (2, 32, 1),
                **fields,
            }
        )

    def __dlpack__(self, **keywords: Any) -> Any:
        """The consumer's stream waits for ours, unless it is -1."""
        given = number(keywords.get("stream"))
        if given != -1:
            before = self.fixture.driver.current()
            self.fixture.driver.use(self.unit)
            legacy = self.fixture.vendor.legacy
            self.fixture.driver.after(legacy if given is None else given, self.own)
            if before is not None:
                self.fixture.driver.use(before)
        return super().__dlpack__(**keywords)

    @property
    def stream(self) -> int | str | None:
        """What the first call passed; LEFT_OUT when it passed none. NotApplicable when there was
        no call."""
        if not self.requests:
            raise NotApplicable("it asks for no capsule")
        asked = self.requests[0]
        return number(asked["stream"]) if "stream" in asked else LEFT_OUT


def number(stream: Any) -> int | None:
    """A stream as its number: an int, or an object that tells it."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    return None if stream is None else int(stream)


def watched(fixture: DeviceFixture, consumer: Consumer, *lines: str, device: int = 0) -> str:
    """How to see the same: a spy tells how an array of refarray's is asked for."""
    place = f"{fixture.vendor.name}:{device}"
    return fixture.repro(
        "import refarray as ra; from refarray.conformance import spy",
        f"x = spy(ra.ones(256, dtype=ra.float32, device='{place}'))",
        *(lines or (consumer.subject.from_dlpack.format("x"),)),
        "print(x)",
    )


def imported(consumer: Consumer, lender: Lender) -> Any:
    """The import. NotApplicable when it refuses."""
    found = consumer.take(lender)
    if found.error is not None:
        raise NotApplicable(f"it refuses: {raised(found.error)}")
    return found


@on_each("STRM-01", "consumer", "chosen", "the stream that is chosen is passed")
def _passed(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    stream, handle = fixture.stream()
    lender = Lender(fixture)
    with fixture.working_on(stream):
        consumer.take(lender)
    if lender.stream == -1:
        raise NotApplicable("it passes -1, and orders by itself: STRM-20 judges that")
    use = f"with {fixture.on.use.format('s')}: {consumer.subject.from_dlpack.format('x')}"
    repro = watched(fixture, consumer, f"s = {fixture.on.stream.format(0)}", use)
    return CheckResult(
        lender.stream == handle, f"{lender.stream} is passed for stream {handle}", repro
    )


@on_each("STRM-18", "consumer", "default", "on the default stream 1 (CUDA) or 0 (ROCm) is passed")
def _default(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    lender = Lender(fixture)
    consumer.take(lender)
    if lender.stream == -1:
        raise NotApplicable("it passes -1, and orders by itself: STRM-20 judges that")
    held = lender.stream not in {None, LEFT_OUT}
    return CheckResult(held, f"{lender.stream} is passed", watched(fixture, consumer))


@on_each("STRM-19", "consumer", "device-1", "the current device is the same after an import")
def _put_back(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    fixture.several()
    lender = Lender(fixture, 1)
    imported(consumer, lender)
    now = fixture.driver.current()
    wrong = fixture.wrong("wrong-device-record", "wrong-device-launch")
    told = "; ".join([f"device {now} is current", *wrong])
    return CheckResult(now == 0 and not wrong, told, watched(fixture, consumer, device=1))


@on_each("STRM-20", "consumer", "read", "what it reads in its stream is what was written before")
def _safe(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    stream, handle = fixture.stream()
    lender = Lender(fixture)
    with fixture.driver.gate(lender.own):
        fixture.driver.call("fill", lender.pointer, FILLED, SIZE, lender.own)
        with fixture.working_on(stream):
            found = imported(consumer, lender)
        copied = fixture.read(found.array, stream)
        if fixture.checker is None:
            fixture.driver.held_up(handle)  # what does not wait is done by now, and too early
    fixture.driver.call("all")
    races = fixture.wrong("race")
    held = Producer.read(copied.__dlpack__(stream=-1)) if hasattr(copied, "__dlpack__") else None
    came = b"" if held is None else fixture.driver.bytes(int(held["data"]), SIZE, lender.own)
    right = held is None or came == bytes([FILLED]) * SIZE
    told = "; ".join(races[:1]) or ("what was written" if right else "not what was written")
    use = f"with {fixture.on.use.format('s')}: y = {consumer.subject.from_dlpack.format('x')}; "
    repro = watched(
        fixture,
        consumer,
        f"s = {fixture.on.stream.format(0)}  # and it is unfinished work that is read",
        f"{use}z = {fixture.on.read.format('y')}",
    )
    return CheckResult(right and not races, f"{told}; stream {lender.stream} was passed", repro)


@on_each("LIFE-26", "consumer", "unfinished", "the deleter is not called while work is unfinished")
def _finished(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    stream, handle = fixture.stream()
    lender = Lender(fixture)
    with fixture.working_on(stream):
        found = imported(consumer, lender)
    first = fixture.read(found.array, stream)  # whatever is made once is made now
    fixture.driver.call("all")
    with fixture.driver.gate(handle) as gate:
        copied = fixture.read(found.array, stream)
        if gate.opened:
            raise NotApplicable("a copy waits for its stream")
        found.array = None
        gc.collect()
        early = bool(lender.deleter_calls) and not gate.opened
    told = "called while a copy of it was unfinished" if early else "not called before its copy"
    use = f"with {fixture.on.use.format('s')}: y = {consumer.subject.from_dlpack.format('x')}; "
    repro = watched(
        fixture,
        consumer,
        f"s = {fixture.on.stream.format(0)}",
        f"{use}z = {fixture.on.read.format('y')}; del y  # while s is still busy",
    )
    del first, copied
    return CheckResult(not early, told, repro)


@on_each("DEV-06", "consumer", "other-device", "memory of device 1 under number 0 is told from it")
def _confirmed(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    fixture.several()
    kind = fixture.vendor.kind
    lender = Lender(fixture, 1, device=(kind, 0))
    found = consumer.take(lender)
    fields = f"device=({kind}, 0), data=<memory of device 1>, shape=({COUNT},)"
    repro = fixture.repro(f"# {consumer.subject.from_dlpack.format(f'give({fields})')}")
    if found.error is not None:
        return CheckResult(found.refused, f"{found}", repro)
    device = tuple(found.held()["device"])
    return CheckResult(device == (kind, 1), f"imported; exported again as device {device}", repro)


@on_each("DEV-11", "consumer", "empty", "no elements at NULL on a device are imported")
def _empty(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    lender = Lender(fixture, shape=(0,), data=None)
    found = consumer.take(lender)
    given = f"give(device=({fixture.vendor.kind}, 0), shape=(0,), data=None)"
    call = f"print({consumer.subject.from_dlpack.format(given)})"
    repro = fixture.repro("from refarray.conformance import give", call)
    return CheckResult(found.error is None, f"{found}", repro)


@on_each("CAPI-12", "exchange-api", "unfinished", "the table's functions wait for nothing")
def _unsynchronised(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    api = member(producer, "from_py")
    with fixture.pending() as pending, fixture.working_on(pending.stream):
        before = fixture.calls(*SYNCHRONISES)
        owned = api.from_py(pending.array)
        if api.members()["dltensor"]:
            api.dltensor(pending.array)
        again = api.to_py(owned)
        made = fixture.calls(*SYNCHRONISES)[len(before) :]
        blocked = pending.gate.opened
        del again
    told = ", ".join([*made, *["the host waited"] * blocked]) or "nothing was synchronised"
    repro = fixture.repro_pending(
        "from refarray.conformance import _adversary; api = _adversary.api(type(x))",
        f"with {fixture.on.use.format('s')}: api.to_py(api.from_py(x))",
    )
    return CheckResult(not made and not blocked, told, repro)


def _current(unit: int) -> None:
    @on_each("CAPI-25", "exchange-api", f"device-{unit}", "it is the stream that is worked on")
    def _(fixture: DeviceFixture, producer: Producer) -> CheckResult:
        api = member(producer, "stream")
        if unit:
            fixture.several()
        stream, handle = fixture.stream(unit)
        repro = fixture.repro(
            f"from refarray.conformance import _adversary; s = {fixture.on.stream.format(unit)}",
            f"api = _adversary.api(type({fixture.text()}))",
            f"with {fixture.on.use.format('s')}: print(api.stream({fixture.vendor.kind}, {unit}), "
            f"{handle_of(fixture, 's')})",
        )
        with fixture.working_on(stream):
            try:
                found = api.stream(fixture.vendor.kind, unit)
            except Exception as error:
                return CheckResult(False, raised(error), repro)
        return CheckResult(found == handle, f"{found:#x} for stream {handle:#x}", repro)


_current(0)
_current(1)
