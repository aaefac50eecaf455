"""Device memory and events between processes, which only drivers decide: what a mapping sees, who
keeps memory, and whether an event orders the work of two processes."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest
from devices.hardware.conftest import Delay, Seen, is_simulated, load_simulated
from devices.hardware.gpu_partners import COUNT, DEVICE, NEW, OLD, full

import refarray as ra
import refarray.shared as shared

pytestmark = [pytest.mark.hardware, pytest.mark.needs("refarray")]


def serve(connection: Connection, simulated: bool) -> None:
    """The other process: answers each array with its values, and each event by waiting for it."""
    if simulated:
        load_simulated()
    kept = shared.empty((COUNT,), "float32", device=DEVICE)
    kept[...] = NEW
    stream = ra.Stream(DEVICE)
    copied = kept
    while (given := connection.recv()) is not None:
        if isinstance(given, ra.Array):
            kept = given
            connection.send(kept.to_device("cpu").tolist())
        elif isinstance(given, ra.Event):
            stream.wait(given)
            with ra.use_stream(stream):
                copied = kept.copy()
            connection.send(stream.done)
        else:
            connection.send(kept if given == "yours" else copied.to_device("cpu").tolist())


@pytest.fixture
def other(request: pytest.FixtureRequest) -> Iterator[tuple[Connection, multiprocessing.Process]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, is_simulated(request.config)))
    process.start()
    yield ours, process
    if process.is_alive():
        ours.send(None)
    process.join()


def new_shared(value: float) -> ra.Array:
    x = shared.empty((COUNT,), "float32", device=DEVICE)
    x[...] = value
    return x


def test_another_process_maps_the_memory(other: tuple[Connection, object], seen: Seen) -> None:
    """The other process reads what this one wrote, without a wait of its own."""
    begin = time.perf_counter()
    x = new_shared(OLD)
    made = time.perf_counter()
    other[0].send(x)
    assert Counter(other[0].recv()) == {OLD: COUNT}
    end = time.perf_counter()
    seen(f"made in {1e3 * (made - begin):.1f} ms, sent and read in {1e3 * (end - made):.1f} ms")


def test_memory_outlives_its_maker(
    other: tuple[Connection, multiprocessing.Process], seen: Seen
) -> None:
    """The memory of a process that was killed is readable as long as another one maps it."""
    connection, process = other
    connection.send("yours")
    x = connection.recv()
    process.kill()
    process.join()
    assert Counter(x.to_device("cpu").tolist()) == {NEW: COUNT}
    seen("readable after SIGKILL of its maker")


def test_an_event_orders_two_processes(
    other: tuple[Connection, object], delay: Delay, seen: Seen, request: pytest.FixtureRequest
) -> None:
    """The other process's stream waits for an event of this one: its copy has the new values."""
    x, new = new_shared(OLD), full(NEW)
    other[0].send(x)
    assert Counter(other[0].recv()) == {OLD: COUNT}
    event, stream = ra.Event(DEVICE, interprocess=True), ra.Stream(DEVICE)
    ra.synchronize(DEVICE)
    delay(stream.handle)
    with ra.use_stream(stream):
        x[...] = new
    event.record(stream)
    other[0].send(event)
    was_done = other[0].recv()
    if is_simulated(request.config):
        event.synchronize()  # held work runs while its own process waits
    other[0].send("copied")
    assert Counter(other[0].recv()) == {NEW: COUNT}
    seen(f"the copy waited; it was {'' if was_done else 'not '}done when it was queued")


def test_an_event_of_the_same_process(seen: Seen) -> None:
    """Opening an event in the process that made it is refused, as CUDA's documentation has it."""
    handle = ra.Event(DEVICE, interprocess=True).shared_handle()
    try:
        shared.open_event(handle)
        seen("the driver opened it")
    except ra.DriverError as error:
        seen(f"{error.name}")
