"""Arrays between every two kinds of memory: values, layouts, dtypes, and the order of the work."""

from __future__ import annotations

import itertools
from typing import Any

import fakegpu
import pytest
from capturing import MODES, capturing, data_of, driver_of, host_of

import refarray as ra
from refarray import Stream, use_stream

PLACES = ["cpu", "cuda:0", "cuda:1", "cuda_host", "cuda_managed:0", "rocm:0", "rocm_host"]
NUMBERS = [[float(10 * i + j) for j in range(5)] for i in range(4)]


@pytest.mark.parametrize(("source", "target"), list(itertools.product(PLACES, PLACES)))
def test_copies_between_memory_kinds(source: str, target: str) -> None:
    array = ra.asarray(NUMBERS, device=source)
    assert array.device == source
    moved = array.to_device(target)
    assert moved.device == target
    assert moved.to_device("cpu").tolist() == NUMBERS
    transposed = array.T.to_device(target)
    assert transposed.to_device("cpu").tolist() == [list(row) for row in zip(*NUMBERS, strict=True)]
    narrow = array[::2, ::-2].to_device(target)
    assert narrow.to_device("cpu").tolist() == [row[::-2] for row in NUMBERS[::2]]


@pytest.mark.parametrize("device", ["cuda:0", "rocm:0", "cuda_managed:0"])
@pytest.mark.parametrize(
    "dtype", ["int8", "float16", "complex64", "bfloat16", "float4_e2m1fn", "bool"]
)
def test_dtypes(device: str, dtype: str) -> None:
    there = ra.asarray([1, 0, 1, 1, 0], device=device)
    changed = there.astype(dtype)
    assert changed.device == device and changed.dtype == dtype
    assert changed.to_device("cpu").astype("complex64").tolist() == [1, 0, 1, 1, 0]


@pytest.mark.parametrize("device", ["cuda:0", "rocm:0", "cuda_managed:0", "cuda_host"])
def test_creation(device: str) -> None:
    assert ra.zeros((2, 3), device=device).to_device("cpu").tolist() == [[0.0] * 3] * 2
    assert ra.ones((3,), dtype="int16", device=device).to_device("cpu").tolist() == [1] * 3
    assert ra.full((3,), 7, device=device).to_device("cpu").tolist() == [7] * 3
    assert ra.arange(5, device=device).to_device("cpu").tolist() == [0, 1, 2, 3, 4]
    array = ra.asarray(range(3), device=device)
    assert ra.zeros_like(array).device == device
    assert ra.empty((0, 3), device=device).to_device("cpu").tolist() == []
    assert ra.empty((), device=device).device == device


def test_assignment(device: str) -> None:
    array = ra.zeros((3, 4), dtype="int32", device=device)
    array[1, 2] = 7
    array[:, 0] = 9
    array[2] = ra.asarray([1, 2, 3, 4], dtype="int32")
    array[0, 1:] = array[2, 1:]
    assert array.to_device("cpu").tolist() == [[9, 2, 3, 4], [9, 0, 7, 0], [1, 2, 3, 4]]
    array[:, :3] = array[:, 1:]  # overlapping memory
    assert array.to_device("cpu").tolist() == [[2, 3, 4, 4], [0, 7, 0, 0], [2, 3, 4, 4]]


@pytest.mark.req("DEV-11")
def test_no_elements() -> None:
    for device in PLACES:
        array = ra.zeros((0, 3), device=device)
        assert array.device == device
        fakegpu.reset()
        capsule = array.__dlpack__(max_version=(1, 3))
        again = ra.from_capsule(capsule)
        assert (again.shape, again.device) == ((0, 3), array.device)
        assert not fakegpu.trace("cuPointerGetAttributes", "hipPointerGetAttributes")


def test_copies_between_streams_are_ordered() -> None:
    """Each copy reads on another stream than its source was written on, without explicit waits."""
    streams = [Stream("cuda:0") for _ in range(4)]
    array = ra.asarray(NUMBERS, device="cuda:0")
    fakegpu.reset()
    for stream in streams:
        fakegpu.hold(stream.handle)
    for stream in streams:
        with use_stream(stream):
            array = array.copy()
    assert not fakegpu.trace("cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize")
    fakegpu.run()
    assert array.to_device("cpu").tolist() == NUMBERS


@pytest.mark.req("AAPI-04")
def test_to_device_with_a_stream() -> None:
    array = ra.asarray(NUMBERS, device="cuda:0")
    stream = Stream("cuda:1")
    fakegpu.reset()
    moved = array.to_device("cuda:1", stream=stream)
    copies = [record for record in fakegpu.trace() if "emcpy" in record["call"]]
    assert [record["stream"] for record in copies] == [stream.handle]
    assert moved.to_device("cpu").tolist() == NUMBERS
    with pytest.raises(ValueError, match="stream is 0"):
        array.to_device("cuda:1", stream=0)
    with pytest.raises(ValueError, match="only None is allowed"):
        ra.zeros((3,)).to_device("cpu", stream=1)


@pytest.mark.parametrize("places", ["cuda:0 cuda:1", "cuda:1 cuda:0", "cuda_host cuda:0"])
def test_a_stream_of_another_device_waits_for_to_device(places: str) -> None:
    """The copy runs on streams of its own devices; the stream that was named comes after it."""
    source, target = places.split()
    array = ra.full((1024,), 7, dtype="uint8", device=source)
    other = Stream("cuda:0" if target == "cuda:1" else "cuda:1")
    ra.synchronize("cuda:0")
    ra.synchronize("cuda:1")
    own = Stream(target)
    fakegpu.hold(own.handle)
    with use_stream(own):
        moved = array.to_device(target, stream=other)
    driver = driver_of(target)
    into = driver.memory(1024)
    capsule = moved.__dlpack__(stream=-1)
    driver.copy(into, data_of(capsule), other.handle, 1024)
    fakegpu.run()
    assert fakegpu.peek(into, 1024) == b"\7" * 1024
    driver.synchronize(other.handle)
    driver.free(into)


@pytest.mark.parametrize("gpu", ["cuda:0", "rocm:0"])
def test_an_upload_waits_for_the_work_on_its_pinned_source(gpu: str) -> None:
    """The host packs the elements itself: a device still writes them on another stream."""
    pinned = ra.zeros((64, 64), dtype="float32", device=host_of(gpu))
    far = ra.full((64, 64), 7.0, dtype="float32", device=gpu)
    ra.synchronize(gpu)
    with use_stream(Stream(gpu)):
        pinned[...] = far
    there = ra.asarray(pinned[::2, ::-3], device=gpu)
    assert there.to_device("cpu").tolist() == [[7.0] * 22] * 32
    ra.synchronize(gpu)


def test_numpy_imports_host_accessible_memory() -> None:
    numpy = pytest.importorskip("numpy")
    for device in ("cuda_host", "rocm_host", "cuda_managed:0"):
        array = ra.asarray(NUMBERS, device=device)
        assert numpy.from_dlpack(array).tolist() == NUMBERS
    with pytest.raises((BufferError, RuntimeError)):
        numpy.from_dlpack(ra.asarray(NUMBERS, device="cuda:0"))
    assert numpy.from_dlpack(ra.asarray(NUMBERS, device="cuda:0"), device="cpu").tolist() == NUMBERS
    there = ra.asarray(numpy.asarray(NUMBERS), device="cuda:1")
    assert there.device == "cuda:1" and there.to_device("cpu").tolist() == NUMBERS


@pytest.mark.parametrize("device", ["cuda_host", "rocm_host", "cuda_managed:0"])
@pytest.mark.parametrize("copy", [False, None])
def test_asarray_relabels_host_accessible_memory(device: str, copy: bool | None) -> None:
    """As from_dlpack() does (A-25)."""
    array = ra.asarray(NUMBERS, device=device)
    for there in (
        ra.asarray(array, device="cpu", copy=copy),
        ra.asarray(array, dtype=array.dtype, device="cpu", copy=copy),
        ra.from_dlpack(array, device="cpu", copy=copy),
    ):
        assert there.device == "cpu"
        there[0, 0] = 7.0
        assert array[0, 0].item() == 7.0
        array[0, 0] = NUMBERS[0][0]
    separate = ra.asarray(array, device="cpu", copy=True)
    separate[0, 0] = 7.0
    assert array.tolist() == NUMBERS
    with pytest.raises(ra.NoCopyError):
        ra.asarray(array, dtype="int8", device="cpu", copy=False)


def test_device_memory_has_no_host_protocols() -> None:
    array = ra.asarray(NUMBERS, device="cuda:0")
    with pytest.raises(BufferError, match="a buffer needs host memory"):
        memoryview(array)
    with pytest.raises(AttributeError, match="needs host memory, and the array is on cuda:0"):
        _ = array.__array_interface__


def test_out_of_memory() -> None:
    """After one failure, deferred frees are completed and the allocation is retried."""
    for call in ("cuMemAllocFromPoolAsync", "cuMemAlloc"):
        fakegpu.fail(call, 1, 2)
    assert ra.zeros((10,), device="cuda:0").to_device("cpu").tolist() == [0.0] * 10
    fakegpu.reset()
    with pytest.raises(MemoryError, match=f"cannot allocate {2**50} bytes on cuda:0"):
        ra.empty((2**50,), dtype="int8", device="cuda:0")


def test_a_driver_that_fails() -> None:
    array = ra.zeros((10,), device="cuda:0")
    fakegpu.fail("cuMemcpyDtoDAsync", 1, 999)
    with pytest.raises(ra.DriverError, match="CUDA: copying memory failed with 999") as caught:
        array.copy()
    error = caught.value
    assert (error.code, error.name, error.call) == (999, "CUDA_ERROR_UNKNOWN", "copying memory")
    assert isinstance(error, RuntimeError)


@pytest.mark.parametrize("place", ["cuda:1", "rocm:0"])
def test_ledgers_count_transfers_and_waits(place: str) -> None:
    here = ra.ones((4, 5))
    stream = ra.Stream(place)

    def counts(call: Any) -> tuple[int, ...]:
        with ra.ledger() as ledger:
            call()
        return (ledger.copies, ledger.transfers, ledger.transferred_bytes, ledger.synchronizations)

    there = here.to_device(place)
    assert counts(lambda: here.to_device(place)) == (0, 1, 160, 1)
    assert counts(lambda: there.to_device("cpu")) == (0, 1, 160, 1)
    assert counts(lambda: ra.asarray(here, device=place)) == (0, 1, 160, 1)
    assert counts(lambda: ra.from_dlpack(there, device="cpu")) == (0, 1, 160, 1)
    assert counts(lambda: there.__dlpack__(dl_device=(1, 0))) == (0, 1, 160, 1)
    assert counts(lambda: float(there[0, 0])) == (0, 1, 8, 1)
    assert counts(lambda: there.tolist()) == (0, 1, 160, 1)
    assert counts(lambda: there.copy()) == (1, 0, 0, 0)
    assert counts(lambda: there.astype("float32")) == (1, 0, 0, 0)
    assert counts(lambda: there.__dlpack__(copy=True))[:2] == (1, 0)
    assert counts(lambda: ra.ones(3, device=place)) == (0, 0, 0, 0)
    assert counts(lambda: there.__setitem__(..., 2.0)) == (0, 0, 0, 0)
    assert counts(lambda: ra.from_dlpack(there)) == (0, 0, 0, 0)
    assert counts(stream.synchronize) == (0, 0, 0, 1)
    assert counts(stream.record().synchronize) == (0, 0, 0, 1)
    assert counts(lambda: ra.synchronize(place)) == (0, 0, 0, 1)


@pytest.mark.parametrize("place", ["cuda:1", "rocm:0"])
def test_ledgers_forbid_before_the_driver_is_called(place: str) -> None:
    here = ra.ones((4, 5))
    there = here.to_device(place)
    with ra.ledger() as ledger:
        ra.empty((4, 5), device=place)
    assert (ledger.allocations, ledger.allocated_bytes) == (1, 160)
    refused = [
        ("transfer", lambda: here.to_device(place)),
        ("transfer", lambda: there.tolist()),
        ("copy", lambda: there.copy()),
        ("allocation", lambda: ra.empty(3, device=place)),
        ("synchronization", lambda: ra.synchronize(place)),
        ("synchronization", lambda: there.to_device("cpu")),
        ("synchronization", lambda: bool(there[0, 0])),
    ]
    for kind, call in refused:
        with ra.ledger(forbid=kind) as ledger, pytest.raises(ra.LedgerError, match=f"an? {kind}"):
            call()
        assert (ledger.copies, ledger.transfers, ledger.refused) == (0, 0, 1)
    with ra.ledger(forbid=["transfer", "synchronization"]):  # numbers are arguments
        ra.ones(3, device=place), ra.full(3, 2.0, device=place), ra.asarray(1.0, device=place)
        there[...] = 2.0


@pytest.mark.parametrize(("place", "pinned"), [("cuda:1", "cuda_host"), ("rocm:0", "rocm_host")])
def test_ledgers_count_waits_for_pinned_memory(place: str, pinned: str) -> None:
    there = ra.ones((4, 5), device=place)
    with ra.ledger() as ledger:
        buffer = there.to_device(pinned)
    assert (ledger.transfers, ledger.synchronizations) == (1, 0)  # goes on behind the host
    with ra.ledger() as ledger:
        assert buffer.tolist()[3] == [1.0] * 5
    assert (ledger.transfers, ledger.synchronizations) == (0, 1)


# --- Host memory


@pytest.mark.parametrize("gpu", ["cuda:0", "rocm:0"])
def test_the_host_writes_pinned_memory_after_the_devices_reads(gpu: str) -> None:
    """Elements that the host scatters into pinned memory replace those that a device still reads
    on another stream."""
    pinned = ra.full((1000,), 1, dtype="int32", device=host_of(gpu))
    source = ra.full((500,), 2, dtype="int32", device=gpu)
    ra.synchronize(gpu)
    with use_stream(Stream(gpu)):
        read = pinned.to_device(gpu)
    with use_stream(Stream(gpu)):
        pinned[::2] = source
    assert read.tolist() == [1] * 1000
    assert pinned.tolist() == [2, 1] * 500


LARGE = 2 << 20  # elements; two parts of the memory through which the host's arrays go


def waited() -> list[str]:
    return [record["call"] for record in fakegpu.trace() if "Synchronize" in record["call"]]


@pytest.mark.parametrize("gpu", ["cuda:0", "rocm:0"])
def test_the_host_does_not_wait_for_an_upload(gpu: str) -> None:
    """The array has been read when the copy returns, and may be changed: its elements lie in pinned
    memory, of which there is enough for several parts."""
    here = ra.full((LARGE,), 7, dtype="int32")
    there = ra.zeros((LARGE,), dtype="int32", device=gpu)
    there.to_device("cpu")  # earlier uploads have left the pinned memory
    ra.synchronize(gpu)
    stream = Stream(gpu)
    fakegpu.reset()
    fakegpu.hold(stream.handle)
    with use_stream(stream):
        there[...] = here
    assert waited() == []
    here[...] = 8
    fakegpu.run()
    assert bool(ra.all(there.to_device("cpu") == 7))


UPLOADS = {"cuda:0": "cuMemcpyHtoDAsync", "rocm:0": "hipMemcpyAsync"}


@pytest.mark.parametrize("gpu", UPLOADS)
def test_an_upload_that_fails_half_way(gpu: str) -> None:
    """What has been enqueued precedes all later work on the array, on any stream."""
    here = ra.full((LARGE,), 7, dtype="int32")
    there = ra.zeros((LARGE,), dtype="int32", device=gpu)
    ra.synchronize(gpu)
    fakegpu.reset()
    fakegpu.fail(UPLOADS[gpu], 2, 999)
    with use_stream(Stream(gpu)), pytest.raises(ra.DriverError, match="copying memory failed"):
        there[...] = here
    with use_stream(Stream(gpu)):
        later = there.copy()
    assert {later[0].item(), later[-1].item()} <= {0, 7}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("to_managed", [True, False])
def test_strided_copies_of_managed_memory_become_part_of_a_graph(
    mode: str, to_managed: bool
) -> None:
    """A device's kernels reach managed memory: the copy needs no memory of its own."""
    source, target = "cuda:0", "cuda_managed:0"
    if not to_managed:
        source, target = target, source
    near, far = ra.asarray(NUMBERS, device=source), ra.zeros((5, 4), device=target)
    for number in (0, 1):
        ra.synchronize(f"cuda:{number}")
    stream = Stream("cuda:0")
    with capturing(driver_of("cuda"), stream.handle, MODES[mode]) as capture, use_stream(stream):
        far[...] = near.T
        capture.end()
        capture.launch(stream.handle)
    stream.synchronize()
    assert far.tolist() == [list(row) for row in zip(*NUMBERS, strict=True)]
