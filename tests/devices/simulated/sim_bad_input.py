"""Invalid devices, streams and memory, and driver failures, on both vendors: the exception names
the cause, nothing changes or leaks, and the user's current device and stream stay current."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import fakegpu
import pytest
from capturing import SETTINGS, address_of, current_device, vendor
from fakegpu.driving import Driver

import refarray as ra
from refarray import Event, Stream, use_stream
from refarray.conformance import _adversary as adversary

GPUS = ["cuda:1", "rocm:1"]
VENDOR = {"cuda": "CUDA", "rocm": "ROCm"}
TYPE = {"cuda": 2, "rocm": 10}
#: Whether the driver reports a stream's device: HIP does since 6.0.
KNOWS_STREAMS = {"cuda": True, "rocm": SETTINGS.get("hip_version", "6.3") != "5.2"}
ENTRIES: dict[str, Callable[[str], object]] = {
    "zeros": lambda name: ra.zeros((3,), device=name),
    "asarray": lambda name: ra.asarray([1], device=name),
    "to_device": lambda name: ra.zeros(3).to_device(name),
    "from_dlpack": lambda name: ra.from_dlpack(ra.zeros(3), device=name),
    "Stream": Stream,
    "Event": Event,
    "current_stream": ra.current_stream,
    "synchronize": ra.synchronize,
}


@pytest.fixture(params=GPUS)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def users_device(driver: Driver, device: str) -> Iterator[None]:
    """The current device is 0, the current stream one of the array's device; both must stay so."""
    stream = Stream(device)
    with use_stream(stream):
        before = current_device(driver)
        yield
        assert current_device(driver) == before
        assert ra.current_stream(device) == stream


def allocated() -> list[int]:
    gc.collect()
    return sorted(item["bytes"] for item in fakegpu.live("memory"))


@pytest.mark.parametrize("number", [2, 63, 64, 2**31 - 1])
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_device_that_does_not_exist(device: str, entry: str, number: int) -> None:
    kind = vendor(device)
    reason = f"device {kind}:{number} does not exist: {VENDOR[kind]} has 2 devices"
    with pytest.raises(BufferError, match=reason):
        ENTRIES[entry](f"{kind}:{number}")


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    "number", ["-1", str(2**31), str(2**64), "+1", "01", " 1", "", "0x1", "1.0"]
)
def test_an_invalid_device_name(device: str, entry: str, number: str) -> None:
    with pytest.raises(ValueError, match="no device is named"):
        ENTRIES[entry](f"{vendor(device)}:{number}")


@pytest.mark.parametrize("name", ["cuda_host:1", "rocm_host:1", "cuda_managed:1"])
def test_memory_kinds_with_one_device_only(name: str) -> None:
    with pytest.raises(BufferError, match="memory of this kind has only device number 0"):
        ra.zeros((3,), device=name)


@pytest.mark.parametrize(
    ("number", "error"),
    [(2, BufferError), (-1, BufferError), (2**31 - 1, BufferError), (-(2**31), BufferError),
     (2**31, ValueError), (-(2**64), ValueError)],
)  # fmt: skip
def test_invalid_dlpack_device_ids(device: str, number: int, error: type[Exception]) -> None:
    array = ra.zeros((3,), device=device)
    fakegpu.reset()
    with pytest.raises(error, match="dl_device"):
        array.__dlpack__(dl_device=(TYPE[vendor(device)], number), max_version=(1, 3))

    class Producer:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (TYPE[vendor(device)], number)

        def __dlpack__(self, **_: Any) -> object:
            raise AssertionError("__dlpack__ must not be called")

    with pytest.raises(error, match="__dlpack_device__|cannot use"):
        ra.from_dlpack(Producer())
    assert not [r for r in fakegpu.trace() if "Alloc" in r["call"] or "Memcpy" in r["call"]]


def test_a_stream_of_another_device(device: str, driver: Driver) -> None:
    here, there = device, f"{vendor(device)}:0"
    with pytest.raises(BufferError, match=f"stream is of {there}, not of {here}"):
        Stream(here, Stream(there))
    theirs = driver.stream()  # on device 0, which is current
    if KNOWS_STREAMS[vendor(device)]:
        with pytest.raises(BufferError, match=f"stream is of device 0, not of {here}"):
            Stream(here, theirs)
    assert Stream(there, theirs).handle == theirs
    event = Event(here)
    with pytest.raises(
        ValueError, match=f"event of {here} cannot be recorded on a stream of {there}"
    ):
        event.record(Stream(there))
    driver.destroy(theirs)


def test_a_stream_of_another_vendor(device: str) -> None:
    """A bare handle has no vendor; a refarray.Stream has, so it can be checked."""
    other = "rocm:0" if vendor(device) == "cuda" else "cuda:0"
    array, stream = ra.zeros((3,), device=device), Stream(other)
    fakegpu.reset()
    with pytest.raises(
        ValueError, match=f"stream is of {other}, another vendor's device than {device}"
    ):
        array.__dlpack__(stream=stream)
    with pytest.raises(ValueError, match="another vendor's"):
        array.to_device(f"{vendor(device)}:0", stream=stream)
    with pytest.raises(BufferError, match=f"stream is of {other}, not of {device}"):
        Stream(device, stream)
    with pytest.raises(ValueError, match="cannot wait for an event of"):
        Stream(device).wait(stream)
    assert not [r for r in fakegpu.trace() if "WaitEvent" in r["call"]]


def test_a_stream_that_has_been_destroyed(device: str, driver: Driver) -> None:
    """Real drivers crash on such a handle. Where one returns an error, nothing has changed."""
    array = ra.ones((3,), device=device)
    before = allocated()
    driver.use(1)
    stale = driver.stream()
    driver.destroy(stale)
    driver.use(0)
    for use in (
        lambda: array.__dlpack__(stream=stale),
        lambda: array.__dlpack__(stream=stale, copy=True),
        lambda: array.to_device(device, stream=stale).copy(),
        lambda: Stream(device, stale).synchronize(),
        lambda: Stream(device, stale).record(),
    ):
        with pytest.raises((ra.DriverError, BufferError), match="400|709|INVALID_HANDLE"):
            use()
    assert {found["kind"] for found in fakegpu.violations()} == {"bad-handle"}
    fakegpu.reset()
    assert array.tolist() == [1.0] * 3
    assert allocated() == before


class StreamObject:
    """A stream of another library whose __cuda_stream__ returns or raises `answer`."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __cuda_stream__(self) -> Any:
        if isinstance(self.answer, type):
            raise self.answer("theirs")
        return self.answer


BAD_STREAM_OBJECTS = [
    (7, TypeError), ((0,), TypeError), ((0, 5, 5), TypeError), ([0, 5], TypeError),
    (None, TypeError), ((0, "5"), TypeError), ((0, 5.0), TypeError), (("0", 5), TypeError),
    ((1, 5), ValueError), ((-1, 5), ValueError), ((2**70, 5), ValueError), ((0, -1), ValueError),
    ((0, 2**64), ValueError), ((0, -(2**70)), ValueError), (ZeroDivisionError, ZeroDivisionError),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "error"), BAD_STREAM_OBJECTS, ids=repr)
def test_an_invalid_cuda_stream_protocol(device: str, answer: Any, error: type[Exception]) -> None:
    array, stream = ra.zeros((3,), device=device), StreamObject(answer)
    fakegpu.reset()
    for use in (
        lambda: array.__dlpack__(stream=stream),
        lambda: array.to_device(f"{vendor(device)}:0", stream=stream),
        lambda: Stream(device, stream),
    ):
        with pytest.raises(error):
            use()
    assert fakegpu.trace() == []


@pytest.mark.parametrize("value", [True, False, 1.0, "1", (0, 1), object(), b"1", [1]])
def test_objects_that_are_not_streams(device: str, value: Any) -> None:
    array = ra.zeros((3,), device=device)
    for use in (
        lambda: array.__dlpack__(stream=value),
        lambda: array.to_device(f"{vendor(device)}:0", stream=value),
        lambda: Stream(device, value),
    ):
        with pytest.raises(TypeError, match="stream must be None, an int or an object"):
            use()


def test_stream_values_the_vendor_forbids(device: str) -> None:
    array, cuda = ra.zeros((3,), device=device), vendor(device) == "cuda"
    fakegpu.reset()
    forbidden = ([0] if cuda else [1, 2]) + [-2, -(2**63), -(2**64), 2**64, 2**200]
    for value in forbidden:
        with pytest.raises(ValueError, match="stream is"):
            array.__dlpack__(stream=value)
        with pytest.raises(ValueError, match="stream is"):
            array.to_device(f"{vendor(device)}:0", stream=value)
    for value in ([] if cuda else [1, 2]) + [-1, -(2**63), 2**64]:
        with pytest.raises(ValueError, match="is -1|stream is|handle is -"):
            Stream(device, value)
    assert fakegpu.trace() == []


def test_a_wrong_device_label(device: str) -> None:
    host = ra.zeros((3,))
    for data in (address_of(host), 0xDEAD0008):
        tensor = adversary.make(
            device=(TYPE[vendor(device)], 1), data=data, shape=(3,), dtype=(2, 64, 1)
        )
        with pytest.raises(
            BufferError, match=f"not device memory known to {VENDOR[vendor(device)]}"
        ):
            ra.from_dlpack(tensor)
        assert tensor.deleter_calls == 1
    there = ra.zeros((3,), device=device)
    label = {"cuda": 3, "rocm": 11}[vendor(device)]
    tensor = adversary.make(device=(label, 0), data=address_of(there), shape=(3,), dtype=(2, 64, 1))
    with pytest.raises(BufferError, match=f"is on {VENDOR[vendor(device)]} device 1"):
        ra.from_dlpack(tensor)
    assert tensor.deleter_calls == 1
    tensor = adversary.make(device=(label, 0), data=address_of(host), shape=(3,), dtype=(2, 64, 1))
    assert ra.from_dlpack(tensor).tolist() == [0.0] * 3  # not pinned, but readable by the CPU


ALLOCATIONS = {
    "cuda:1": ("cuMemAllocFromPoolAsync", "cuMemAlloc"),
    "rocm:1": ("hipMalloc",),
    "cuda_host": ("cuMemHostAlloc",),
    "rocm_host": ("hipHostMalloc",),
    "cuda_managed:0": ("cuMemAllocManaged",),
}


@pytest.mark.parametrize("place", ALLOCATIONS)
def test_out_of_memory(place: str) -> None:
    source, before = ra.ones((3,)), allocated()
    for make in (lambda: ra.zeros((3,), device=place), lambda: source.to_device(place)):
        for call in ALLOCATIONS[place]:
            for k in range(1, 5):
                fakegpu.fail(call, k, 2)
        with pytest.raises(MemoryError, match=f"cannot allocate 24 bytes on {place}"):
            make()
        fakegpu.reset()
    assert allocated() == before
    assert source.to_device(place).to_device("cpu").tolist() == [1.0] * 3


STEPS = ["Memcpy", "Launch", "EventRecord", "WaitEvent", "Memset", "CaptureInfo",
         "GetDevice", "SetDevice", "PushCurrent", "PopCurrent"]  # fmt: skip


@pytest.mark.parametrize("code", [999, 2])
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_call_that_fails(device: str, step: str, code: int) -> None:
    """Each driver call of a piece of work fails once."""
    other = Stream(device)

    def work() -> Any:
        array = ra.asarray([[1.0, 2.0], [3.0, 4.0]], device=device)
        with use_stream(other):
            turned = array.T.copy()
        turned[0] = 5
        turned.__dlpack__()
        return turned.to_device("cpu").tolist()

    def try_to_work() -> Any:
        """The result, or the error's attributes."""
        try:
            return work()
        except ra.DriverError as error:
            names_it = VENDOR[vendor(device)] in str(error) and str(code) in str(error)
            return (error.code, bool(error.name), bool(error.call), names_it)
        except MemoryError as error:
            return (2, True, True, bool(str(error)))

    expected = work()
    fakegpu.reset()
    work()
    ra.synchronize(device)
    before = allocated()
    calls = [record["call"] for record in fakegpu.trace() if step in record["call"]]
    for k, call in enumerate(calls):
        fakegpu.reset()
        fakegpu.fail(call, calls[:k].count(call) + 1, code)
        assert try_to_work() in (expected, (code, True, True, True))
        fakegpu.reset()
        assert work() == expected
    ra.synchronize(device)
    assert allocated() == before
