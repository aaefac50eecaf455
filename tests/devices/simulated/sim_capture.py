"""Exchanges, events and waits during graph capture: what cannot be ordered, or would invalidate the
capture, raises before the driver is called."""

from __future__ import annotations

import gc
from typing import Any

import fakegpu
import pytest
from capturing import (
    ACTIVE,
    SIZE,
    Capture,
    Captures,
    Foreign,
    Interface,
    capturing,
    driver_of,
    host_of,
    legacy_handle,
    refuse,
    unfinished,
    waits,
)
from fakegpu.driving import Driver

import refarray as ra
from refarray import Event, Stream, use_stream


def assert_refused(array: ra.Array, **keywords: Any) -> None:
    """The export raises, without waiting for or synchronizing a stream."""
    before = len(fakegpu.trace())  # not reset(), which would release held work
    with pytest.raises(BufferError, match="graph capture"):
        array.__dlpack__(max_version=(1, 3), **keywords)
    calls = [record["call"] for record in fakegpu.trace()[before:]]
    assert not [name for name in calls if "Wait" in name or "Synchronize" in name], calls


def test_export_of_unfinished_work_to_a_capturing_stream(
    device: str, driver: Driver, captures: Captures
) -> None:
    _, array = unfinished(device)
    consumer = driver.stream()
    with captures(consumer):
        assert_refused(array, stream=consumer)
        assert_refused(array.as_readonly(), stream=consumer)
        assert_refused(array, stream=consumer, copy=None)
        refuse(lambda: array.__dlpack__(stream=consumer, copy=True))
        array.__dlpack__(stream=-1)
    driver.destroy(consumer)


@pytest.mark.req("STRM-21")
def test_finished_work_needs_no_wait(device: str, captures: Captures) -> None:
    """Whether an event was recorded after the work before the capture or not."""
    stream, written = unfinished(device)
    fresh = ra.zeros((SIZE,), device=device)
    fakegpu.run()
    stream.synchronize()
    ra.synchronize(device)
    consumer = Stream(device)
    with captures(consumer.handle):
        for array in (written, fresh, fresh[::2]):
            fakegpu.reset()
            array.__dlpack__(stream=consumer)
            assert consumer.handle not in waits()


def test_export_of_captured_work_to_another_stream(device: str, captures: Captures) -> None:
    inside, outside = Stream(device), Stream(device)
    target, source = (ra.zeros((SIZE,), device=device) for _ in range(2))
    ra.synchronize(device)
    with captures(inside.handle) as capture:
        with use_stream(inside):
            target[...] = source
        assert_refused(target, stream=outside)
        assert_refused(target)
        assert_refused(target, stream=legacy_handle(device))
        with use_stream(outside):
            refuse(target.copy)
        refuse(lambda: target.to_device("cpu"))
        assert capture.state() == ACTIVE and capture.state(outside.handle) == 0
    # The captured work runs when the user launches the graph; ordering that is up to the user.
    target.__dlpack__(stream=outside)
    assert target.to_device("cpu").tolist() == [0.0] * SIZE


@pytest.mark.req("STRM-21")
def test_export_between_streams_of_one_capture(device: str, captures: Captures) -> None:
    first, second = Stream(device), Stream(device)
    target, source = ra.zeros((SIZE,), device=device), ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    with captures(first.handle) as capture:
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


def test_export_between_two_captures(device: str, captures: Captures) -> None:
    first, second = Stream(device), Stream(device)
    target, source = ra.zeros((SIZE,), device=device), ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    with captures(first.handle), captures(second.handle):
        with use_stream(first):
            target[...] = source
        assert_refused(target, stream=second)
        with use_stream(second), pytest.raises(BufferError, match="graph"):
            source[...] = target


def test_the_legacy_stream_is_unusable_while_a_blocking_stream_captures(
    device: str, driver: Driver, captures: Captures
) -> None:
    idle = ra.zeros((SIZE,), device=device)
    _, array = unfinished(device)
    blocking = driver.stream(0)
    with captures(blocking):
        for keywords in ({}, {"stream": legacy_handle(device)}):
            assert_refused(array, **keywords)
        idle.__dlpack__()  # all its work is in the legacy stream: nothing to wait for
        producer = Foreign(array)
        with pytest.raises(BufferError, match="current stream"):
            ra.from_dlpack(producer)
        assert producer.keywords_seen == []
        refuse(lambda: ra.zeros((3,), device=device))
        refuse(idle.tolist)
    fakegpu.run()  # hipFree synchronizes the device
    driver.destroy(blocking)


def test_work_before_a_capture_is_waited_for_after_it(device: str, captures: Captures) -> None:
    """Captured work has not run when the capture ends: it stands for no work before it."""
    inside, source = Stream(device), ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    with use_stream(inside):
        target = ra.zeros((SIZE,), device=device)
        target[...] = source
    with captures(inside.handle), use_stream(inside):
        target[...] = source
    with use_stream(Stream(device)):
        copied = target.copy()
        source[...] = 2
    assert copied.tolist() == target.tolist() == [1.0] * SIZE


def test_a_stream_is_not_asked_once_later_work_covers_its_capture(
    device: str, driver: Driver, captures: Captures
) -> None:
    """Its owner may destroy it then."""
    raw = driver.stream()
    stream = Stream(device, raw)
    with use_stream(stream):
        target = ra.zeros((SIZE,), device=device)
        with captures(raw):
            target[...] = 1
        target[...] = 2
    ra.synchronize(device)
    driver.destroy(raw)
    assert target.tolist() == [2.0] * SIZE
    assert target.tolist() == [2.0] * SIZE


def test_an_import_during_a_capture_belongs_to_it(device: str, captures: Captures) -> None:
    inside, outside = Stream(device), Stream(device)
    producer = Foreign(ra.ones((SIZE,), device=device))
    target = ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    with captures(inside.handle) as capture:
        with use_stream(inside):
            got = ra.from_dlpack(producer)
            assert producer.keywords_seen[-1]["stream"] == inside.handle
            target[...] = got
        assert_refused(target, stream=outside)
        capture.end()
        with use_stream(outside):
            capture.launch(outside.handle)
            assert target.tolist() == [1.0] * SIZE
            assert got.tolist() == [1.0] * SIZE


def test_an_interface_that_names_a_capturing_stream(mode: int) -> None:
    driver = driver_of("cuda:0")
    array, inside = ra.ones((SIZE,), device="cuda:0"), Stream("cuda:0")
    ra.synchronize("cuda:0")
    described = {**array.__cuda_array_interface__, "stream": inside.handle}
    target = ra.zeros((SIZE,), device="cuda:0")
    ra.synchronize("cuda:0")
    with capturing(driver, inside.handle, mode):
        got = ra.asarray(Interface(described))
        with use_stream(Stream("cuda:0")):
            refuse(got.copy)
        with use_stream(inside):
            target[...] = got
            assert target.__cuda_array_interface__["stream"] == inside.handle
        refuse(lambda: target.__cuda_array_interface__)
    assert got.tolist() == [1.0] * SIZE


def test_pinned_memory_written_by_a_graph(device: str, captures: Captures) -> None:
    host = host_of(device)
    pinned, source = ra.zeros((SIZE,), device=host), ra.ones((SIZE,), device=device)
    inside = Stream(device)
    ra.synchronize(device)
    with captures(inside.handle) as capture:
        with use_stream(inside):
            pinned[...] = source
        assert_refused(pinned)
        refuse(lambda: memoryview(pinned))
        refuse(pinned.tolist)
        assert "graph capture" in repr(pinned)
        capture.end()
        capture.launch(inside.handle)
    inside.synchronize()
    assert pinned.tolist() == [1.0] * SIZE


def test_a_capturing_stream_cannot_be_queried_or_synchronized(
    device: str, captures: Captures
) -> None:
    stream = Stream(device)
    with captures(stream.handle):
        refuse(stream.synchronize)
        refuse(lambda: stream.done)
    assert stream.done


def test_an_invalidated_capture(device: str, driver: Driver, mode: int) -> None:
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
        refuse(lambda: ra.zeros((3,), device=device))
        refuse(lambda: ra.from_dlpack(Foreign(array)))
    with pytest.raises(fakegpu.driving.DriverError):
        capture.end()
    driver("cuEventDestroy_v2" if capture.cuda else "hipEventDestroy", event)
    with use_stream(inside):
        assert array.copy().tolist() == [0.0] * SIZE


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


def test_captured_work_in_a_stream_that_its_owner_has_destroyed(
    device: str, driver: Driver, captures: Captures
) -> None:
    """The handle is not used once nobody has given a Stream object for it."""
    source = ra.ones((SIZE,), dtype="uint8", device=device)
    host = host_of(device)
    target = ra.zeros((SIZE,), dtype="uint8", device=device)
    pinned = ra.zeros((SIZE,), dtype="uint8", device=host)
    ra.synchronize(device)
    stream, other = driver.stream(), driver.stream()
    with captures(stream):
        with use_stream(Stream(device, stream)):
            target[...] = source
            pinned[...] = target
        driver.after(other, stream)
        fakegpu.reset()
        with use_stream(Stream(device, other)):  # of the same capture: still waits
            source[...] = target
        assert other in waits()
        driver.after(stream, other)
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


def test_pinned_memory_that_the_host_packs_is_not_captured(device: str, captures: Captures) -> None:
    """The host would gather or scatter once, not whenever the graph is launched."""
    size = 300_000
    host = ra.ones((2, size), dtype="uint8", device=host_of(device))
    there = ra.zeros((size,), dtype="uint8", device=device)
    there[...] = host[0, ::-1]
    ra.synchronize(device)
    inside = Stream(device)
    with captures(inside.handle), use_stream(inside):
        for to, source in ((there, host[0, ::-1]), (host[1, ::-1], there)):
            with pytest.raises(BufferError, match="pinned memory is packed for"):
                to[...] = source
    for _ in range(5):  # each chunk of the staging ring
        there[...] = host[0, ::-1]
    assert there[7].item() == 1


# --- Events, and waits for a device


def legacy(device: str) -> Stream:
    return Stream(device, legacy_handle(device))


def test_a_capturing_stream_waits_for_events_of_its_own_capture_only(
    device: str, captures: Captures
) -> None:
    inside, outside, other = Stream(device), Stream(device), Stream(device)
    before = outside.record()
    with (
        captures(inside.handle) as capture,
        captures(other.handle) as another,
    ):
        foreign = other.record()
        refuse(lambda: inside.wait(before), "Wait")
        refuse(lambda: inside.wait(outside), "Wait")
        refuse(lambda: inside.wait(foreign), "Wait")
        refuse(lambda: inside.wait(other), "Wait")
        inside.wait(Event(device))  # never recorded: done
        inside.wait(inside.record())
        assert capture.state() == ACTIVE == another.state()


def test_the_legacy_stream_waits_for_no_event_of_a_capture(device: str, captures: Captures) -> None:
    inside = Stream(device)
    with captures(inside.handle):
        event = inside.record()
        refuse(lambda: legacy(device).wait(event), "Wait")
        refuse(lambda: legacy(device).wait(inside), "Wait")


def test_no_event_is_recorded_where_a_capture_forbids_the_legacy_stream(
    device: str, driver: Driver, captures: Captures
) -> None:
    blocking = driver.stream(0)
    free = Stream(device)
    event = Event(device)
    with captures(blocking):
        refuse(lambda: event.record(legacy(device)), "Record")
        refuse(lambda: legacy(device).wait(free), "Wait")
        refuse(lambda: free.wait(legacy(device)), "Record")
    assert event.done
    driver.destroy(blocking)


def test_an_event_of_a_capture_is_not_waited_for_or_queried(
    device: str, captures: Captures
) -> None:
    """During the capture and after it, until the event is recorded again."""
    inside = Stream(device)
    event, other = Event(device, timing=True), Event(device, timing=True)
    other.record(Stream(device))
    with captures(inside.handle):
        event.record(inside)
        refuse(event.synchronize, "Synchronize")
        refuse(lambda: event.done, "Query")
        refuse(lambda: other.elapsed_ms(event), "ElapsedTime")
    refuse(event.synchronize, "Synchronize")
    refuse(lambda: event.done, "Query")
    event.record(inside)
    event.synchronize()
    assert event.done


def test_no_device_is_waited_for_during_a_capture(
    device: str, driver: Driver, captures: Captures
) -> None:
    """Of one of refarray's streams, or of one that is ordered with the legacy default stream."""
    inside, blocking = Stream(device), driver.stream(0)
    array = ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    for stream in (inside.handle, blocking):
        with captures(stream):
            refuse(lambda: ra.synchronize(device), "Synchronize")
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


@pytest.mark.parametrize("way", ["joins", "handle"])
def test_a_stream_whose_own_handle_nobody_asked_for(
    device: str, captures: Captures, way: str
) -> None:
    """It captures after it has waited for a captured event, or through another object with its
    handle."""
    ours = Stream(device)
    other = Stream(device, ours) if way == "handle" else Stream(device)
    target, source = ra.zeros((SIZE,), device=device), ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    with captures(other.handle):
        if way == "joins":
            ours.wait(other)
        with use_stream(ours):
            target[...] = source
        refuse(lambda: target.to_device("cpu"))
        other.wait(ours)
