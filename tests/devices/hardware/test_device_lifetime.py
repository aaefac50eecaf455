"""What outlives what on a device: reused handles, destroyed streams, contexts of other libraries,
threads, frees during a capture, and a driver that may not compile the kernels. The other library is
the vendor's driver through ctypes."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from devices.hardware.conftest import NANOSECONDS, SPIN, Busy, Delay, Seen, is_simulated, printed
from devices.hardware.gpu_partners import COUNT, DEVICE, NEW, OLD, Driver, Memory, full
from fakegpu.driving import Cuda, Number

import refarray as ra

pytestmark = [pytest.mark.hardware, pytest.mark.needs("driver")]
GLOBAL = 0


def next_stream(driver: Cuda, wanted: int) -> int:
    """A new stream with a destroyed stream's handle, if the driver gives that out again."""
    others = []
    while (made := driver.stream()) != wanted and len(others) < 64:
        others.append(made)
    for stream in others:
        driver.destroy(stream)
    return made


def test_a_reused_handle_is_another_stream(
    partner: Driver, driver: Cuda, delay: Delay, is_busy: Busy, seen: Seen
) -> None:
    """Work of ours in a stream that its owner destroyed: the next stream with that handle waits."""
    array, handle = full(OLD), driver.stream()
    ra.synchronize(DEVICE)
    delay(handle)
    with ra.use_stream(ra.Stream(DEVICE, handle)):
        array[...] = NEW
    assert is_busy(handle)
    driver.destroy(handle)
    consumer = next_stream(driver, handle)
    with partner.on(consumer):
        theirs = partner.take(array)
        values = partner.values(partner.copied(theirs, consumer), consumer)
    assert Counter(values) == {NEW: COUNT}
    seen(f"a new stream {'got' if consumer == handle else 'did not get'} the handle, and waited")
    driver.destroy(consumer)


def test_memory_outlives_a_read_in_a_destroyed_stream(
    partner: Driver, driver: Cuda, delay: Delay
) -> None:
    array, stream = full(NEW), driver.stream()
    ra.synchronize(DEVICE)
    into = Memory(driver, driver.memory(4 * COUNT), 0)
    with partner.on(stream):
        theirs = partner.take(array)
    delay(stream)
    driver("cuMemcpyDtoDAsync_v2", into.pointer, theirs.pointer, 4 * COUNT, stream)
    driver.destroy(stream)
    del theirs, array
    gc.collect()
    later = [full(OLD) for _ in range(8)]
    ra.current_stream(DEVICE).synchronize()
    driver("cuCtxSynchronize")
    assert Counter(partner.values(into, 1)) == {NEW: COUNT}
    del later


@contextmanager
def other_context(driver: Cuda) -> Iterator[tuple[int, int]]:
    """A context of cuCtxCreate() and a stream in it; the primary one is current in the block."""
    context = driver.made("cuCtxCreate_v2", 0, 0)
    stream = driver.stream()
    driver("cuCtxPopCurrent_v2", None)
    yield context, stream
    driver("cuCtxDestroy_v2", context)


def test_memory_outlives_a_read_in_another_context(
    partner: Driver, driver: Cuda, request: pytest.FixtureRequest
) -> None:
    array, into = full(NEW), Memory(driver, driver.memory(4 * COUNT), 0)
    ra.synchronize(DEVICE)
    with other_context(driver) as (context, stream):
        with partner.on(stream):
            theirs = partner.take(array)
        driver("cuCtxPushCurrent_v2", context)
        if not is_simulated(request.config):
            kernel = driver.kernel("spin", SPIN)  # a module belongs to a context
            driver.launch(kernel, stream, NANOSECONDS)
        driver("cuMemcpyDtoDAsync_v2", into.pointer, theirs.pointer, 4 * COUNT, stream)
        driver("cuCtxPopCurrent_v2", None)
        del theirs, array
        gc.collect()
        later = [full(OLD) for _ in range(8)]
        ra.current_stream(DEVICE).synchronize()
        driver("cuCtxPushCurrent_v2", context)
        driver("cuCtxSynchronize")
        driver("cuCtxPopCurrent_v2", None)
    assert Counter(partner.values(into, 1)) == {NEW: COUNT}
    del later


def in_threads(count: int, body: Callable[[int], None]) -> None:
    """Runs the body in threads at once, and raises what one of them raised."""
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait(60)
        body(number)

    with ThreadPoolExecutor(count) as threads:
        list(threads.map(run, range(count)))


def test_threads_share_an_array(driver: Cuda, delay: Delay) -> None:
    """Each thread writes its part on a stream of its own, then all read the whole."""
    threads = 4
    part = COUNT // threads
    array = full(OLD)
    ra.synchronize(DEVICE)

    def write(number: int) -> None:
        driver("cuCtxPushCurrent_v2", driver.contexts[0])
        stream = ra.Stream(DEVICE)
        delay(stream.handle)
        with ra.use_stream(stream):
            array[number * part : (number + 1) * part] = NEW + number

    def read(number: int) -> None:
        with ra.use_stream(ra.Stream(DEVICE)):
            found = Counter(array[: threads * part].copy().to_device("cpu").tolist())
        assert found == {NEW + number: part for number in range(threads)}

    in_threads(threads, write)
    in_threads(threads, read)


def test_threads_without_a_context_use_events(driver: Cuda, delay: Delay) -> None:
    stream, array = ra.Stream(DEVICE), full(OLD)
    ra.synchronize(DEVICE)
    delay(stream.handle)
    with ra.use_stream(stream):
        array[...] = NEW

    def use(_: int) -> None:
        current = Number(77)
        driver("cuCtxGetCurrent", current)
        assert current.value == 0
        event = stream.record()
        ra.Stream(DEVICE).wait(event)
        event.synchronize()
        assert event.done
        assert stream.done in (True, False)  # the other thread may have queued a free
        del event
        driver("cuCtxGetCurrent", current)
        assert current.value == 0

    in_threads(2, use)
    assert Counter(array.to_device("cpu").tolist()) == {NEW: COUNT}


def test_frees_during_a_global_capture(partner: Driver, driver: Cuda) -> None:
    """Another thread frees exported and other memory, imports, and waits; the capture survives."""
    capturing, consumer = driver.stream(), driver.stream()
    arrays = [full(NEW) for _ in range(4)]
    foreign = partner.full(OLD, consumer)
    pinned = ra.full((COUNT,), OLD, dtype="float32", device="cuda_host")
    driver.synchronize(consumer)
    ra.synchronize(DEVICE)
    driver("cuStreamBeginCapture_v2", capturing, GLOBAL)
    arrays[0].__dlpack__(stream=capturing)  # from now on the capture is known

    def work(_: int) -> None:
        driver("cuCtxPushCurrent_v2", driver.contexts[0])
        with ra.use_stream(ra.Stream(DEVICE)):
            with partner.on(consumer):
                partner.take(arrays.pop())
            ra.from_dlpack(foreign).copy()
            arrays.pop().to_device("cpu")
            pinned[...] = arrays[-1]
            assert pinned.tolist() == [NEW] * COUNT
            event = ra.current_stream(DEVICE).record()
            event.synchronize()
            assert event.done
        gc.collect()

    in_threads(1, work)
    arrays.clear()
    gc.collect()
    state = ctypes.c_int(77)
    driver("cuStreamIsCapturing", capturing, state)
    assert state.value == 1
    graph = Number()
    driver("cuStreamEndCapture", capturing, graph)
    driver("cuGraphDestroy", graph.value)
    ra.synchronize(DEVICE)
    driver.destroy(capturing)
    driver.destroy(consumer)


WITHOUT_JIT = """
import refarray as ra
x = ra.asarray([[1, 2, 3], [4, 5, 6]], dtype="int32", device="cuda:0")
y = x.T.astype("float64")
y[::2] = 7
print(y.to_device("cpu").tolist())
"""


def test_a_driver_that_may_not_compile_the_kernels(library: str) -> None:
    """CUDA_DISABLE_PTX_JIT: copies take the slower way, with the same values."""
    text = printed(library, WITHOUT_JIT, CUDA_DISABLE_PTX_JIT="1")
    assert text == "[[7.0, 7.0], [2.0, 5.0], [7.0, 7.0]]\n"
