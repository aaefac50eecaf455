"""Copies, allocations and frees during graph capture: copies are captured where possible, other
operations raise or are deferred, and no memory leaks."""

from __future__ import annotations

import gc

import fakegpu
import pytest
from capturing import (
    ACTIVE,
    MODES,
    SIZE,
    Captures,
    Foreign,
    capturing,
    data_of,
    driver_of,
    host_of,
    in_threads,
    refuse,
)
from fakegpu.driving import Driver

import refarray as ra
from refarray import Stream, use_stream
from refarray.conformance import _adversary as adversary

LARGE = 5 << 20  # bytes; more than the pinned staging memory


def allocated() -> int:
    """Allocated bytes of all drivers, without the staging memory."""
    gc.collect()
    return sum(item["bytes"] for item in fakegpu.live("memory") if item["bytes"] != 4 << 20)


def test_copies_on_the_device_become_part_of_the_graph(device: str, captures: Captures) -> None:
    """Contiguous and strided copies, conversions and fills; each launch repeats them."""
    stream = Stream(device)
    source = ra.asarray([[1, 2, 3], [4, 5, 6]], dtype="int32", device=device)
    plain, transposed = ra.zeros_like(source), ra.zeros((3, 2), dtype="int32", device=device)
    as_float, filled = ra.zeros((2, 3), dtype="float32", device=device), ra.zeros_like(source)
    ra.synchronize(device)
    with captures(stream.handle) as capture, use_stream(stream):
        plain[...] = source
        transposed[...] = source.T
        as_float[...] = source
        filled[:, ::2] = 7
        capture.end()
        assert plain.tolist() == [[0] * 3] * 2
        for value in (1, 10):
            source[0, 0] = value
            capture.launch(stream.handle)
            assert plain.tolist() == [[value, 2, 3], [4, 5, 6]] == as_float.tolist()
            assert transposed.tolist() == [[value, 4], [2, 5], [3, 6]]
            assert filled.tolist() == [[7, 0, 7]] * 2


def test_a_graph_reads_and_writes_pinned_memory_only(device: str, captures: Captures) -> None:
    stream = Stream(device)
    there = ra.zeros((4,), dtype="int32", device=device)
    near = ra.asarray([1, 2, 3, 4], dtype="int32", device=host_of(device))
    own = ra.asarray([5, 6, 7, 8], dtype="int32")
    large, far = ra.zeros((LARGE,), dtype="int8"), ra.zeros((LARGE,), dtype="int8", device=device)
    ra.synchronize(device)
    with captures(stream.handle) as capture, use_stream(stream):
        for target, pageable in ((there, own), (own, there), (far, large), (large, far)):
            with pytest.raises(BufferError, match="graph"):
                target[...] = pageable
            with pytest.raises(BufferError, match="graph"):
                target[::2] = pageable[::2]
        there[...] = near
        capture.end()
        assert there.tolist() == [0] * 4 and own.tolist() == [5, 6, 7, 8]
        capture.launch(stream.handle)
        assert there.tolist() == [1, 2, 3, 4]


def test_allocation_in_the_capturing_stream_raises(device: str, captures: Captures) -> None:
    stream = Stream(device)
    array = ra.asarray([[1, 2], [3, 4]], device=device)
    ra.synchronize(device)
    before = allocated()
    with captures(stream.handle) as capture, use_stream(stream):
        for make in (
            lambda: ra.zeros((3,), device=device),
            lambda: ra.asarray([1.0], device=device),
            array.copy,
            lambda: array.astype("float32"),
            lambda: array.__setitem__(slice(None), array[::-1]),
            lambda: array.__dlpack__(copy=True, stream=stream),
        ):
            refuse(make)
        refuse(array.tolist)
        assert "become part of a graph" in repr(array)
        assert capture.state() == ACTIVE
        assert allocated() == before
    assert array.tolist() == [[1, 2], [3, 4]]


def test_other_streams_are_usable_during_a_capture(device: str, captures: Captures) -> None:
    """In the capturing thread, calls that a capture may forbid: allocations of every memory kind,
    transfers through pinned memory, waits for events and streams, frees."""
    captured, free = Stream(device), Stream(device)
    kinds = [device, host_of(device)] + ["cuda_managed:0"] * device.startswith("cuda")
    before = allocated()
    with captures(captured.handle), use_stream(free):
        for kind in kinds:
            array = ra.ones((SIZE,), device=kind)
            assert array.tolist() == [1.0] * SIZE
            assert ra.asarray(array[::-1].astype("int8"), device=device).tolist() == [1] * SIZE
            array[::2] = 2
            event = free.record()
            event.synchronize()
            assert event.done
            free.synchronize()
            assert free.done
        host = ra.ones((LARGE,), dtype="int8")
        there = ra.asarray(host, device=device)
        assert there.to_device("cpu")[-1].item() == 1
        del array, there
        gc.collect()
    ra.synchronize(device)
    assert allocated() == before


def test_other_threads_are_usable_during_a_capture(device: str, captures: Captures) -> None:
    captured, before, seen = Stream(device), allocated(), []

    def work() -> None:
        with use_stream(Stream(device)):
            for kind in (device, host_of(device)):
                array = ra.ones((SIZE,), device=kind)
                seen.append(array[::2].copy().tolist())

    with captures(captured.handle):
        in_threads(work)
    assert seen == [[1.0] * (SIZE // 2)] * 2
    ra.synchronize(device)
    assert allocated() == before


def test_frees_during_a_capture_are_deferred(device: str, captures: Captures) -> None:
    """For every memory kind, and with the capturing stream as allocation stream or not."""
    stream, consumer = Stream(device), Stream(device)
    before = allocated()
    with use_stream(stream):
        home = ra.zeros((SIZE,), device=device)
        used = ra.zeros((SIZE,), device=device).copy()
    elsewhere, lent = ra.zeros((SIZE,), device=device), ra.zeros((SIZE,), device=device)
    near = ra.zeros((SIZE,), device=host_of(device))
    managed = ra.zeros((SIZE,), device="cuda_managed:0")
    capsule = lent.__dlpack__(stream=consumer)
    ra.synchronize(device)
    with captures(stream.handle):
        with use_stream(stream):
            used[...] = elsewhere
            used[...] = near
        with pytest.raises(BufferError, match="graph"):
            home.__dlpack__(stream=stream, copy=True)
        del home, used, elsewhere, lent, near, managed, capsule
        gc.collect()
        for _ in range(3):
            ra.zeros((SIZE,), device=device)  # polls the deferred frees
    ra.synchronize(device)
    assert allocated() == before


def test_frees_while_the_legacy_stream_is_unusable(
    device: str, driver: Driver, captures: Captures
) -> None:
    stream, blocking = Stream(device), driver.stream(0)
    before = allocated()
    arrays = [ra.zeros((SIZE,), device=kind) for kind in (device, host_of(device))]
    with use_stream(stream):
        arrays.append(arrays[0].copy())
    with captures(blocking):
        capsules = [array.__dlpack__(stream=-1) for array in arrays]
        del arrays, capsules
        gc.collect()
        with use_stream(stream):
            ra.zeros((SIZE,), device=device)
    driver.destroy(blocking)
    ra.synchronize(device)
    assert allocated() == before


def test_a_free_spares_a_capture_that_was_never_seen(mode: int) -> None:
    """One of refarray's streams captures by a call of another library. The memory was exported: a
    wait for all work of its device would invalidate the capture. No other test captures there."""
    driver = driver_of("cuda:1")
    driver.use(1)
    stream, before = Stream("cuda:1"), allocated()
    array = ra.zeros((SIZE,), device="cuda:1")
    ra.synchronize("cuda:1")
    with capturing(driver, stream.handle, mode):
        array.__dlpack__(stream=-1)
        del array
        gc.collect()
    driver.use(0)
    ra.synchronize("cuda:1")
    assert allocated() == before


def test_many_deferred_frees_do_not_synchronize_the_device(
    device: str, driver: Driver, captures: Captures
) -> None:
    """More frees than are usually deferred: they must not synchronize the device, because a stream
    of another library has been seen to capture."""
    before, consumer = allocated(), driver.stream()
    with captures(consumer):
        refuse(lambda: ra.zeros((3,), device=device).__dlpack__(stream=consumer, copy=True))
        for _ in range(150):
            ra.zeros((SIZE,), device=device).__dlpack__(stream=-1)
            ra.zeros((SIZE,), device=host_of(device)).__dlpack__(stream=-1)
    driver.destroy(consumer)
    ra.synchronize(device)
    assert allocated() == before


def test_an_allocation_in_a_capture_raises_before_devices_are_waited_for(device: str) -> None:
    """The capture began after use_stream(), so that only the driver knows of it."""
    driver = driver_of(device)
    raw, before = driver.stream(), allocated()
    with use_stream(Stream(device, raw)):
        near = [ra.zeros((3,), device=host_of(device)) for _ in range(70)]
        capsules = [array.__dlpack__(stream=-1) for array in near]
        with capturing(driver, raw, MODES["global"]):
            near.clear()
            capsules.clear()  # 70 frees are deferred
            refuse(lambda: ra.zeros((3,), device=device))
    ra.synchronize(device)
    assert allocated() == before
    driver.destroy(raw)


@pytest.mark.parametrize("wait", ["synchronize", "urgent"])
def test_a_capture_does_not_stop_frees_for_ever(device: str, driver: Driver, wait: str) -> None:
    """A stream that captured when last seen is not asked again: it may have been destroyed. Once
    the device has been waited for, it captures no longer."""
    consumer = driver.stream()
    given = Stream(device, consumer)
    with capturing(driver, consumer, MODES["relaxed"]) as capture, use_stream(given):
        assert capture.state() == ACTIVE  # use_stream() has asked the driver too
    del given
    driver.destroy(consumer)
    if wait == "synchronize":
        ra.synchronize(device)
    else:  # when memory runs out, frees wait for the device in any case
        ra.zeros((3,), device=host_of(device)).__dlpack__(stream=-1)
        for k in (1, 2):
            fakegpu.fail("cuMemHostAlloc" if capture.cuda else "hipHostMalloc", k, code=2)
        ra.zeros((3,), device=host_of(device))
    before = len(fakegpu.live("memory"))
    for _ in range(600):
        ra.zeros((SIZE,), device=host_of(device)).__dlpack__(stream=-1)
    assert len(fakegpu.live("memory")) < before + 300


def test_out_of_memory_in_a_capture(device: str, captures: Captures) -> None:
    stream = Stream(device)
    with captures(stream.handle):
        ra.zeros((SIZE,), device=device).__dlpack__(stream=-1)
        with pytest.raises(MemoryError, match="cannot allocate"):
            ra.empty((2**50,), dtype="int8", device=device)


def test_deleters_are_deferred_to_the_end_of_the_capture(device: str, captures: Captures) -> None:
    stream = Stream(device)
    array, target = ra.ones((8,), device=device), ra.zeros((8,), device=device)
    capsule = array.__dlpack__(stream=-1, max_version=(1, 3))
    tensor = adversary.make(
        device=array.device.dlpack,
        data=data_of(capsule),
        shape=(8,),
        dtype=(2, 64, 1),
    )
    ra.synchronize(device)
    with captures(stream.handle):
        with use_stream(stream):
            got = ra.from_dlpack(tensor)
            target[...] = got
        del got
        gc.collect()
        ra.zeros((3,), device=device)
        assert tensor.deleter_calls == 0
    ra.synchronize(device)
    assert tensor.deleter_calls == 1


def test_arrays_imported_in_a_capture_are_released(device: str, captures: Captures) -> None:
    stream, before = Stream(device), allocated()
    array = ra.ones((8,), device=device)
    ra.synchronize(device)
    with captures(stream.handle), use_stream(stream):
        taken = [ra.from_dlpack(Foreign(array)) for _ in range(3)]
    del array, taken
    ra.synchronize(device)
    assert allocated() == before
