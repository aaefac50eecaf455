"""Work of one thread while another one captures a graph in global mode, and events of captures."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import fakegpu
import pytest
from capturing import (
    ACTIVE,
    MODES,
    SIZE,
    Capture,
    capturing,
    driver_of,
    host_of,
    unfinished,
)
from fakegpu.driving import Driver

import refarray as ra
from refarray import Event, Stream, use_stream


class Elsewhere:
    """A global capture of another library, in a thread of its own."""

    def __init__(self, device: str) -> None:
        self.device, self.state, self.error = device, 0, None
        self.stream = 0
        self.begun, self.enough = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        try:
            driver = driver_of(self.device)
            stream = self.stream = driver.stream()
            capture = Capture(driver, stream, MODES["global"])
            self.begun.set()
            self.enough.wait(60)
            self.state = capture.state()
            if self.state == ACTIVE:
                capture.end()
            capture.forget()
            driver.destroy(stream)
        except BaseException as error:
            self.error = error
        finally:
            self.begun.set()


@contextmanager
def captured_elsewhere(device: str) -> Iterator[Elsewhere]:
    """Fails if the block invalidated the capture of the other thread."""
    other = Elsewhere(device)
    other.thread.start()
    assert other.begun.wait(60)
    try:
        yield other
    finally:
        other.enough.set()
        other.thread.join()
    assert other.error is None
    assert other.state == ACTIVE


def ones(device: str) -> ra.Array:
    return ra.ones((SIZE,), dtype="uint8", device=device)


def test_the_host_waits_for_work(device: str) -> None:
    array = ones(device)
    ra.synchronize(device)
    with captured_elsewhere(device), use_stream(Stream(device)) as stream:
        array[...] = 2
        assert array.to_device("cpu").tolist() == [2] * SIZE
        stream.synchronize()
        assert stream.done


def test_a_copy_that_fails_half_way_waits_for_its_stream(device: str) -> None:
    array, source = ones(device), ra.full((SIZE,), 2, dtype="uint8")
    ra.synchronize(device)
    with captured_elsewhere(device), use_stream(Stream(device)):
        fakegpu.fail("cuMemcpyHtoDAsync" if device == "cuda:0" else "hipMemcpyAsync")
        with pytest.raises(ra.DriverError):
            array[...] = source


def test_events_are_asked_and_waited_for(device: str) -> None:
    stream, array = unfinished(device)
    with captured_elsewhere(device):
        event = stream.record()
        assert not event.done
        fakegpu.run()
        event.synchronize()
        assert event.done
    assert array.to_device("cpu").tolist() == [1] * SIZE


def test_each_event_is_asked_for_its_own_work(device: str) -> None:
    """On HIP 7 streams wait for events in the place of the host: no event hides behind another."""
    first, second, array = Stream(device), Stream(device), ones(device)
    ra.synchronize(device)
    copies = []
    for stream in (first, second):
        fakegpu.hold(stream.handle)
        with use_stream(stream):
            copies.append(array.copy())
    with captured_elsewhere(device):
        early, late = first.record(), second.record()
        assert not early.done and not late.done
        fakegpu.step(second.handle, 9)
        late.synchronize()
        assert late.done and not early.done
        early.record(second)
        fakegpu.step(second.handle, 9)
        early.synchronize()
        assert early.done
        late.record(first)
        assert not late.done
        fakegpu.run()
    ra.synchronize(device)


def test_asking_in_a_loop_creates_no_streams(device: str) -> None:
    stream, array = unfinished(device)
    event = stream.record()
    assert not event.done
    with use_stream(Stream(device)):
        before = fakegpu.calls("hipStreamCreateWithFlags") + fakegpu.calls("cuStreamCreate")
        assert not any(event.done for _ in range(50))
        after = fakegpu.calls("hipStreamCreateWithFlags") + fakegpu.calls("cuStreamCreate")
    assert after == before
    fakegpu.run()
    assert event.done
    del array


def test_events_are_asked_on_each_device(device: str) -> None:
    near, far = device, device.replace("0", "1")
    for name in (near, far, near, far):
        stream, array = unfinished(name)
        event = stream.record()
        assert not event.done
        fakegpu.run()
        event.synchronize()
        assert event.done
        del array


def test_memory_is_allocated_and_freed(device: str) -> None:
    """Also the first time, when pools and streams are created."""
    ra.empty_cache(device)
    with captured_elsewhere(device), use_stream(Stream(device)):
        arrays = [ones(device) for _ in range(3)]
        pinned = ra.zeros((SIZE,), dtype="uint8", device=host_of(device))
        pinned[...] = arrays[0]
        assert pinned.tolist() == [1] * SIZE
        del pinned
        arrays.clear()
        gc.collect()
        ra.empty_cache(device)


def test_exported_memory_is_freed_once_the_capture_was_seen(device: str) -> None:
    """The remedy of docs/gpu.md: an event of the whole context would invalidate the capture."""
    array = ones(device)
    with captured_elsewhere(device) as other, use_stream(Stream(device)):
        with use_stream(Stream(device, handle=other.stream)):
            pass
        capsule = array.__dlpack__(stream=-1)
        del capsule, array
        gc.collect()
        ra.empty_cache(device)


def test_deleters_run(device: str) -> None:
    from sim_consumers import Owned

    owned = Owned(ones(device))
    ra.synchronize(device)
    with captured_elsewhere(device), use_stream(Stream(device)):
        array = ra.from_capsule(owned.tensor.capsule())
        array[...] = 2
        del array
        gc.collect()
    ra.synchronize(device)
    assert owned.freed


def test_events_of_captures_are_not_used_again(device: str, driver: Driver) -> None:
    """HIP before 7.2 crashes when such an event is recorded in another stream; `clean` sees it."""
    source, into = ones(device), ones(device)
    ra.synchronize(device)
    stream = Stream(device)
    for _ in range(3):
        with capturing(driver, stream.handle, MODES["relaxed"]), use_stream(stream):
            into[...] = source  # records the end of both uses
        others = [Stream(device) for _ in range(4)]
        for other in others:
            with use_stream(other):
                into[...] = 3
                source[...] = into
        ra.synchronize(device)


def test_an_event_of_a_capture_is_recorded_again(device: str, driver: Driver) -> None:
    stream, other = Stream(device), Stream(device)
    event = Event(device, timing=True)
    for _ in range(3):
        with capturing(driver, stream.handle, MODES["relaxed"]), use_stream(stream):
            event.record(stream)
            with pytest.raises(BufferError, match="capture"):
                _ = event.done
        event.record(other)
        event.synchronize()
        assert event.done
    end = Event(device, timing=True)
    end.record(other)
    end.synchronize()
    assert event.elapsed_ms(end) >= 0


def live_events() -> int:
    return len(fakegpu.live("event"))


def test_events_of_captures_do_not_pile_up(device: str, driver: Driver) -> None:
    source, into = ones(device), ones(device)
    ra.synchronize(device)
    stream, event = Stream(device), Event(device)

    def capture() -> None:
        with capturing(driver, stream.handle, MODES["relaxed"]), use_stream(stream):
            into[...] = source
            event.record(stream)
        event.record(stream)
        ra.synchronize(device)

    for _ in range(3):
        capture()
    before = live_events()
    for _ in range(20):
        capture()
    assert live_events() <= before + 2
