"""Exchanges, events and waits during graph capture: what cannot be ordered, or would invalidate the
capture, raises before the driver is called."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import fakegpu
import pytest
from capturing import (
    ACTIVE,
    MODES,
    SIZE,
    Capture,
    Foreign,
    Interface,
    capturing,
    driver_of,
    host_of,
    legacy_handle,
    unfinished,
    waits,
)

import refarray as ra
from refarray import Event, Stream, use_stream


def assert_refused(array: ra.Array, **keywords: Any) -> None:
    """The export raises, without waiting for or synchronizing a stream."""
    before = len(fakegpu.trace())  # not reset(), which would release held work
    with pytest.raises(BufferError, match="graph capture"):
        array.__dlpack__(max_version=(1, 3), **keywords)
    calls = [record["call"] for record in fakegpu.trace()[before:]]
    assert not [name for name in calls if "Wait" in name or "Synchronize" in name], calls


def test_export_of_unfinished_work_to_a_capturing_stream(case: Any) -> None:
    device, driver, mode = case
    _, array = unfinished(device)
    consumer = driver.stream()
    with capturing(driver, consumer, mode) as capture:
        assert_refused(array, stream=consumer)
        assert_refused(array.as_readonly(), stream=consumer)
        assert_refused(array, stream=consumer, copy=None)
        with pytest.raises(BufferError, match="graph"):
            array.__dlpack__(stream=consumer, copy=True)
        array.__dlpack__(stream=-1)
        assert capture.state() == ACTIVE
    driver.destroy(consumer)


@pytest.mark.req("STRM-21")
def test_finished_work_needs_no_wait(case: Any) -> None:
    """Whether an event was recorded after the work before the capture or not."""
    device, driver, mode = case
    stream, written = unfinished(device)
    fresh = ra.zeros((SIZE,), device=device)
    fakegpu.run()
    stream.synchronize()
    ra.synchronize(device)
    consumer = Stream(device)
    with capturing(driver, consumer.handle, mode) as capture:
        for array in (written, fresh, fresh[::2]):
            fakegpu.reset()
            array.__dlpack__(stream=consumer)
            assert consumer.handle not in waits()
        assert capture.state() == ACTIVE


def test_export_of_captured_work_to_another_stream(case: Any) -> None:
    device, driver, mode = case
    inside, outside = Stream(device), Stream(device)
    target, source = (ra.zeros((SIZE,), device=device) for _ in range(2))
    ra.synchronize(device)
    with capturing(driver, inside.handle, mode) as capture:
        with use_stream(inside):
            target[...] = source
        assert_refused(target, stream=outside)
        assert_refused(target)
        assert_refused(target, stream=legacy_handle(device))
        with use_stream(outside), pytest.raises(BufferError, match="graph"):
            target.copy()
        with pytest.raises(BufferError, match="graph"):
            target.to_device("cpu")
        assert capture.state() == ACTIVE and capture.state(outside.handle) == 0
    # The captured work runs when the user launches the graph; ordering that is up to the user.
    target.__dlpack__(stream=outside)
    assert target.to_device("cpu").tolist() == [0.0] * SIZE


@pytest.mark.req("STRM-21")
def test_export_between_streams_of_one_capture(case: Any) -> None:
    device, driver, mode = case
    first, second = Stream(device), Stream(device)
    target, source = ra.zeros((SIZE,), device=device), ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    with capturing(driver, first.handle, mode) as capture:
        second.wait(first)  # joins the capture
        with use_stream(first):
            target[...] = source
        fakegpu.reset()
        target.__dlpack__(stream=first)
        assert not waits()
        target.__dlpack__(stream=second)
        assert waits() == [second.handle]
        with use_stream(second):
            target[1:] = source[1:]
        first.wait(second)
        assert capture.state() == ACTIVE == capture.state(second.handle)
        capture.end()
        capture.launch(first.handle)
    first.synchronize()
    assert target.to_device("cpu").tolist() == [1.0] * SIZE


def test_export_between_two_captures(case: Any) -> None:
    device, driver, mode = case
    first, second = Stream(device), Stream(device)
    target, source = ra.zeros((SIZE,), device=device), ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    with capturing(driver, first.handle, mode) as one, capturing(driver, second.handle, mode):
        with use_stream(first):
            target[...] = source
        assert_refused(target, stream=second)
        with use_stream(second), pytest.raises(BufferError, match="graph"):
            source[...] = target
        assert one.state() == ACTIVE


def test_the_legacy_stream_is_unusable_while_a_blocking_stream_captures(case: Any) -> None:
    device, driver, mode = case
    idle = ra.zeros((SIZE,), device=device)
    _, array = unfinished(device)
    blocking = driver.stream(0)
    with capturing(driver, blocking, mode) as capture:
        for keywords in ({}, {"stream": legacy_handle(device)}):
            assert_refused(array, **keywords)
        idle.__dlpack__()  # all its work is in the legacy stream: nothing to wait for
        producer = Foreign(array)
        with pytest.raises(BufferError, match="current stream"):
            ra.from_dlpack(producer)
        assert producer.keywords_seen == []
        with pytest.raises(BufferError, match="graph"):
            ra.zeros((3,), device=device)
        with pytest.raises(BufferError, match="graph"):
            idle.tolist()
        assert capture.state() == ACTIVE
    fakegpu.run()  # hipFree synchronizes the device
    driver.destroy(blocking)


def test_work_before_a_capture_is_waited_for_after_it(case: Any) -> None:
    """Captured work has not run when the capture ends: it stands for no work before it."""
    device, driver, mode = case
    inside, source = Stream(device), ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    with use_stream(inside):
        target = ra.zeros((SIZE,), device=device)
        target[...] = source
    with capturing(driver, inside.handle, mode), use_stream(inside):
        target[...] = source
    with use_stream(Stream(device)):
        copied = target.copy()
        source[...] = 2
    assert copied.tolist() == target.tolist() == [1.0] * SIZE


def test_a_stream_is_not_asked_once_later_work_covers_its_capture(case: Any) -> None:
    """Its owner may destroy it then."""
    device, driver, mode = case
    raw = driver.stream()
    stream = Stream(device, raw)
    with use_stream(stream):
        target = ra.zeros((SIZE,), device=device)
        with capturing(driver, raw, mode):
            target[...] = 1
        target[...] = 2
    ra.synchronize(device)
    driver.destroy(raw)
    assert target.tolist() == [2.0] * SIZE
    assert target.tolist() == [2.0] * SIZE


def test_an_import_during_a_capture_belongs_to_it(case: Any) -> None:
    device, driver, mode = case
    inside, outside = Stream(device), Stream(device)
    producer = Foreign(ra.ones((SIZE,), device=device))
    target = ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    with capturing(driver, inside.handle, mode) as capture:
        with use_stream(inside):
            got = ra.from_dlpack(producer)
            assert producer.keywords_seen[-1]["stream"] == inside.handle
            target[...] = got
        assert_refused(target, stream=outside)
        assert capture.state() == ACTIVE
        capture.end()
        with use_stream(outside):
            capture.launch(outside.handle)
            assert target.tolist() == [1.0] * SIZE
            assert got.tolist() == [1.0] * SIZE


@pytest.mark.parametrize("mode", MODES.values())
def test_an_interface_that_names_a_capturing_stream(mode: int) -> None:
    driver = driver_of("cuda:0")
    array, inside = ra.ones((SIZE,), device="cuda:0"), Stream("cuda:0")
    ra.synchronize("cuda:0")
    described = {**array.__cuda_array_interface__, "stream": inside.handle}
    target = ra.zeros((SIZE,), device="cuda:0")
    ra.synchronize("cuda:0")
    with capturing(driver, inside.handle, mode) as capture:
        got = ra.asarray(Interface(described))
        with use_stream(Stream("cuda:0")), pytest.raises(BufferError, match="graph"):
            got.copy()
        with use_stream(inside):
            target[...] = got
            assert target.__cuda_array_interface__["stream"] == inside.handle
        with pytest.raises(BufferError, match="graph"):
            _ = target.__cuda_array_interface__
        assert capture.state() == ACTIVE
    assert got.tolist() == [1.0] * SIZE


def test_pinned_memory_written_by_a_graph(case: Any) -> None:
    device, driver, mode = case
    host = host_of(device)
    pinned, source = ra.zeros((SIZE,), device=host), ra.ones((SIZE,), device=device)
    inside = Stream(device)
    ra.synchronize(device)
    with capturing(driver, inside.handle, mode) as capture:
        with use_stream(inside):
            pinned[...] = source
        assert_refused(pinned)
        with pytest.raises(BufferError, match="graph"):
            memoryview(pinned)
        with pytest.raises(BufferError, match="graph"):
            pinned.tolist()
        assert "graph capture" in repr(pinned)
        assert capture.state() == ACTIVE
        capture.end()
        capture.launch(inside.handle)
    inside.synchronize()
    assert pinned.tolist() == [1.0] * SIZE


def test_a_capturing_stream_cannot_be_queried_or_synchronized(case: Any) -> None:
    device, driver, mode = case
    stream = Stream(device)
    with capturing(driver, stream.handle, mode) as capture:
        with pytest.raises(BufferError, match="graph"):
            stream.synchronize()
        with pytest.raises(BufferError, match="graph"):
            _ = stream.done
        assert capture.state() == ACTIVE
    assert stream.done


def test_an_invalidated_capture(case: Any) -> None:
    device, driver, mode = case
    inside, outside = Stream(device), Stream(device)
    array = ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    capture = Capture(driver, inside.handle, mode)
    event = driver.event()
    driver.record(event, outside.handle)
    prefix = "cu" if capture.cuda else "hip"
    assert driver.code(f"{prefix}StreamWaitEvent", inside.handle, event, 0) != 0
    assert capture.state() == 2
    with use_stream(inside):
        for refuse in (
            lambda: ra.zeros((3,), device=device),
            lambda: ra.from_dlpack(Foreign(array)),
        ):
            with pytest.raises(BufferError, match="graph"):
                refuse()
    with pytest.raises(fakegpu.driving.DriverError):
        capture.end()
    driver("cuEventDestroy_v2" if capture.cuda else "hipEventDestroy", event)
    with use_stream(inside):
        assert array.copy().tolist() == [0.0] * SIZE


@pytest.mark.parametrize("mode", MODES.values())
def test_an_interface_that_names_a_stream_with_an_invalidated_capture(mode: int) -> None:
    """No event can be recorded there: nothing can wait for the producer's work."""
    driver = driver_of("cuda:0")
    raw, outside = driver.stream(), driver.stream()
    array = ra.ones((SIZE,), device="cuda:0")
    ra.synchronize("cuda:0")
    described = {**array.__cuda_array_interface__, "stream": raw}
    capture = Capture(driver, raw, mode)
    event = driver.event()
    driver.record(event, outside)
    assert driver.code("cuStreamWaitEvent", raw, event, 0) != 0
    assert capture.state() == 2
    before = len(fakegpu.trace())
    with pytest.raises(BufferError, match="graph capture"):
        ra.asarray(Interface(described))
    assert not [r for r in fakegpu.trace()[before:] if r["call"] == "cuEventRecord"]
    with pytest.raises(fakegpu.driving.DriverError):
        capture.end()
    driver("cuEventDestroy_v2", event)
    for stream in (raw, outside):
        driver.destroy(stream)


def test_captured_work_in_a_stream_that_its_owner_has_destroyed(case: Any) -> None:
    """The handle is not used once nobody has given a Stream object for it."""
    device, driver, mode = case
    source = ra.ones((SIZE,), dtype="uint8", device=device)
    host = host_of(device)
    target = ra.zeros((SIZE,), dtype="uint8", device=device)
    pinned = ra.zeros((SIZE,), dtype="uint8", device=host)
    ra.synchronize(device)
    stream, other = driver.stream(), driver.stream()
    with capturing(driver, stream, mode) as capture:
        with use_stream(Stream(device, stream)):
            target[...] = source
            pinned[...] = target
        driver.after(other, stream)
        fakegpu.reset()
        with use_stream(Stream(device, other)):  # of the same capture: still waits
            source[...] = target
        assert other in waits()
        driver.after(stream, other)
        assert capture.state() == ACTIVE
    driver.destroy(stream)
    driver.destroy(other)
    gc.collect()
    assert target.copy().tolist() == [0] * SIZE  # the graph has not been launched
    assert pinned.tolist() == [0] * SIZE
    with use_stream(Stream(device)):
        target[...] = 5
        source.__dlpack__(stream=-1)
        source.__dlpack__()
    assert target.tolist() == [5] * SIZE


def test_pinned_memory_that_the_host_packs_is_not_captured(case: Any) -> None:
    """The host would gather or scatter once, not whenever the graph is launched."""
    device, driver, mode = case
    size = 300_000
    host = ra.ones((2, size), dtype="uint8", device=host_of(device))
    there = ra.zeros((size,), dtype="uint8", device=device)
    there[...] = host[0, ::-1]
    ra.synchronize(device)
    inside = Stream(device)
    with capturing(driver, inside.handle, mode) as capture, use_stream(inside):
        for to, source in ((there, host[0, ::-1]), (host[1, ::-1], there)):
            with pytest.raises(BufferError, match="pinned memory is packed for"):
                to[...] = source
        assert capture.state() == ACTIVE
    for _ in range(5):  # each chunk of the staging ring
        there[...] = host[0, ::-1]
    assert there[7].item() == 1


# --- Events, and waits for a device


def legacy(device: str) -> Stream:
    return Stream(device, legacy_handle(device))


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
    driver.destroy(blocking)


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
    driver.destroy(blocking)


def test_a_failed_query_is_no_capture(device: str) -> None:
    """The wait itself reports why the driver fails."""
    ra.synchronize(device)
    fakegpu.fail("cuStreamIsCapturing" if device.startswith("cuda") else "hipStreamIsCapturing")
    ra.synchronize(device)
