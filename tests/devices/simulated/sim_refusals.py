"""Refused exports of device memory: refused before memory is allocated, an event is recorded or
anything is enqueued, whichever step refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import fakegpu
import pytest
from capturing import MODES, SIZE, capturing, driver_of, host_of, unfinished
from fakegpu.driving import Driver

import refarray as ra
from refarray import Stream, use_stream

#: Parts of the names of the calls that change something: memory, streams or events.
EFFECTS = (
    "Alloc", "Malloc", "Free", "Record", "WaitEvent", "Synchronize", "Memcpy", "Memset", "Launch",
)  # fmt: skip


def effects(calls: list[dict[str, Any]]) -> list[str]:
    names = [str(record["call"]) for record in calls]
    return [name for name in names if any(part in name for part in EFFECTS)]


@contextmanager
def no_effects() -> Iterator[None]:
    """No call that changes anything. Does not reset the trace, which would release held work."""
    before = len(fakegpu.trace())
    live = len(fakegpu.live())
    yield
    assert effects(fakegpu.trace()[before:]) == []
    assert len(fakegpu.live()) == live


def refused(
    error: type[Exception], array: ra.Array, says: str | None = None, **keywords: Any
) -> None:
    """Both structs are refused, with and without a copy, unless `copy` is given."""
    copies = [keywords.pop("copy")] if "copy" in keywords else [None, True]
    for copy in copies:
        for version in (None, (1, 3)):
            with no_effects(), pytest.raises(error, match=says):
                array.__dlpack__(**{"max_version": version, "copy": copy, **keywords})


def test_arguments(device: str) -> None:
    _, array = unfinished(device)
    other = Stream("rocm:0" if device.startswith("cuda") else "cuda:0")
    with pytest.raises(TypeError), no_effects():
        array.__dlpack__(colour=1)
    for stream in (True, 1.5, "1", object()):
        refused(TypeError, array, stream=stream)
    bad = (0, -2, 2**64) if device.startswith("cuda") else (1, 2, -2, 2**64)
    for stream in (*bad, other):
        refused(ValueError, array, stream=stream)
    for keywords in ({"max_version": 1}, {"dl_device": "cpu"}, {"copy": 1}):
        refused(TypeError, array, **keywords)
    for number in ((2, 7), (10, 3), (10, 9), (7, 0), (99, 0)):
        refused(BufferError, array, "dl_device=", dl_device=number)
    refused(ra.NoCopyError, array, dl_device=(1, 0), copy=False)
    refused(ValueError, array, dl_device=(1, 0), stream=Stream(device))


def test_read_only_and_padded_for_a_legacy_consumer(device: str) -> None:
    stream, array = unfinished(device)
    with use_stream(stream):
        padded = ra.zeros((SIZE,), dtype="float4_e2m1fn_padded", device=device)
    for keywords in ({}, {"stream": Stream(device)}):
        with no_effects(), pytest.raises(BufferError, match="read-only"):
            array.as_readonly().__dlpack__(**keywords)
        for copy in (None, True):
            with no_effects(), pytest.raises(BufferError, match="padded"):
                padded.__dlpack__(copy=copy, **keywords)


def test_a_bad_stream_for_host_memory(device: str) -> None:
    kind = host_of(device)
    array = ra.zeros((SIZE,), device=kind)
    refused(ValueError, array, stream=-2)
    refused(ValueError, ra.zeros((SIZE,)), stream=Stream(device))
    vendor = (2, 0) if device.startswith("cuda") else (10, 0)
    refused(ValueError, ra.zeros((SIZE,)), dl_device=vendor, stream=-2)


Setup = Callable[[str, Any, ExitStack, int], tuple[ra.Array, dict[str, Any]]]


def consumer_captures(device: str, driver: Any, stack: ExitStack, mode: int) -> Any:
    """The consumer's stream captures a graph, and the array's work is outside of it."""
    _, array = unfinished(device)
    consumer = stack.enter_context(made_stream(driver))
    stack.enter_context(capturing(driver, consumer, mode))
    return array, {"stream": consumer}


def producer_captures(device: str, driver: Any, stack: ExitStack, mode: int) -> Any:
    """The array's unfinished work is part of a graph, and the consumer's stream is not."""
    inside, outside = Stream(device), Stream(device)
    target, source = (ra.zeros((SIZE,), device=device) for _ in range(2))
    ra.synchronize(device)
    stack.enter_context(capturing(driver, inside.handle, mode))
    with use_stream(inside):
        target[...] = source
    return target, {"stream": outside}


def producer_captures_for_the_cpu(device: str, driver: Any, stack: ExitStack, mode: int) -> Any:
    array, _ = producer_captures(device, driver, stack, mode)
    return array, {"dl_device": (1, 0), "copy": True}


def our_stream_captures(device: str, driver: Any, stack: ExitStack, mode: int) -> Any:
    """A copy without a stream of the consumer's is made on our current stream, which captures."""
    array = ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    stream = stack.enter_context(nullcontext(Stream(device)))  # outlives the capture
    stack.enter_context(capturing(driver, stream.handle, mode))
    stack.enter_context(use_stream(stream))
    return array, {"stream": -1, "copy": True}


def our_stream_captures_for_the_cpu(device: str, driver: Any, stack: ExitStack, mode: int) -> Any:
    array, _ = our_stream_captures(device, driver, stack, mode)
    return array, {"dl_device": (1, 0), "copy": True}


def pinned_memory_in_a_graph(device: str, driver: Any, stack: ExitStack, mode: int) -> Any:
    """The host would have to wait for work that is part of a graph."""
    kind = host_of(device)
    stream = Stream(device)
    pinned, source = ra.zeros((SIZE,), device=kind), ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    stack.enter_context(capturing(driver, stream.handle, mode))
    with use_stream(stream):
        pinned[...] = source
    return pinned, {}


@contextmanager
def made_stream(driver: Any) -> Iterator[int]:
    stream = driver.stream()
    yield stream
    driver.destroy(stream)


SETUPS: list[Setup] = [
    consumer_captures,
    producer_captures,
    producer_captures_for_the_cpu,
    our_stream_captures,
    our_stream_captures_for_the_cpu,
    pinned_memory_in_a_graph,
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.__name__)
def test_graph_captures(device: str, driver: Driver, mode: str, setup: Setup) -> None:
    with ExitStack() as stack:
        array, keywords = setup(device, driver, stack, MODES[mode])
        refused(BufferError, array, **keywords)


def test_work_in_and_outside_a_capture_is_refused_without_an_event(device: str) -> None:
    """Of two streams that still read the array, one captures: no event is recorded on either."""
    driver = driver_of(device)
    first, second, consumer = (Stream(device) for _ in range(3))
    array = ra.zeros((SIZE,), device=device)
    targets = [ra.zeros((SIZE,), device=device) for _ in range(2)]
    ra.synchronize(device)
    with capturing(driver, second.handle, MODES["relaxed"]):
        with use_stream(second):
            targets[1][...] = array
        fakegpu.hold(first.handle)
        with use_stream(first):
            targets[0][...] = array
        refused(BufferError, array, stream=consumer, copy=None)
    fakegpu.run()


def test_the_same_requests_without_a_capture_succeed(device: str) -> None:
    """The control: nothing but the capture was wrong."""
    array = ra.zeros((SIZE,), device=device)
    consumer = Stream(device)
    for keywords in ({"stream": consumer}, {"stream": -1}, {"dl_device": (1, 0)}):
        for copy in (None, True):
            array.__dlpack__(max_version=(1, 3), copy=copy, **keywords)
