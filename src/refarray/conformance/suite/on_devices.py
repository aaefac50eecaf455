"""Checks that need a device with streams: their registration, and the code that they share."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.gpu.device_fixture import SIZE, DeviceFixture, on_device
from refarray.conformance.gpu.driver_calls import LOOK_SECONDS
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.harness.recorder import Recorder
from refarray.conformance.native_method import native_method
from refarray.conformance.subjects.devices import COUNT

BOTH = ("cuda", "rocm")
SYNCHRONISES = ("Synchronize", "StreamWaitEvent", "EventRecord")
"""Parts of the names of driver calls that make the host or a stream wait."""
COPIES = ("Memcpy", "Memset", "LaunchKernel")
"""Parts of the names of driver calls that write memory."""
OTHER = 0xEE
"""A byte that no array holds."""


def check_on_devices(
    name: str,
    case: str,
    expected: str,
    *,
    vendors: tuple[str, ...] = BOTH,
    value: Any = None,
    **more: Any,
) -> Callable[[Callable[..., CheckResult]], Callable[..., CheckResult]]:
    """Registers the decorated function as one case for each vendor. It is called with a
    DeviceFixture, the subject, and `value` unless that is None. `more` is check()'s."""

    def register(probe: Callable[..., CheckResult]) -> Callable[..., CheckResult]:
        given = () if value is None else (value,)
        for vendor in vendors:

            @wraps(probe)
            def on_vendor(subject: Any, vendor: str = vendor) -> CheckResult:
                with on_device(subject, vendor) as fixture:
                    return probe(fixture, subject, *given)

            check(name, f"{vendor}-{case}", expected, devices=True, **more)(on_vendor)
        return probe

    return register


# --- arrays and exports


def memory_types(fixture: DeviceFixture) -> dict[str, int]:
    """The DLDeviceType of each kind of memory."""
    vendor = fixture.vendor
    return {"device": vendor.kind, "pinned": vendor.pinned, "managed": vendor.managed}


def array_of(fixture: DeviceFixture, kind: str) -> tuple[str, Any]:
    """An array in a kind of memory, and its expression."""
    text = fixture.text() if kind == "device" else getattr(fixture.on, kind)
    return text, fixture.eval(text)


def export_for(
    producer: Producer, fixture: DeviceFixture, array: Any, stream: Any, **more: Any
) -> Export:
    """The export of an array of device 0 for a stream. NotApplicable if the producer refuses, which
    STRM-16 allows."""
    export = producer.export(fixture.text(), array, stream=stream, **VERSIONED, **more)
    if export.error is not None:
        raise NotApplicable(f"it refuses stream={stream!r}, as STRM-16 allows: {export}")
    return export


def export_line(stream: object) -> str:
    """The export in a repro; `stream` is a number or an expression."""
    return f"c = x.__dlpack__(stream={stream}, max_version=(1, 3))"


def handle_of(fixture: DeviceFixture, name: str = "t") -> str:
    """The expression of the handle of a stream with that variable name."""
    return fixture.on.handle.format(name)


def order_observed(follows: bool, stream: str) -> str:
    """The observation of whether a stream is ordered after the array's last write."""
    return f"{stream} {'follows' if follows else 'does not wait for'} the array's unfinished write"


def is_copied_on(
    fixture: DeviceFixture, stream: int, source: int, copy: Callable[[], Export]
) -> tuple[bool, str]:
    """Whether a copy was made in a stream, and the observation.

    The simulated drivers record the stream of each call. On a real device the stream is stopped at
    a gate and the source is overwritten meanwhile: a copy in the stream reads the new bytes.
    """
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


def is_member(value: object) -> bool:
    """Whether it is a member of an enumeration, which the array API uses for device types: one of
    Python's, or of a binding generator's that int() accepts."""
    if isinstance(value, enum.Enum):
        return isinstance(value.value, int)
    return hasattr(type(value), "__members__") and hasattr(type(value), "__int__")


# --- a producer of device memory for the consumer's checks


LEFT_OUT = "nothing"


class Lender(Recorder):
    """A correct producer of the kit's device memory, which is filled in a stream of the kit."""

    def __init__(self, fixture: DeviceFixture, number: int = 0, **fields: Any) -> None:
        fixture.driver.use(number)
        self.fixture = fixture
        self.number = number
        """The device that holds the memory."""
        self.pointer: int = fixture.driver.make("memory", SIZE)
        fixture.scratch.append(self.pointer)
        self.own: int = fixture.driver.stream()
        fixture.driver.call("fill", self.pointer, 0, SIZE, self.own)
        fixture.driver.call("wait", self.own)
        fixture.driver.use(0)
        super().__init__(
            **{
                "device": (fixture.vendor.kind, number),
                "data": self.pointer,
                "shape": (COUNT,),
                "dtype": (2, 32, 1),
                **fields,
            }
        )

    @native_method
    def __dlpack__(self, **keywords: Any) -> Any:
        """Makes the consumer's stream wait for the kit's, unless -1 is passed."""
        given = stream_number(keywords.get("stream"))
        if given != -1:
            before = self.fixture.driver.current()
            self.fixture.driver.use(self.number)
            legacy = self.fixture.vendor.legacy
            self.fixture.driver.after(legacy if given is None else given, self.own)
            if before is not None:
                self.fixture.driver.use(before)
        return super().__dlpack__(**keywords)

    @property
    def stream(self) -> int | str | None:
        """The stream of the first call; LEFT_OUT if it passed none. NotApplicable without a
        call."""
        if not self.requests:
            raise NotApplicable("it asks for no capsule")
        request = self.requests[0]
        return stream_number(request["stream"]) if "stream" in request else LEFT_OUT


def stream_number(stream: Any) -> int | None:
    """The number of a stream: an int, or an object with `__cuda_stream__`."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    return None if stream is None else int(stream)


def write_spy_repro(
    fixture: DeviceFixture, consumer: Consumer, *lines: str, device: int = 0
) -> str:
    """A repro: a spy on an array of refarray shows the consumer's requests."""
    place = f"{fixture.vendor.name}:{device}"
    return fixture.repro(
        "import refarray as ra; from refarray.conformance import spy",
        f"x = spy(ra.ones(256, dtype=ra.float32, device='{place}'))",
        *(lines or (consumer.subject.from_dlpack.format("x"),)),
        "print(x)",
    )
