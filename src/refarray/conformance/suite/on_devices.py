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
from refarray.conformance.harness.producer import VERSIONED, Export, Producer

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
) -> Callable[[Callable[..., CheckResult]], Callable[..., CheckResult]]:
    """Registers the decorated function as one case for each vendor. It is called with a
    DeviceFixture, the subject, and `value` unless that is None."""

    def register(probe: Callable[..., CheckResult]) -> Callable[..., CheckResult]:
        more = () if value is None else (value,)
        for vendor in vendors:

            @wraps(probe)
            def on_vendor(subject: Any, vendor: str = vendor) -> CheckResult:
                with on_device(subject, vendor) as fixture:
                    return probe(fixture, subject, *more)

            check(name, f"{vendor}-{case}", expected, devices=True)(on_vendor)
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
