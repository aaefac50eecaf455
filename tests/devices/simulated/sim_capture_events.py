"""Events, and waits for a device, during graph capture: what would invalidate the capture raises
before the driver is called."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import fakegpu
import pytest
from capturing import ACTIVE, DEVICES, MODES, SIZE, capturing, driver_of
from fakegpu.driving import Driver

import refarray as ra
from refarray import Event, Stream, use_stream


@pytest.fixture(params=[f"{d} {m}" for d, m in itertools.product(DEVICES, MODES)])
def case(request: pytest.FixtureRequest) -> tuple[str, Driver, int]:
    device, _, mode = str(request.param).partition(" ")
    return device, driver_of(device), MODES[mode]


def legacy(device: str) -> Stream:
    return Stream(device, 1 if device.startswith("cuda") else 0)


def refuse(operation: Callable[[], object], forbidden: str = "") -> None:
    """The operation raises, and calls none of the driver functions whose name contains
    `forbidden`."""
    before = len(fakegpu.trace())
    with pytest.raises(BufferError, match="graph"):
        operation()
    calls = [record["call"] for record in fakegpu.trace()[before:]]
    assert not [name for name in calls if forbidden and forbidden in name], calls


def test_a_capturing_stream_waits_for_events_of_its_own_capture_only(case: Any) -> None:
    device, driver, mode = case
    inside, outside, other = Stream(device), Stream(device), Stream(device)
    before = outside.record()
    with (
        capturing(driver, inside.handle, mode) as capture,
        capturing(driver, other.handle, mode) as another,
    ):
        foreign = other.record()
        refuse(lambda: inside.wait(before), "Wait")
        refuse(lambda: inside.wait(outside), "Wait")
        refuse(lambda: inside.wait(foreign), "Wait")
        refuse(lambda: inside.wait(other), "Wait")
        inside.wait(Event(device))  # never recorded: done
        inside.wait(inside.record())
        assert capture.state() == ACTIVE == another.state()


def test_the_legacy_stream_waits_for_no_event_of_a_capture(case: Any) -> None:
    device, driver, mode = case
    inside = Stream(device)
    with capturing(driver, inside.handle, mode) as capture:
        event = inside.record()
        refuse(lambda: legacy(device).wait(event), "Wait")
        refuse(lambda: legacy(device).wait(inside), "Wait")
        assert capture.state() == ACTIVE


def test_no_event_is_recorded_where_a_capture_forbids_the_legacy_stream(case: Any) -> None:
    device, driver, mode = case
    blocking = driver.stream(0)
    free = Stream(device)
    event = Event(device)
    with capturing(driver, blocking, mode) as capture:
        refuse(lambda: event.record(legacy(device)), "Record")
        refuse(lambda: legacy(device).wait(free), "Wait")
        refuse(lambda: free.wait(legacy(device)), "Record")
        assert capture.state() == ACTIVE
    assert event.done
    driver("cuStreamDestroy_v2" if capture.cuda else "hipStreamDestroy", blocking)


def test_an_event_of_a_capture_is_not_waited_for_or_queried(case: Any) -> None:
    """During the capture and after it, until the event is recorded again."""
    device, driver, mode = case
    inside = Stream(device)
    event, other = Event(device, timing=True), Event(device, timing=True)
    other.record(Stream(device))
    with capturing(driver, inside.handle, mode) as capture:
        event.record(inside)
        refuse(event.synchronize, "Synchronize")
        refuse(lambda: event.done, "Query")
        refuse(lambda: other.elapsed_ms(event), "ElapsedTime")
        assert capture.state() == ACTIVE
    refuse(event.synchronize, "Synchronize")
    refuse(lambda: event.done, "Query")
    event.record(inside)
    event.synchronize()
    assert event.done


def test_no_device_is_waited_for_during_a_capture(case: Any) -> None:
    """Of one of refarray's streams, or of one that is ordered with the legacy default stream."""
    device, driver, mode = case
    inside, blocking = Stream(device), driver.stream(0)
    array = ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    for stream in (inside.handle, blocking):
        with capturing(driver, stream, mode) as capture:
            refuse(lambda: ra.synchronize(device), "Synchronize")
            assert capture.state() == ACTIVE
        ra.synchronize(device)
    with use_stream(inside):
        array[...] = 1
    ra.synchronize(device)
    assert array.tolist() == [1.0] * SIZE
    driver("cuStreamDestroy_v2" if capture.cuda else "hipStreamDestroy", blocking)


@pytest.mark.parametrize("device", DEVICES)
def test_a_failed_query_is_no_capture(device: str) -> None:
    """The wait itself reports why the driver fails."""
    ra.synchronize(device)
    fakegpu.fail("cuStreamIsCapturing" if device.startswith("cuda") else "hipStreamIsCapturing")
    ra.synchronize(device)
