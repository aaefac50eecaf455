"""Stream and Event objects: attributes, equality, arguments, waiting, and each thread's current
stream."""

from __future__ import annotations

import gc
from typing import Any

import fakegpu
import pytest
from capturing import MODES, capturing, current_device, driver_of, in_threads

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


@pytest.mark.parametrize(
    "pair", [("cuda:0", "cuda:1"), ("cuda:0", "rocm:0"), ("rocm:1", "rocm:0")], ids="-".join
)
def test_no_time_between_events_of_two_devices(pair: tuple[str, str]) -> None:
    """Another vendor's driver would take the handle for an address."""
    start, end = (Event(name, timing=True) for name in pair)
    start.record(Stream(pair[0]))
    end.record(Stream(pair[1]))
    for one, other in ((start, end), (end, start)):
        fakegpu.reset()
        with pytest.raises(ValueError, match="there is no time between an event of"):
            one.elapsed_ms(other)
        assert fakegpu.trace() == []


@pytest.mark.parametrize("what", ["stream", "event"])
def test_nothing_leaks_if_the_device_cannot_be_entered(device: str, what: str) -> None:
    """What could not be destroyed is destroyed when the next one is made or destroyed."""

    def make() -> Any:
        return Stream(device) if what == "stream" else Event(device)

    def drop(held: list[Any]) -> None:
        driver.use(1 if device.endswith("0") else 0)
        fakegpu.fail("cuCtxPushCurrent" if device.startswith("cuda") else "hipGetDevice", 1, 999)
        held.clear()
        gc.collect()
        driver.use(0)
        fakegpu.reset()

    driver = driver_of(device)
    before = len(fakegpu.live(what))
    first, second = [make()], [make()]
    drop(first)
    assert len(fakegpu.live(what)) == before + 2
    third = [make()]
    assert len(fakegpu.live(what)) == before + 2
    drop(third)
    second.clear()
    gc.collect()
    assert len(fakegpu.live(what)) == before


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
        in_threads(lambda: seen.append(ra.current_stream("cuda:0").handle))
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
    driver.free(memory)
    driver.use(0)


@pytest.mark.parametrize("users", [0, 1])
@pytest.mark.parametrize("vendor", ["cuda", "rocm"])
def test_the_callers_device_stays_current(vendor: str, users: int) -> None:
    driver = driver_of(f"{vendor}:0")
    driver.use(users)
    for device in (f"{vendor}:0", f"{vendor}:1"):
        stream = Stream(device)
        with use_stream(stream):
            array = ra.ones((8,), device=device)
            array[::2] = 2
            stream.record().synchronize()
        consumer = Stream(device)
        array.__dlpack__(stream=consumer.handle)
        ra.synchronize(device)
        del array, stream, consumer
        gc.collect()
        assert current_device(driver) == users
    driver.use(0)


@pytest.mark.parametrize("vendor", ["cuda", "rocm"])
def test_the_callers_device_stays_current_if_another_cannot_be_entered(vendor: str) -> None:
    """A destructor reports no errors."""
    driver = driver_of(f"{vendor}:0")
    stream = Stream(f"{vendor}:1")
    driver.use(0)
    fakegpu.fail("cuCtxPushCurrent" if vendor == "cuda" else "hipGetDevice", 1, 999)
    del stream
    gc.collect()
    assert current_device(driver) == 0


def test_the_callers_context_stays_current_when_others_are_waited_for() -> None:
    """A stream in a context of its own was given to an export; the free waits for that context."""
    from sim_consumers import OtherContext

    driver = driver_of("cuda:0")
    other = OtherContext(driver)
    array = ra.ones((8,), device="cuda:0")
    array.__dlpack__(stream=other.stream)
    driver.use(1)
    del array
    gc.collect()
    ra.synchronize("cuda:0")
    assert current_device(driver) == 1
    driver.use(0)
    other.destroy()


def test_waiting_for_events_creates_few_streams(device: str) -> None:
    """On HIP 7.0 to 7.2 streams wait for events. They are kept, as many as are busy at once."""
    stream = Stream(device)

    def wait() -> None:
        with use_stream(stream):
            ra.zeros((100,), device=device)
        stream.record().synchronize()

    fakegpu.reset()
    for _ in range(30):
        wait()
    assert len(fakegpu.trace("hipStreamCreateWithFlags", "cuStreamCreate")) < 10


def test_an_event_stands_for_its_latest_record(device: str) -> None:
    busy, idle, array = Stream(device), Stream(device), ra.zeros((100,), device=device)
    ra.synchronize(device)
    fakegpu.hold(busy.handle)
    with use_stream(busy):
        array[...] = 1
    event = busy.record()
    assert not event.done
    event.record(idle)
    idle.synchronize()
    assert event.done
    event.record(busy)
    assert not event.done
    fakegpu.run()
    event.synchronize()


def test_dropped_events_of_captures_are_destroyed(device: str) -> None:
    """On HIP an event of a capture is not recorded again: another one takes its place."""
    driver, stream = driver_of(device), Stream(device)
    driver.use(int(device[-1]))

    def use_and_drop() -> None:
        event = Event(device)
        for _ in range(2):
            with capturing(driver, stream.handle, MODES["relaxed"]), use_stream(stream):
                event.record(stream)
            event.record(stream)
            event.synchronize()

    use_and_drop()
    before = len(fakegpu.live("event"))
    for _ in range(5):
        use_and_drop()
    assert len(fakegpu.live("event")) == before
    driver.use(0)


@pytest.mark.parametrize("copy", [None, True])
def test_an_export_releases_the_stream_of_an_ended_capture(device: str, copy: bool | None) -> None:
    """The array keeps the stream while the capture may use it. Destroying it needs no GIL; the
    simulated driver reports destruction with the GIL held."""
    driver, stream = driver_of(device), Stream(device)
    driver.use(int(device[-1]))
    array = ra.zeros((100,), device=device)
    ra.synchronize(device)
    with capturing(driver, stream.handle, MODES["relaxed"]), use_stream(stream):
        array[...] = 0
    handle, consumer = stream.handle, Stream(device)
    del stream
    gc.collect()
    assert handle in [item["handle"] for item in fakegpu.live("stream")]
    array.__dlpack__(stream=consumer.handle, copy=copy)
    assert handle not in [item["handle"] for item in fakegpu.live("stream")]
    driver.use(0)
