"""Stream and Event objects: attributes, equality, arguments, waiting, and each thread's current
stream."""

from __future__ import annotations

import gc
import threading
from typing import Any

import fakegpu
import pytest
from capturing import driver_of

import refarray as ra
from refarray import Event, Stream, use_stream

GPUS = ["cuda:0", "cuda:1", "rocm:0"]


@pytest.fixture(params=GPUS)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_attributes_of_a_stream(device: str) -> None:
    own = Stream(device)
    assert repr(own) == f"<refarray.Stream {own.handle:#x} on {device}>"
    assert (own.device, own.done, own.__cuda_stream__()) == (device, True, (0, own.handle))
    theirs = Stream(device, own.handle)
    assert repr(theirs).endswith(f" on {device} of another library>")
    default = Stream(device, 0)
    assert repr(default).endswith(f" on {device} (legacy default)>")
    assert default == ra.current_stream(device)
    if device.startswith("cuda"):
        assert (default.handle, Stream(device, 1)) == (1, default)
        assert repr(Stream(device, 2)).endswith("(per-thread default)>")
    else:
        assert default.handle == 0


def test_streams_compare_by_handle(device: str) -> None:
    own, other = Stream(device), Stream(device)
    same = Stream(device, own)
    assert own == same and hash(own) == hash(same) and own != other
    assert own != own.handle and own != "stream" and (own == None) is False  # noqa: E711
    assert {own, same, other} == {own, other}
    assert Stream("cuda:0", 0) != Stream("cuda:1", 0)
    with pytest.raises(TypeError, match="not supported between"):
        _ = own < other  # type: ignore[operator]


@pytest.mark.parametrize("memory", ["cpu", "cuda_host", "rocm_host"])
def test_memory_without_streams(memory: str) -> None:
    for make in (Stream, Event, ra.current_stream, ra.synchronize):
        with pytest.raises(ValueError, match=f"device {memory} has no streams"):
            make(memory)


def test_arguments() -> None:
    wrong: list[Any] = [
        lambda: Stream(), lambda: Stream("cuda:0", handle=1, other=2), lambda: Stream(7),
        lambda: Event(), lambda: Event("cuda:0", True), lambda: Event(b"cuda:0"),
        lambda: use_stream("cuda:0"), lambda: Event("cuda:0").record(1),
        lambda: Stream("cuda:0").wait(1), lambda: Event("cuda:0").elapsed_ms(1),
        lambda: ra._native._set_current_stream(1), lambda: ra._native._reset_current_stream(1),
        lambda: ra._native._reset_current_stream("cuda:0", 1),
    ]  # fmt: skip
    for make in wrong:
        with pytest.raises(TypeError):
            make()


def test_time_between_two_events(device: str) -> None:
    stream = Stream(device)
    start, end = Event(device, timing=True), Event(device, timing=True)
    start.record(stream)
    with use_stream(stream):
        ra.zeros((100,), device=device)
    end.record(stream)
    end.synchronize()
    assert start.done and end.done and 0 <= start.elapsed_ms(end) < 60_000
    with pytest.raises(ra.DriverError, match="the time between two events failed"):
        start.elapsed_ms(Event(device, timing=True))  # never recorded
    with pytest.raises(ra.DriverError, match="the time between two events failed"):
        start.elapsed_ms(stream.record())  # made without timing


def test_streams_wait_for_streams_and_events(device: str) -> None:
    producer, one, two = Stream(device), Stream(device), Stream(device)
    array = ra.zeros((100,), device=device)
    ra.synchronize(device)
    fakegpu.hold(producer.handle)
    with use_stream(producer):
        array[...] = 1
    assert not producer.done
    event = producer.record()
    one.wait(producer)
    two.wait(event)
    assert not event.done and not one.done and not two.done
    assert not fakegpu.trace("cuStreamSynchronize", "hipStreamSynchronize")
    fakegpu.run()
    two.synchronize()
    event.synchronize()
    assert event.done and producer.done and two.done


def test_each_thread_has_its_own_stream_of_each_device() -> None:
    first, second = Stream("cuda:0"), Stream("cuda:1")
    seen: list[Any] = []
    with use_stream(first) as entered, use_stream(second):
        assert entered is first
        assert (ra.current_stream("cuda:0"), ra.current_stream("cuda:1")) == (first, second)
        thread = threading.Thread(target=lambda: seen.append(ra.current_stream("cuda:0").handle))
        thread.start()
        thread.join()
        again = use_stream(Stream("cuda:0"))
        with again, again:
            assert ra.current_stream("cuda:0") not in (first, second)
        assert ra.current_stream("cuda:0") == first
    assert seen == [1]
    assert ra.current_stream("cuda:0").handle == ra.current_stream("cuda:1").handle == 1


def test_a_dropped_stream_completes_its_work(device: str) -> None:
    array = ra.zeros((100,), device=device)
    ra.synchronize(device)
    stream = Stream(device)
    fakegpu.hold(stream.handle)
    with use_stream(stream):
        array[...] = 1
    del stream
    gc.collect()
    fakegpu.run()
    assert array.tolist() == [1.0] * 100


def test_a_new_event_is_done(device: str) -> None:
    """Also when refarray has cached events whose work has not finished."""
    busy = Stream(device)
    array = ra.zeros((100,), device=device)
    ra.synchronize(device)
    fakegpu.hold(busy.handle)
    with use_stream(busy):
        array[...] = 1
    busy.record()  # dropped: its event returns to the cache
    event = Event(device)
    assert event.done
    waiting = Stream(device)
    waiting.wait(event)
    assert waiting.done
    event.synchronize()


def test_an_event_keeps_its_stream(device: str) -> None:
    """On ROCm a wait for an event whose stream has been destroyed does nothing."""
    producer, consumer = Stream(device), Stream(device)
    driver = driver_of(device)
    driver.use(int(device[-1]))
    handle = producer.handle
    memory = driver.memory()
    fakegpu.hold(handle)
    driver.fill(memory, handle)  # another library's work: no array of ours keeps the stream
    event = producer.record()
    del producer
    gc.collect()
    consumer.wait(event)
    assert not consumer.done
    fakegpu.run()
    consumer.synchronize()

    def is_destroyed() -> bool:
        calls = fakegpu.trace("cuStreamDestroy", "hipStreamDestroy")
        return handle in [call["stream"] for call in calls]

    assert not is_destroyed()
    event.record(Stream(device))  # releases the former stream
    assert is_destroyed()
    driver("cuMemFree_v2" if device.startswith("cuda") else "hipFree", memory)
    driver.use(0)
