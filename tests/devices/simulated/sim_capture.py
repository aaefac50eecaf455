"""Arrays that change hands while a graph is captured: what cannot be ordered is refused before
anything that would cost the user the capture."""

from __future__ import annotations

import itertools
from typing import Any

import fakegpu
import pytest
from capturing import (
    ACTIVE,
    DEVICES,
    MODES,
    SIZE,
    Capture,
    Foreign,
    capturing,
    driver_of,
    unfinished,
)
from fakegpu.driving import Driver

import refarray as ra
from refarray import Stream, use_stream


@pytest.fixture(params=[f"{d} {m}" for d, m in itertools.product(DEVICES, MODES)])
def where(request: pytest.FixtureRequest) -> tuple[str, Driver, int]:
    device, _, mode = str(request.param).partition(" ")
    return device, driver_of(device), MODES[mode]


def legacy(device: str) -> int:
    return 1 if device.startswith("cuda") else 0


def refused(array: ra.Array, **keywords: Any) -> None:
    """The export is; no stream has been touched for it."""
    before = len(fakegpu.trace())  # no reset(), which lets held work go on
    with pytest.raises(BufferError, match="graph capture"):
        array.__dlpack__(max_version=(1, 3), **keywords)
    calls = [record["call"] for record in fakegpu.trace()[before:]]
    assert not [name for name in calls if "Wait" in name or "Synchronize" in name], calls


def test_unfinished_work_is_not_waited_for_by_a_capturing_consumer(where: Any) -> None:
    device, driver, mode = where
    _, array = unfinished(device)
    consumer = driver.stream()
    with capturing(driver, consumer, mode) as capture:
        refused(array, stream=consumer)
        refused(array.as_readonly(), stream=consumer)
        refused(array, stream=consumer, copy=None)
        with pytest.raises(BufferError, match="graph"):
            array.__dlpack__(stream=consumer, copy=True)
        array.__dlpack__(stream=-1)
        assert capture.state() == ACTIVE
    driver("cuStreamDestroy_v2" if capture.cuda else "hipStreamDestroy", consumer)


@pytest.mark.req("STRM-21")
def test_finished_work_needs_no_wait(where: Any) -> None:
    """Whether its end was marked before the capture began or not."""
    device, driver, mode = where
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
            assert not [r for r in fakegpu.trace() if "Wait" in r["call"]]
        assert capture.state() == ACTIVE


def test_captured_work_is_not_waited_for_outside(where: Any) -> None:
    device, driver, mode = where
    inside, outside = Stream(device), Stream(device)
    target, source = (ra.zeros((SIZE,), device=device) for _ in range(2))
    ra.synchronize(device)
    with capturing(driver, inside.handle, mode) as capture:
        with use_stream(inside):
            target[...] = source
        refused(target, stream=outside)
        refused(target)
        refused(target, stream=legacy(device))
        with use_stream(outside), pytest.raises(BufferError, match="graph"):
            target.copy()
        with pytest.raises(BufferError, match="graph"):
            target.to_device("cpu")
        assert capture.state() == ACTIVE and capture.state(outside.handle) == 0
    # It was captured and will run when the user launches it, who orders that.
    target.__dlpack__(stream=outside)
    assert target.to_device("cpu").tolist() == [0.0] * SIZE


@pytest.mark.req("STRM-21")
def test_within_one_capture_all_is_as_ever(where: Any) -> None:
    device, driver, mode = where
    first, second = Stream(device), Stream(device)
    target, source = ra.zeros((SIZE,), device=device), ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    with capturing(driver, first.handle, mode) as capture:
        second.wait(first)  # joins the capture
        with use_stream(first):
            target[...] = source
        fakegpu.reset()
        target.__dlpack__(stream=first)
        assert not [r for r in fakegpu.trace() if "Wait" in r["call"]]
        target.__dlpack__(stream=second)
        assert [r["stream"] for r in fakegpu.trace() if "Wait" in r["call"]] == [second.handle]
        with use_stream(second):
            target[1:] = source[1:]
        first.wait(second)
        assert capture.state() == ACTIVE == capture.state(second.handle)
        capture.end()
        capture.launch(first.handle)
    first.synchronize()
    assert target.to_device("cpu").tolist() == [1.0] * SIZE


def test_two_captures_do_not_mix(where: Any) -> None:
    device, driver, mode = where
    first, second = Stream(device), Stream(device)
    target, source = ra.zeros((SIZE,), device=device), ra.ones((SIZE,), device=device)
    ra.synchronize(device)
    with capturing(driver, first.handle, mode) as one, capturing(driver, second.handle, mode):
        with use_stream(first):
            target[...] = source
        refused(target, stream=second)
        with use_stream(second), pytest.raises(BufferError, match="graph"):
            source[...] = target
        assert one.state() == ACTIVE


def test_the_default_stream_is_out_of_bounds_while_a_blocking_stream_captures(where: Any) -> None:
    device, driver, mode = where
    idle = ra.zeros((SIZE,), device=device)
    _, array = unfinished(device)
    blocking = driver.stream(0)
    with capturing(driver, blocking, mode) as capture:
        for keywords in ({}, {"stream": legacy(device)}):
            refused(array, **keywords)
        idle.__dlpack__()  # all of its work is in that stream
        producer = Foreign(array)
        with pytest.raises(BufferError, match="current stream"):
            ra.from_dlpack(producer)
        assert producer.asked == []
        with pytest.raises(BufferError, match="graph"):
            ra.zeros((3,), device=device)
        with pytest.raises(BufferError, match="graph"):
            idle.tolist()
        assert capture.state() == ACTIVE
    fakegpu.run()  # hipFree waits for all of it
    driver("cuStreamDestroy_v2" if capture.cuda else "hipStreamDestroy", blocking)


def test_what_comes_in_during_a_capture_belongs_to_it(where: Any) -> None:
    device, driver, mode = where
    inside, outside = Stream(device), Stream(device)
    producer = Foreign(ra.ones((SIZE,), device=device))
    target = ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    with capturing(driver, inside.handle, mode) as capture:
        with use_stream(inside):
            got = ra.from_dlpack(producer)
            assert producer.asked[-1]["stream"] == inside.handle
            target[...] = got
        refused(target, stream=outside)
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

    class Offers:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return described

    target = ra.zeros((SIZE,), device="cuda:0")
    ra.synchronize("cuda:0")
    with capturing(driver, inside.handle, mode) as capture:
        got = ra.asarray(Offers())
        with use_stream(Stream("cuda:0")), pytest.raises(BufferError, match="graph"):
            got.copy()
        with use_stream(inside):
            target[...] = got
            assert target.__cuda_array_interface__["stream"] == inside.handle
        with pytest.raises(BufferError, match="graph"):
            _ = target.__cuda_array_interface__
        assert capture.state() == ACTIVE
    assert got.tolist() == [1.0] * SIZE


def test_pinned_memory_that_a_graph_writes_is_not_waited_for(where: Any) -> None:
    device, driver, mode = where
    host = "cuda_host" if device.startswith("cuda") else "rocm_host"
    pinned, source = ra.zeros((SIZE,), device=host), ra.ones((SIZE,), device=device)
    inside = Stream(device)
    ra.synchronize(device)
    with capturing(driver, inside.handle, mode) as capture:
        with use_stream(inside):
            pinned[...] = source
        refused(pinned)
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


def test_a_stream_that_captures_is_neither_asked_nor_waited_for(where: Any) -> None:
    device, driver, mode = where
    stream = Stream(device)
    with capturing(driver, stream.handle, mode) as capture:
        with pytest.raises(BufferError, match="graph"):
            stream.synchronize()
        with pytest.raises(BufferError, match="graph"):
            _ = stream.done
        assert capture.state() == ACTIVE
    assert stream.done


def test_an_invalidated_capture_stays_the_users_affair(where: Any) -> None:
    device, driver, mode = where
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
