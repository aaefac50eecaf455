"""Ordering: streams, events, the legacy stream, the host."""

from __future__ import annotations

import ctypes

import fakegpu
import pytest
from conftest import Elsewhere, kinds
from fakegpu.driving import Cuda

LEGACY, PER_THREAD = 1, 2


def test_one_stream_is_in_order(cuda: Cuda) -> None:
    stream, memory, pinned = cuda.stream(), cuda.memory(), cuda.pinned()
    cuda.fill(memory, stream, 1)
    cuda.fill(memory, stream, 2)
    cuda.copy(pinned, memory, stream)
    cuda.synchronize(stream)
    assert ctypes.string_at(pinned, 4) == b"\2\2\2\2"
    assert not kinds()


def test_a_missing_wait_is_a_race_between_the_two_calls(cuda: Cuda) -> None:
    producer, consumer, memory = cuda.stream(), cuda.stream(), cuda.memory()
    with fakegpu.label("producer"):
        cuda.fill(memory, producer)
    with fakegpu.label("consumer"):
        cuda.copy(cuda.memory(), memory, consumer)
    [race] = fakegpu.violations()
    assert race["kind"] == "race"
    assert race["first"]["label"] == "producer" and race["first"]["stream"] == producer
    assert race["second"]["label"] == "consumer" and race["second"]["stream"] == consumer
    assert race["pointer"] == memory and race["bytes"] == 256


def test_a_race_is_reported_even_if_the_producer_finished_long_ago(cuda: Cuda) -> None:
    producer, consumer, memory = cuda.stream(), cuda.stream(), cuda.memory()
    cuda.fill(memory, producer)
    fakegpu.run()
    cuda.fill(memory, consumer)
    assert kinds() == ["race"]


def test_record_and_wait_order_two_streams(cuda: Cuda) -> None:
    producer, consumer, memory = cuda.stream(), cuda.stream(), cuda.memory()
    fakegpu.hold(producer)
    cuda.fill(memory, producer, 9)
    cuda.after(consumer, producer)
    pinned = cuda.pinned()
    cuda.copy(pinned, memory, consumer)
    assert cuda.code("cuStreamQuery", consumer) == 600
    fakegpu.step(producer, 2)
    cuda.synchronize(consumer)
    assert ctypes.string_at(pinned, 2) == b"\x09\x09"
    assert not kinds()


def test_order_is_transitive(cuda: Cuda) -> None:
    first, second, third, memory = cuda.stream(), cuda.stream(), cuda.stream(), cuda.memory()
    cuda.fill(memory, first)
    cuda.after(second, first)
    cuda.after(third, second)
    cuda.fill(memory, third)
    assert not kinds()


def test_two_reads_need_no_order(cuda: Cuda) -> None:
    one, other, memory = cuda.stream(), cuda.stream(), cuda.memory()
    cuda.copy(cuda.memory(), memory, one)
    cuda.copy(cuda.memory(), memory, other)
    assert not kinds()


def test_a_write_after_a_read_of_another_stream_is_a_race(cuda: Cuda) -> None:
    reader, writer, memory = cuda.stream(), cuda.stream(), cuda.memory()
    cuda.copy(cuda.memory(), memory, reader)
    cuda.fill(memory, writer)
    assert kinds() == ["race"]


def test_other_bytes_of_the_same_memory_are_no_race(cuda: Cuda) -> None:
    one, other, memory = cuda.stream(), cuda.stream(), cuda.memory(256)
    cuda.fill(memory, one, size=128)
    cuda.fill(memory + 128, other, size=128)
    assert not kinds()
    cuda.fill(memory + 127, other, size=1)
    assert kinds() == ["race"]


def test_a_wait_refers_to_the_record_before_it(cuda: Cuda) -> None:
    producer, consumer, memory = cuda.stream(), cuda.stream(), cuda.memory()
    event = cuda.event()
    cuda.record(event, producer)
    cuda.wait(consumer, event)
    cuda.fill(memory, producer)
    cuda.record(event, producer)  # after the wait: does not affect it
    cuda.fill(memory, consumer)
    assert kinds() == ["race"]


def test_a_wait_does_not_wait_for_a_later_record(cuda: Cuda) -> None:
    producer, consumer = cuda.stream(), cuda.stream()
    event = cuda.event()
    cuda.record(event, producer)
    fakegpu.hold(producer)
    cuda.wait(consumer, event)
    cuda.fill(cuda.memory(), producer)
    cuda.record(event, producer)
    cuda.synchronize(consumer)  # waits for the first record only
    assert cuda.code("cuEventQuery", event) == 600


def test_an_event_never_recorded_is_complete_and_orders_nothing(cuda: Cuda) -> None:
    stream, event = cuda.stream(), cuda.event()
    cuda.wait(stream, event)
    assert cuda.code("cuEventQuery", event) == 0
    cuda("cuEventSynchronize", event)


def test_a_pending_event_may_be_destroyed(cuda: Cuda) -> None:
    producer, consumer, memory = cuda.stream(), cuda.stream(), cuda.memory()
    fakegpu.hold(producer)
    cuda.fill(memory, producer)
    event = cuda.event()
    cuda.record(event, producer)
    cuda.wait(consumer, event)
    cuda("cuEventDestroy_v2", event)
    cuda.fill(memory, consumer)
    fakegpu.run()
    assert not kinds()


@pytest.mark.parametrize("how", ["cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"])
def test_a_host_wait_orders_later_calls(cuda: Cuda, how: str) -> None:
    one, other, memory = cuda.stream(), cuda.stream(), cuda.memory()
    event = cuda.event()
    cuda.fill(memory, one)
    cuda.record(event, one)
    arguments = {
        "cuStreamSynchronize": [one],
        "cuEventSynchronize": [event],
        "cuCtxSynchronize": [],
    }
    cuda(how, *arguments[how])
    cuda.fill(memory, other)
    assert not kinds()


def test_a_query_orders_only_if_it_succeeds(cuda: Cuda) -> None:
    one, other, memory = cuda.stream(), cuda.stream(), cuda.memory()
    fakegpu.hold(one)
    cuda.fill(memory, one)
    assert cuda.code("cuStreamQuery", one) == 600
    fakegpu.step(one)
    assert cuda.code("cuStreamQuery", one) == 0
    cuda.fill(memory, other)
    assert not kinds()


@pytest.mark.parametrize(
    ("writers", "told"),
    [
        (["blocking", LEGACY, "blocking", 0], []),
        (["non-blocking", LEGACY], ["race"]),
        (["blocking", "another blocking"], ["race"]),
        (["blocking", LEGACY, "another blocking"], []),
        ([PER_THREAD, LEGACY, PER_THREAD], []),
    ],
)
def test_the_legacy_stream_is_ordered_with_blocking_streams_both_ways(
    cuda: Cuda, writers: list[str | int], told: list[str]
) -> None:
    memory = cuda.memory()
    made = {"non-blocking": cuda.stream()}
    made |= {name: cuda.stream(0) for name in ("blocking", "another blocking")}
    for stream in writers:
        cuda.fill(memory, stream if isinstance(stream, int) else made[stream])
    assert kinds() == told


def test_an_event_on_the_legacy_stream_covers_blocking_streams(cuda: Cuda) -> None:
    blocking, consumer, memory = cuda.stream(0), cuda.stream(), cuda.memory()
    fakegpu.hold(blocking)
    cuda.fill(memory, blocking)
    cuda.after(consumer, LEGACY)
    cuda.fill(memory, consumer)
    assert cuda.code("cuStreamQuery", consumer) == 600
    fakegpu.run()
    assert not kinds()


def test_each_thread_has_its_own_per_thread_stream(cuda: Cuda, elsewhere: Elsewhere) -> None:
    memory = cuda.memory()
    cuda.fill(memory, PER_THREAD)
    elsewhere(lambda: cuda.fill(memory, PER_THREAD))
    assert kinds() == ["race"]


def test_special_streams_belong_to_the_current_context(cuda: Cuda) -> None:
    cuda.use(1)
    device = ctypes.c_int()
    cuda("cuStreamGetDevice", LEGACY, device)
    assert device.value == 1
    cuda.use(0)
    cuda("cuStreamGetDevice", LEGACY, device)
    assert device.value == 0


def test_a_consumer_may_wait_for_an_event_of_another_device(cuda: Cuda) -> None:
    producer, memory = cuda.stream(), cuda.memory()
    fakegpu.hold(producer)
    cuda.fill(memory, producer, 5)
    event = cuda.event()
    cuda.record(event, producer)
    cuda.use(1)
    consumer, own = cuda.stream(), cuda.memory()
    cuda.wait(consumer, event)
    cuda("cuMemcpyPeerAsync", own, cuda.contexts[1], memory, cuda.contexts[0], 256, consumer)
    fakegpu.step(producer, 2)
    cuda.synchronize(consumer)
    assert fakegpu.peek(own, 2) == b"\5\5"
    assert not kinds()


def test_a_context_record_covers_all_its_streams_and_no_other_device(cuda: Cuda) -> None:
    one, other, memory, more = cuda.stream(), cuda.stream(), cuda.memory(), cuda.memory()
    reaper, event = cuda.stream(), cuda.event()
    cuda.fill(memory, one)
    cuda.fill(more, other)
    cuda("cuCtxRecordEvent", cuda.contexts[0], event)
    cuda.wait(reaper, event)
    cuda.fill(memory, reaper)
    cuda.fill(more, reaper)
    assert not kinds()
    cuda.use(1)
    far = cuda.stream()
    cuda.fill(memory, far)
    assert kinds() == ["race"]


def test_a_context_wait_covers_existing_and_later_streams(cuda: Cuda) -> None:
    producer, present, memory = cuda.stream(), cuda.stream(), cuda.memory()
    event = cuda.event()
    cuda.fill(memory, producer)
    cuda.record(event, producer)
    cuda("cuCtxWaitEvent", cuda.contexts[0], event)
    cuda.copy(cuda.memory(), memory, present)
    cuda.copy(cuda.memory(), memory, cuda.stream())
    assert not kinds()


def test_the_consumer_runs_first_in_the_latest_order(cuda: Cuda) -> None:
    fakegpu.configure(order="latest")
    producer, consumer, memory = cuda.stream(), cuda.stream(), cuda.memory()
    pinned = cuda.pinned()
    cuda.fill(memory, producer, 3)
    cuda.copy(pinned, memory, consumer)
    cuda("cuCtxSynchronize")
    assert ctypes.string_at(pinned, 1) == b"\xcd"
    assert kinds() == ["race"]


def test_with_a_wait_every_order_gives_the_same_result(cuda: Cuda) -> None:
    for order, seed in [
        ("latest", 1),
        ("earliest", 1),
        ("random", 1),
        ("random", 2),
        ("threads", 1),
    ]:
        fakegpu.configure(order=order, seed=seed)
        producer, consumer = cuda.stream(), cuda.stream()
        memory, pinned = cuda.memory(), cuda.pinned()
        cuda.fill(memory, producer, 4)
        cuda.after(consumer, producer)
        cuda.copy(pinned, memory, consumer)
        cuda("cuCtxSynchronize")
        assert ctypes.string_at(pinned, 1) == b"\4", order
    assert not kinds()


def test_delays_change_only_the_timing(cuda: Cuda) -> None:
    fakegpu.configure(delay=2000, seed=7)
    producer, consumer, memory = cuda.stream(), cuda.stream(), cuda.memory()
    pinned = cuda.pinned()
    for value in range(10):
        cuda.fill(memory, producer, value)
        cuda.after(consumer, producer)
        cuda.copy(pinned, memory, consumer)
        cuda.after(producer, consumer)
    cuda.synchronize(producer)
    assert ctypes.string_at(pinned, 1) == b"\x09"
    assert not kinds()


def test_step_stops_at_work_that_waits_for_a_held_stream(cuda: Cuda) -> None:
    producer, consumer, memory = cuda.stream(), cuda.stream(), cuda.memory()
    fakegpu.hold(producer)
    fakegpu.hold(consumer)
    cuda.fill(memory, producer)
    cuda.after(consumer, producer)
    cuda.fill(memory, consumer)
    assert fakegpu.step(consumer, 2) == 0
    assert fakegpu.step(producer, 5) == 2
    assert fakegpu.step(consumer, 5) == 2


def test_a_host_wait_for_held_work_is_a_hang(cuda: Cuda) -> None:
    fakegpu.configure(hang_milliseconds=50)
    stream = cuda.stream()
    fakegpu.hold(stream)
    cuda.fill(cuda.memory(), stream)
    cuda.synchronize(stream)
    assert kinds() == ["hang"]


def test_threads_share_a_clock_unless_configured(cuda: Cuda, elsewhere: Elsewhere) -> None:
    fakegpu.configure(each_thread=True)
    one, other, memory = cuda.stream(), cuda.stream(), cuda.memory()
    elsewhere(lambda: (cuda.fill(memory, one), cuda.synchronize(one)))
    cuda.fill(memory, other)  # this thread has not synchronized with anything
    assert "race" in kinds()
