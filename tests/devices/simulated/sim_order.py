"""Stream order of exchanges: another library reads and writes in its own streams, and the values
show whether the work was ordered."""

from __future__ import annotations

import gc
import threading
from typing import Any

import fakegpu
import pytest
from capturing import (
    SETTINGS,
    SIZE,
    Foreign,
    data_of,
    driver_of,
    host_of,
    in_threads,
    unfinished,
)
from fakegpu.driving import Cuda, Driver

import refarray as ra
from refarray import Stream, use_stream

#: The byte that the other library writes.
WRITTEN = 9


class Other:
    """Another library that works on raw pointers and stream handles."""

    def __init__(self, device: int) -> None:
        self.cuda = Cuda(fakegpu.Drivers.here().cuda)
        self.device = device
        with self:
            self.stream = self.cuda.stream()
            self.memory = self.cuda.memory(SIZE)

    def __enter__(self) -> Cuda:
        self.cuda("cuCtxPushCurrent_v2", self.cuda.contexts[self.device])
        return self.cuda

    def __exit__(self, *_: object) -> None:
        self.cuda("cuCtxPopCurrent_v2", None)

    def read(self, pointer: int) -> None:
        with self as cuda:
            cuda.copy(self.memory, pointer, self.stream, SIZE)

    def write(self, pointer: int) -> None:
        with self as cuda:
            cuda.fill(pointer, self.stream, WRITTEN, SIZE)

    def close(self) -> None:
        with self as cuda:
            cuda("cuCtxSynchronize")
            cuda.free(self.memory)
            cuda("cuStreamDestroy_v2", self.stream)


@pytest.fixture
def other() -> Any:
    library = Other(0)
    yield library
    fakegpu.run()
    library.close()


@pytest.mark.req("STRM-02", "STRM-15")
def test_a_foreign_reader_follows_our_write(other: Other) -> None:
    _, array = unfinished("cuda:0")
    capsule = array.__dlpack__(stream=other.stream)
    other.read(data_of(capsule))
    fakegpu.run()
    assert fakegpu.peek(other.memory, SIZE) == b"\1" * SIZE


def test_a_foreign_reader_on_the_legacy_stream_follows_our_write(other: Other) -> None:
    _, array = unfinished("cuda:0")
    pointer = data_of(capsule := array.__dlpack__())
    with other as cuda:
        cuda.copy(other.memory, pointer, 1, SIZE)
    fakegpu.run()
    assert fakegpu.peek(other.memory, SIZE) == b"\1" * SIZE
    del capsule


def test_a_foreign_reader_on_another_device_follows_our_write() -> None:
    far = Other(1)
    _, array = unfinished("cuda:0")
    capsule = array.__dlpack__(stream=far.stream)
    far.read(data_of(capsule))
    fakegpu.run()
    assert fakegpu.peek(far.memory, SIZE) == b"\1" * SIZE
    far.close()


def test_a_foreign_writer_follows_our_reads(other: Other) -> None:
    array = ra.full((SIZE,), 1, dtype="uint8", device="cuda:0")
    reader = ra.Stream("cuda:0")
    fakegpu.hold(reader.handle)
    with ra.use_stream(reader):
        copied = array.copy()
    capsule = array.__dlpack__(stream=other.stream)
    other.write(data_of(capsule))
    fakegpu.run()
    assert copied.to_device("cpu").tolist() == [1] * SIZE


def test_memory_outlives_a_foreign_use_that_is_still_queued(other: Other) -> None:
    """The deleter runs while the consumer's kernel is queued: the memory must be neither freed nor
    reused."""
    _, array = unfinished("cuda:0")
    fakegpu.hold(other.stream)
    taken = ra.from_capsule(array.__dlpack__(stream=other.stream, max_version=(1, 3)))
    other.read(data_of(capsule := taken.__dlpack__(stream=other.stream)))
    del array, taken, capsule
    gc.collect()
    with ra.use_stream(ra.Stream("cuda:0")):
        again = ra.full((SIZE,), 2, dtype="uint8", device="cuda:0")
    fakegpu.run()
    assert fakegpu.peek(other.memory, SIZE) == b"\1" * SIZE
    assert again.to_device("cpu").tolist() == [2] * SIZE


def test_memory_outlives_our_own_work_in_other_streams() -> None:
    streams = [ra.Stream("cuda:0") for _ in range(3)]
    array = ra.full((SIZE,), 3, dtype="uint8", device="cuda:0")
    copies = []
    for stream in streams:
        fakegpu.hold(stream.handle)
        with ra.use_stream(stream):
            copies.append(array.copy())
    del array
    gc.collect()
    fakegpu.run()
    assert [copied.to_device("cpu")[0].item() for copied in copies] == [3, 3, 3]


@pytest.mark.parametrize("unit", [0, 1])
@pytest.mark.parametrize(
    "kind", ["cuda:0", "cuda_host", "cuda_managed:0", "rocm:0", "rocm:1", "rocm_host"]
)
def test_memory_outlives_consumers(kind: str, unit: int) -> None:
    """Of every kind, with a consumer on the device of the memory or on another one."""
    driver = driver_of(kind)
    driver.use(unit)
    stream, target = driver.stream(), driver.memory(SIZE)
    given: int | ra.Stream = stream
    if SETTINGS.get("hip_version") == "5.2":  # does not tell the device of a stream
        given = ra.Stream(f"{kind[:4]}:{unit}", stream)
    array = ra.full((SIZE,), 7, dtype="uint8", device=kind)
    ra.synchronize(f"{kind[:4]}:0")
    ra.synchronize(f"{kind[:4]}:1")
    capsule = array.__dlpack__(stream=-1)
    driver.copy(target, data_of(capsule), stream, SIZE)
    capsule = array.__dlpack__(stream=given)
    del capsule, array, given
    gc.collect()
    ra.zeros((3,), device=f"{kind[:4]}:0")  # tries the deferred frees
    driver.synchronize(stream)
    assert fakegpu.peek(target, SIZE) == b"\7" * SIZE
    driver.free(target)
    driver.destroy(stream)
    driver.use(0)


def test_a_write_follows_the_reads_of_many_streams(device: str) -> None:
    array = ra.full((SIZE,), 1, dtype="uint8", device=device)
    ra.synchronize(device)
    copies = []
    for stream in [ra.Stream(device) for _ in range(20)]:
        fakegpu.hold(stream.handle)
        with ra.use_stream(stream):
            copies.append(array.copy())
    with ra.use_stream(ra.Stream(device)):
        array[...] = 2
    fakegpu.run()
    assert [copied[-1].item() for copied in copies] == [1] * 20


def test_memory_is_used_after_its_allocation(device: str) -> None:
    """Memory of a pool exists from the point of the stream on where it was allocated."""
    stream = ra.Stream(device)
    fakegpu.hold(stream.handle)
    with ra.use_stream(stream):
        array = ra.empty((SIZE,), dtype="uint8", device=device)
    with ra.use_stream(ra.Stream(device)):
        array[...] = 5
    fakegpu.run()
    assert array.tolist() == [5] * SIZE


@pytest.mark.skipif(not SETTINGS.get("pools", 1), reason="there are no frees in a stream")
def test_memory_is_freed_in_the_stream_of_its_allocation() -> None:
    """There the pool gives it to the next allocation, which waits for nothing."""
    home, elsewhere = ra.Stream("cuda:0"), ra.Stream("cuda:0")
    with ra.use_stream(home):
        alone = ra.zeros((SIZE,), dtype="uint8", device="cuda:0")
        read = ra.zeros((SIZE,), dtype="uint8", device="cuda:0")
    with ra.use_stream(elsewhere):
        copied = read.copy()
    before = len(fakegpu.trace())
    del alone, read
    frees = [r["stream"] for r in fakegpu.trace()[before:] if r["call"] == "cuMemFreeAsync"]
    assert frees == [home.handle] * 2
    del copied


def test_the_host_waits_for_work_on_a_device_that_is_not_current(device: str) -> None:
    """A driver records an event only in a stream of the device on which it was created."""
    driver_of(device)  # makes device 0 current
    pinned = ra.full((SIZE,), 6, dtype="uint8", device=host_of(device))
    far = device.replace("0", "1")
    copies, streams = [], [ra.Stream(far) for _ in range(12)]
    for stream in streams:
        fakegpu.hold(stream.handle)
        copies.append(pinned.to_device(far, stream=stream))
    fakegpu.run()
    memoryview(pinned)[0] = 8
    assert [copied[0].item() for copied in copies] == [6] * 12


@pytest.mark.parametrize("kind", ["rocm:0", "cuda_managed:0"])
def test_memory_is_freed_by_the_allocation_after_its_work(kind: str) -> None:
    """Without a wait: the end of the work is asked for."""
    stream = ra.Stream(f"{kind[:4]}:0")
    before = len(fakegpu.live("memory"))
    fakegpu.hold(stream.handle)
    with ra.use_stream(stream):
        array = ra.zeros((SIZE,), dtype="uint8", device=kind)
    del array
    assert len(fakegpu.live("memory")) == before + 1
    fakegpu.run()
    stream.synchronize()
    kept = ra.empty((3,), dtype="uint8", device=kind)
    assert len(fakegpu.live("memory")) == before + 1  # one more, one less
    del kept


@pytest.mark.parametrize("kind", ["cuda_host", "rocm_host", "rocm:0", "cuda_managed:0"])
def test_a_free_that_a_capture_forbids_is_repeated(kind: str) -> None:
    """Such an error says that the memory has not been freed, e.g. while a library that is older
    than relaxed captures captures in another thread."""
    functions = {"cuda_host": "cuMemFreeHost", "rocm_host": "hipHostFree", "rocm:0": "hipFree"}
    before = fakegpu.live("memory")
    array = ra.zeros((SIZE,), dtype="uint8", device=kind)
    ra.synchronize(f"{kind[:4]}:0")
    fakegpu.fail(functions.get(kind, "cuMemFree"), code=900)
    del array
    for _ in range(2):  # both try the deferred frees
        ra.synchronize(f"{kind[:4]}:0")
    assert fakegpu.live("memory") == before
    assert 900 in [record["result"] for record in fakegpu.trace()]


@pytest.mark.req("STRM-20")
def test_an_import_is_ordered_before_our_work(other: Other) -> None:
    producer = Foreign(ra.full((SIZE,), 4, dtype="uint8", device="cuda:0"))
    pointer = data_of(capsule := producer.array.__dlpack__(stream=other.stream))
    other.write(pointer)
    with other as cuda:
        ours = ra.Stream("cuda:0")
        cuda.after(ours.handle, other.stream)
    with ra.use_stream(ours):
        taken = ra.from_dlpack(producer)
        assert taken.to_device("cpu").tolist() == [WRITTEN] * SIZE
    del capsule


def test_an_array_shared_by_threads(other: Other) -> None:
    """The threads copy one array in turn, each in its own stream."""
    array = ra.zeros((SIZE,), dtype="int32", device="cuda:0")
    turn = threading.Lock()

    def work() -> None:
        nonlocal array
        with ra.use_stream(ra.Stream("cuda:0")):
            for _ in range(5):
                with turn:
                    array[::2] = 1
                    array = array.copy()

    in_threads(*[work] * 4)
    assert array.to_device("cpu").tolist() == [1, 0] * (SIZE // 2)


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1", "rocm:0"])
def test_a_chain_of_copies_over_streams(device: str) -> None:
    array = ra.asarray(list(range(SIZE)), dtype="int64", device=device)
    for _ in range(4):
        with ra.use_stream(ra.Stream(device)):
            array = array[::-1].copy()
    assert array.to_device("cpu").tolist() == list(range(SIZE))


@pytest.mark.parametrize("way", ["use_stream", "to_device", "event", "host", "pinned"])
def test_work_in_a_stream_that_its_owner_has_destroyed(
    device: str, driver: Driver, way: str
) -> None:
    """HIP does not wait for events of destroyed streams: a stream of refarray's has taken over."""
    stream, later = driver.stream(), Stream(device)
    source = ra.full((SIZE,), 5, dtype="uint8", device=device)
    target = ra.zeros((SIZE,), dtype="uint8", device=device)
    host = ra.zeros((SIZE,), dtype="uint8", device=host_of(device))
    ra.synchronize(device)
    fakegpu.hold(stream)
    event = ra.Event(device)
    unused = target  # hipFree() would wait for the held work
    if way == "to_device":
        target = source[::-1].to_device(device, stream=stream)
    else:
        given = Stream(device, stream)
        with use_stream(given):
            (host if way == "pinned" else target)[...] = source
        event.record(given)
        del given
    gc.collect()
    driver.destroy(stream)
    if way in ("host", "pinned"):
        threading.Timer(0.2, fakegpu.run).start()
        assert (host if way == "pinned" else target).tolist() == [5] * SIZE
        return
    if way == "event":
        later.wait(event)
        assert not event.done
        capsule = target.__dlpack__(stream=-1, max_version=(1, 3))
        driver.fill(data_of(capsule), later.handle, 6, SIZE)
        fakegpu.run()
        event.synchronize()
        ra.synchronize(device)
        assert event.done and target.tolist() == [6] * SIZE
        return
    with use_stream(later):
        copied = target.copy()
    fakegpu.run()
    assert copied.tolist() == [5] * SIZE
    del unused


@pytest.mark.parametrize("owner", ["other", "refarray"])
def test_staged_transfers_in_a_stream_that_is_gone(device: str, driver: Driver, owner: str) -> None:
    """The pinned chunks are used again once their transfers have finished."""
    own = Stream(device) if owner == "refarray" else None
    stream = own.handle if own else driver.stream()
    size = 5 << 20
    first = ra.ones((2, size), dtype="uint8")
    there = ra.zeros((size,), dtype="uint8", device=device)
    ra.synchronize(device)
    fakegpu.hold(stream)
    with use_stream(own or Stream(device, stream)):
        there[...] = first[0, ::-1]
    del own
    gc.collect()
    if owner == "other":
        driver.destroy(stream)
    threading.Timer(0.3, fakegpu.run).start()
    rows = ra.full((4, size), 9, dtype="uint8")
    second = ra.zeros((4, size), dtype="uint8", device=device)
    with use_stream(Stream(device)):
        for row in range(4):
            second[row] = rows[row, ::-1]
    fakegpu.run()
    assert there.tolist() == [1] * size
