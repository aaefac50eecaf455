"""Export with `stream=`, for every memory kind: the driver calls, the order of the work, and
invalid values."""

from __future__ import annotations

import ctypes
from typing import Any

import fakegpu
import pytest
from capturing import MODES, SETTINGS, capturing, data_of, driver_of, legacy_handle, vendor, waits

import refarray as ra
from refarray import Stream, use_stream

GPUS = ["cuda:0", "cuda:1", "rocm:0"]
#: Parts of the names of calls that enqueue or wait for work.
WORK = (
    "Record", "WaitEvent", "Synchronize", "Memcpy", "Memset", "Free", "Malloc", "Alloc", "Query",
)  # fmt: skip


def work() -> list[str]:
    """The calls since the last reset that enqueue or wait for work, without the vendor's prefix."""
    names = [record["call"].removeprefix("cuda").removeprefix("cu") for record in fakegpu.trace()]
    names = [name.removeprefix("hip") for name in names]
    return [name for name in names if any(word in name for word in WORK)]


def waits_on_host() -> bool:
    """For an event, or on HIP 7.0 to 7.2 for a stream that waits for it."""
    return bool({"EventSynchronize", "StreamSynchronize"} & set(work()))


@pytest.fixture(params=GPUS)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write_on(device: str) -> tuple[Stream, ra.Array]:
    """A refarray stream and an array whose last write was queued there."""
    stream = Stream(device)
    with use_stream(stream):
        array = ra.zeros((1000,), device=device).copy()
    fakegpu.reset()
    return stream, array


@pytest.mark.req("STRM-04", "STRM-13")
def test_the_same_stream_costs_no_call(device: str) -> None:
    stream, array = write_on(device)
    array.__dlpack__(stream=stream.handle)
    array.__dlpack__(stream=stream)
    array.__dlpack__(stream=-1)
    assert work() == []


@pytest.mark.parametrize("max_version", [None, (1, 3)])
@pytest.mark.req("STRM-02", "STRM-03", "STRM-09", "STRM-11")
def test_another_stream_waits_on_the_device(device: str, max_version: Any) -> None:
    stream, array = write_on(device)
    consumer = Stream(device)
    fakegpu.reset()
    fakegpu.hold(stream.handle)
    array.__dlpack__(stream=consumer.handle, max_version=max_version)
    assert work() == ["StreamWaitEvent"]
    assert waits() == [consumer.handle]


@pytest.mark.req("STRM-06", "STRM-07", "STRM-11")
def test_none_is_the_legacy_default_stream(device: str) -> None:
    _, array = write_on(device)
    array.__dlpack__()
    assert work() == ["StreamWaitEvent"]
    assert waits() == [legacy_handle(device)]
    fakegpu.reset()
    array.__dlpack__(stream=legacy_handle(device))
    assert work() == ["StreamWaitEvent"]


def test_work_on_the_legacy_stream_needs_no_wait_there(device: str) -> None:
    array = ra.zeros((10,), device=device)
    fakegpu.reset()
    array.__dlpack__()
    array.__dlpack__(stream=legacy_handle(device))
    array.__dlpack__(stream=ra.current_stream(device))
    assert work() == []


@pytest.mark.req("STRM-08", "STRM-12")
def test_the_per_thread_stream_of_cuda(device: str) -> None:
    _, array = write_on(device)
    if vendor(device) == "rocm":
        with pytest.raises(ValueError, match="stream is 2; on ROCm"):
            array.__dlpack__(stream=2)
        assert work() == []
        return
    array.__dlpack__(stream=2)
    assert waits() == [2]


WRONG_VALUES = {
    "cuda": [0, -2, 2**64, -(2**63), -(2**70)],
    "rocm": [1, 2, -2, 2**64, -(2**70)],
    "cpu": [0, 1, 2, -1, 2**40, 2**64, Stream],
}


@pytest.mark.parametrize(
    "kind", ["cuda:0", "rocm:0", "cuda_host", "rocm_host", "cuda_managed:0", "cpu"]
)
@pytest.mark.req("STRM-05", "STRM-10", "STRM-12")
def test_stream_values_the_vendor_forbids(kind: str) -> None:
    array = ra.zeros((10,), device=kind)
    fakegpu.reset()
    for value in WRONG_VALUES[kind.partition(":")[0].partition("_")[0]]:
        stream = Stream("cuda:0") if value is Stream else value
        with pytest.raises(ValueError, match="stream"):
            array.__dlpack__(stream=stream)
    for wrong in (True, False, 1.0, "1", (0, 1), object()):
        with pytest.raises(TypeError, match="stream must be"):
            array.__dlpack__(stream=wrong)
    assert work() == []


class Foreign:
    """A stream of another library, by __cuda_stream__."""

    def __init__(self, handle: int, version: int = 0) -> None:
        self.answer = (version, handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        return self.answer


class Indexed:
    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __index__(self) -> int:
        return self.handle


def test_streams_of_other_libraries(device: str) -> None:
    stream, array = write_on(device)
    array.__dlpack__(stream=Foreign(stream.handle))
    array.__dlpack__(stream=Indexed(stream.handle))
    assert work() == []
    array.__dlpack__(
        stream=Foreign(0)
    )  # unlike the int 0, 0 from an object is unambiguous: the default stream
    assert work() == ["StreamWaitEvent"]
    with pytest.raises(ValueError, match="version 1"):
        array.__dlpack__(stream=Foreign(stream.handle, version=1))


@pytest.mark.parametrize("kind", ["cuda_host", "rocm_host"])
def test_the_host_may_write_what_it_gets(kind: str) -> None:
    """stream=None gives the host a writable array: it waits for the device's reads too, unless the
    array is read-only."""
    gpu = kind.replace("_host", ":0")
    array = ra.full((1000,), 1, dtype="uint8", device=kind)
    stream = Stream(gpu)
    ra.synchronize(gpu)
    with use_stream(stream):
        read = array.to_device(gpu)
    fakegpu.reset()
    array.as_readonly().__dlpack__(max_version=(1, 3))
    assert not waits_on_host()
    capsule = array.__dlpack__(max_version=(1, 3))
    assert waits_on_host()
    ctypes.memset(data_of(capsule), 2, 1000)
    assert read.tolist() == [1] * 1000


@pytest.mark.parametrize("kind", ["cuda_host", "rocm_host", "cuda_managed:0"])
@pytest.mark.req("STRM-22")
def test_host_accessible_memory_is_ready_for_the_cpu(kind: str) -> None:
    gpu = "rocm:0" if kind.startswith("rocm") else "cuda:0"
    stream = Stream(gpu)
    with use_stream(stream):
        source = ra.ones((100,), device=gpu)
        array = ra.zeros((100,), device=kind)
        array[:] = source
    fakegpu.reset()
    array.__dlpack__(stream=-1)
    assert work() == []
    array.__dlpack__(stream=stream)
    assert not waits_on_host()
    array.__dlpack__()
    assert waits_on_host()
    assert array.to_device("cpu").tolist() == [1.0] * 100


def test_a_consumer_on_another_device_waits_too(device: str) -> None:
    _, array = write_on(device)
    if array.device != "cuda:0":
        return
    consumer = Stream("cuda:1")
    array.__dlpack__(stream=consumer.handle)
    assert "StreamWaitEvent" in work()


@pytest.mark.req("PROD-14")
def test_copies_are_made_on_the_consumers_stream(device: str) -> None:
    stream, array = write_on(device)
    consumer = Stream(device)
    fakegpu.reset()
    fakegpu.hold(stream.handle)
    fakegpu.hold(consumer.handle)
    capsule = array.__dlpack__(stream=consumer.handle, copy=True, max_version=(1, 3))
    copies = [record for record in fakegpu.trace() if "emcpy" in record["call"]]
    assert [record["stream"] for record in copies] == [consumer.handle]
    assert not [name for name in work() if "Synchronize" in name]
    fakegpu.run()
    del capsule


def test_a_copy_without_a_stream_is_complete_on_return(device: str) -> None:
    _, array = write_on(device)
    array.__dlpack__(stream=-1, copy=True)
    assert waits_on_host()


@pytest.mark.req("PROD-08", "PROD-09", "PROD-10", "STRM-17")
def test_to_the_cpu(device: str) -> None:
    stream, array = write_on(device)
    assert ra.from_dlpack(array, device="cpu").tolist() == [0.0] * 1000
    with pytest.raises(ValueError, match="stream"):
        array.__dlpack__(dl_device=(1, 0), stream=stream.handle)
    with pytest.raises(ra.NoCopyError, match="copy=False"):
        array.__dlpack__(dl_device=(1, 0), copy=False)


def test_to_another_device(device: str) -> None:
    _, array = write_on(device)
    other = {"cuda:0": (2, 1), "cuda:1": (2, 0), "rocm:0": (2, 0)}[device]
    capsule = array.__dlpack__(dl_device=other, max_version=(1, 3))
    moved = ra.from_capsule(capsule)
    assert moved.device.dlpack == other
    assert moved.to_device("cpu").tolist() == [0.0] * 1000


@pytest.mark.req("STRM-19")
def test_the_users_current_device_is_untouched(device: str) -> None:
    _, array = write_on(device)
    array.__dlpack__()
    pushes, pops = fakegpu.trace("cuCtxPushCurrent"), fakegpu.trace("cuCtxPopCurrent")
    assert len(pushes) == len(pops)


def test_a_read_only_export_waits_for_writes_only() -> None:
    reader, other = Stream("cuda:0"), Stream("cuda:0")
    array = ra.zeros((10,), device="cuda:0")
    with use_stream(reader):
        keep = array.copy()
    fakegpu.reset()
    array.as_readonly().__dlpack__(stream=1, max_version=(1, 3))
    assert work() == []
    array.__dlpack__(stream=1, max_version=(1, 3))
    assert work() == ["StreamWaitEvent"]  # the consumer may write what the copy still reads
    del keep, other


@pytest.mark.parametrize("near", ["cuda:0", "rocm:0", "cuda_managed:0"])
@pytest.mark.parametrize("layout", ["contiguous", "strided"])
@pytest.mark.parametrize("source", ["device", "cpu"])
def test_a_copy_for_a_stream_of_another_device(near: str, layout: str, source: str) -> None:
    """The copy is made on a stream of its own device; the consumer's stream waits for it."""
    if near == "rocm:0" and SETTINGS.get("hip_version") == "5.2":
        near = "cuda:0"  # before 5.6 HIP does not tell the device of a stream
    consumer = Stream(vendor(near).removesuffix("_managed") + ":1")
    array = ra.asarray(list(range(2000)), dtype="float64", device=near)
    array = array[::2] if layout == "strided" else array[:1000]
    expected = array.tolist()
    if source == "cpu":
        array = array.to_device("cpu")
    ra.synchronize(consumer.device)
    fakegpu.reset()
    target = ra.zeros((1,), device=near).device.dlpack
    capsule = array.__dlpack__(
        stream=consumer.handle, copy=True, dl_device=target, max_version=(1, 3)
    )
    assert consumer.handle in waits()
    taken = ra.from_capsule(capsule)
    with use_stream(consumer):
        copied = taken.to_device(consumer.device)
    fakegpu.hold(consumer.handle)
    del taken
    fakegpu.run()
    assert copied.tolist() == expected


# --- Copies while a stream captures a graph


def changes() -> list[str]:
    """The calls since the last reset that allocate, enqueue or wait."""
    return [name for name in work() if "Query" not in name]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("near", ["cuda", "rocm"])
@pytest.mark.parametrize("layout", ["contiguous", "strided"])
def test_a_copy_to_another_device_uses_the_streams_it_needs(
    near: str, layout: str, mode: str
) -> None:
    """The current stream of the array's device captures. Elements that are packed there first are
    refused before anything changes; others are copied on the other device's stream."""
    array = ra.asarray(list(range(2000)), dtype="float64", device=f"{near}:0")
    array = array[::2] if layout == "strided" else array[:1000]
    expected = array.tolist()
    for number in (0, 1):
        ra.synchronize(f"{near}:{number}")
    here = Stream(f"{near}:0")
    there = ra.zeros((1,), device=f"{near}:1").device.dlpack
    ra.synchronize(f"{near}:1")
    keywords: dict[str, Any] = {"dl_device": there, "copy": True, "max_version": (1, 3)}
    with capturing(driver_of(near), here.handle, MODES[mode]), use_stream(here):
        fakegpu.reset()
        if layout == "strided":
            with pytest.raises(BufferError, match="graph"):
                array.__dlpack__(**keywords)
            assert changes() == []
        else:
            copied = ra.from_capsule(array.__dlpack__(**keywords))
    if layout == "contiguous":
        assert copied.tolist() == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("near", ["cuda", "rocm"])
def test_a_copy_for_a_capturing_stream_of_another_device(near: str, mode: str) -> None:
    """That stream cannot wait for the copy: refused before anything changes."""
    if near == "rocm" and SETTINGS.get("hip_version") == "5.2":
        near = "cuda"  # before 5.6 HIP does not tell the device of a stream
    array = ra.zeros((1000,), device=f"{near}:0")
    consumer = Stream(f"{near}:1")
    for number in (0, 1):
        ra.synchronize(f"{near}:{number}")
    driver = driver_of(near)
    driver.use(1)
    with capturing(driver, consumer.handle, MODES[mode]):
        fakegpu.reset()
        for stream in (consumer, consumer.handle):
            with pytest.raises(BufferError, match="graph"):
                array.__dlpack__(stream=stream, copy=True, max_version=(1, 3))
        assert changes() == []
    driver.use(0)


@pytest.mark.parametrize("near", ["cuda", "rocm"])
@pytest.mark.parametrize("way", ["stream=", "to_device"])
@pytest.mark.parametrize("source", ["device", "one number"])
def test_a_copy_on_a_stream_that_was_given_uses_no_other(near: str, way: str, source: str) -> None:
    """Memory, copies and fills belong to that stream. The legacy default stream, which is the
    current one, cannot be used: a stream that is ordered with it captures."""
    device = f"{near}:0"
    if source == "device":
        array = ra.full((1000,), 7, dtype="int32", device=device)
    else:
        array = ra.broadcast_to(ra.asarray(7, dtype="int32"), (1000,))
    ra.synchronize(device)
    target, given = ra.zeros((1,), device=device).device.dlpack, Stream(device)
    driver = driver_of(near)
    blocking = driver.stream(0)
    with capturing(driver, blocking, MODES["relaxed"]):
        if way == "to_device" and source == "one number":
            copied = array.to_device(device, stream=given.handle)
        else:
            capsule = array.__dlpack__(
                stream=given, dl_device=target, copy=True, max_version=(1, 3)
            )
            copied = ra.from_capsule(capsule)
    given.synchronize()
    assert copied.tolist() == [7] * 1000
    driver.destroy(blocking)
