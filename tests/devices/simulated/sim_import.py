"""Import from producers on devices: the stream passed to them, the check of the pointer's device,
and the time of the deleter call."""

from __future__ import annotations

import gc
import sys
from typing import Any

import fakegpu
import pytest
from capturing import SETTINGS, Foreign, address_of, driver_of, waits

import refarray as ra
from refarray import Stream, use_stream
from refarray.conformance import _adversary as adversary

#: The function that allocates memory of a kind.
ALLOCATES = {
    "cuda:0": "cuMemAllocFromPoolAsync" if SETTINGS.get("pools", 1) else "cuMemAlloc",
    "cuda_managed:0": "cuMemAllocManaged",
    "rocm:0": "hipMalloc",
}


class Producer(Foreign):
    """Its tensors are its own."""

    def __init__(self, array: ra.Array) -> None:
        super().__init__(array)
        self.tensor = tensor_of(array)

    def __dlpack__(self, **keywords: Any) -> object:
        self.keywords_seen.append(keywords)
        self.array.__dlpack__(stream=keywords.get("stream"), max_version=(1, 3))
        return self.tensor.capsule()


def tensor_of(array: ra.Array, **fields: Any) -> Any:
    """A tensor of another library over float64 memory of refarray."""
    found = {"device": array.device.dlpack, "data": address_of(array), "shape": array.shape}
    return adversary.make(**{**found, "dtype": (2, 64, 1), **fields})


@pytest.mark.req("STRM-01", "STRM-18")
def test_the_current_stream_is_passed() -> None:
    array = ra.zeros((8,), device="cuda:0")
    producer = Producer(array)
    ra.from_dlpack(producer)
    assert producer.keywords_seen[-1]["stream"] == 1  # the legacy default stream, never 0
    stream = Stream("cuda:0")
    producer = Producer(array)
    with use_stream(stream):
        ra.from_dlpack(producer)
    assert producer.keywords_seen[-1]["stream"] == stream.handle


@pytest.mark.req("COPY-03")
def test_no_stream_for_a_copy_in_host_memory() -> None:
    producer = Foreign(ra.zeros((8,), device="cuda:0"))
    assert ra.from_dlpack(producer, device="cpu").tolist() == [0.0] * 8
    assert producer.keywords_seen == [{"max_version": (1, 3), "dl_device": (1, 0)}]


@pytest.mark.req("COPY-03", "COPY-10")
def test_device_memory_delivered_for_the_cpu_is_copied() -> None:
    """By a producer that ignores dl_device=."""
    array = ra.asarray([1.0, 2.0], device="cuda:0")
    got = ra.from_dlpack(Producer(array), device="cpu")
    assert (str(got.device), got.tolist()) == ("cpu", [1.0, 2.0])
    with pytest.raises(
        BufferError, match="cpu and copy=False were asked for, but .* delivered cuda:0"
    ):
        ra.from_dlpack(Producer(array), device="cpu", copy=False)


@pytest.mark.req("COPY-06")
def test_no_copy_is_needed_on_the_producers_own_device() -> None:
    array = ra.zeros((8,), device="cuda:1")
    assert ra.from_dlpack(Producer(array), device="cuda:1", copy=False).device == array.device
    with pytest.raises(ra.NoCopyError, match=r"copy=False, but from .* to cuda:0"):
        ra.from_dlpack(Producer(array), device="cuda:0", copy=False)


@pytest.mark.req("VERS-09", "STRM-01")
def test_an_old_producer_is_passed_a_stream_alone() -> None:
    class OldProducer(Producer):
        def __dlpack__(self, stream: int | None = None) -> object:  # type: ignore[override]
            return super().__dlpack__(stream=stream)

    producer = OldProducer(ra.zeros((8,), device="cuda:0"))
    assert ra.from_dlpack(producer).shape == (8,)
    assert producer.keywords_seen == [{"stream": 1}]


@pytest.mark.req("STRM-20")
def test_our_work_follows_the_producers() -> None:
    theirs, ours = Stream("cuda:0"), Stream("cuda:0")
    with use_stream(theirs):
        array = ra.zeros((8,), device="cuda:0").copy()
    producer = Producer(array)
    with use_stream(ours):
        got = ra.from_dlpack(producer)
        copy = got.copy()
    other = Stream("cuda:0")
    with use_stream(other):
        again = got.copy()
    fakegpu.run()
    assert copy.to_device("cpu").tolist() == again.to_device("cpu").tolist() == [0.0] * 8


@pytest.mark.req("LIFE-26")
def test_the_deleter_waits_for_our_work() -> None:
    array = ra.zeros((8,), device="cuda:0")
    producer = Producer(array)
    stream = Stream("cuda:0")
    got = ra.from_dlpack(producer)
    fakegpu.hold(stream.handle)
    with use_stream(stream):
        copy = got.copy()
    del got
    gc.collect()
    assert producer.tensor.deleter_calls == 0  # the copy has not been made yet
    fakegpu.run()
    ra.synchronize("cuda:0")
    assert producer.tensor.deleter_calls == 1
    del copy


@pytest.mark.parametrize("act", ["allocate", "synchronize", "drop"])
def test_an_exception_in_a_deferred_deleter(act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deferred deleter runs inside an unrelated call, which must succeed; its exception goes to
    sys.unraisablehook."""
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(str(args.exc_value)))

    def refuse() -> None:
        raise ZeroDivisionError("from a deleter")

    array, stream = ra.zeros((8,), device="cuda:0"), Stream("cuda:0")
    tensor = tensor_of(array, deleter=refuse)
    got = ra.from_dlpack(tensor)
    fakegpu.hold(stream.handle)
    with use_stream(stream):
        kept = [got.copy(), ra.zeros((3,), device="cuda:0")]
    del got
    fakegpu.run()
    assert (tensor.deleter_calls, seen) == (0, [])
    if act == "allocate":
        assert ra.ones((3,), device="cuda:0").tolist() == [1.0] * 3
    elif act == "synchronize":
        ra.synchronize("cuda:0")
    else:
        with pytest.raises(KeyError, match="ours"):
            raise_over(kept)
    assert (tensor.deleter_calls, seen) == (1, ["from a deleter"])


def raise_over(kept: list[ra.Array]) -> None:
    """Drops the array while an exception propagates."""
    array = kept.pop()
    assert array.ndim == 1
    raise KeyError("ours")


def test_without_work_of_ours_the_deleter_is_called_at_once() -> None:
    producer = Producer(ra.zeros((8,), device="cuda:0"))
    got = ra.from_dlpack(producer)
    del got
    assert producer.tensor.deleter_calls == 1


@pytest.mark.req("DEV-06")
def test_the_device_is_that_of_the_pointer() -> None:
    array = ra.zeros((8,), device="cuda:1")
    tensor = tensor_of(array, device=(2, 0), dunder_device=(2, 0))
    assert ra.from_dlpack(tensor).device == "cuda:1"


def test_copy_from_another_vendors_device() -> None:
    array = ra.asarray([1.0, 2.0], device="rocm:0")
    assert ra.from_dlpack(array, device="cuda:1").to_device("cpu").tolist() == [1.0, 2.0]
    with pytest.raises(ra.NoCopyError, match="copy=False"):
        ra.from_dlpack(array, device="cuda:1", copy=False)


@pytest.mark.req("COPY-10")
@pytest.mark.parametrize("device", ["cpu", "cuda_host", "cuda:1"])
def test_a_producer_that_ignores_the_device_and_copy(device: str) -> None:
    """It delivers its own memory: only a copy of ours could be where it was asked for."""
    producer = Producer(ra.zeros((8,), device="cuda:0"))
    with pytest.raises(ra.NoCopyError, match="copy=False"):
        ra.from_dlpack(producer, device=device, copy=False)
    assert producer.tensor.deleter_calls == (device != "cuda:1")  # there no tensor is asked for


@pytest.mark.req("COPY-02")
def test_a_refarray_array_is_reimported_without_events() -> None:
    stream = Stream("cuda:0")
    with use_stream(stream):
        array = ra.zeros((8,), device="cuda:0").copy()
    fakegpu.reset()
    assert ra.from_dlpack(array).device == "cuda:0"
    assert ra.from_capsule(array.__dlpack__(stream=stream, max_version=(1, 3))).device == "cuda:0"
    assert not [r for r in fakegpu.trace() if "Event" in r["call"]]


@pytest.mark.req("COPY-02")
@pytest.mark.parametrize("way", ["array", "capsule", "method"])
def test_an_array_that_comes_back_waits_for_its_own_work_only(way: str, device: str) -> None:
    """Not for that of the stream that was current when it came back."""
    stream = Stream(device)
    with use_stream(stream):
        array = ra.zeros((8,), device=device).copy()
    if way == "array":
        again = ra.from_dlpack(array)
    elif way == "capsule":
        again = ra.from_capsule(array.__dlpack__(stream=stream, max_version=(1, 3)))
    else:
        again = ra.from_dlpack(Foreign(array))
    fakegpu.reset()
    with use_stream(stream):
        again[:4] = again[4:]
    assert not waits()


@pytest.mark.parametrize("kind", ["cuda:0", "cuda_managed:0", "rocm:0"])
@pytest.mark.parametrize("memory", ["left", "none left"])
def test_a_deleter_that_selects_another_device(kind: str, memory: str) -> None:
    """A deferred deleter runs before an allocation, or when memory runs out, and leaves another
    device current. The allocation is still on the device that was asked for."""
    vendor = kind.partition("_")[0].partition(":")[0]
    driver = driver_of(kind)

    def select_another() -> None:
        driver.use(1)

    first = f"{vendor}:0"
    array, stream = ra.zeros((8,), device=first), Stream(first)
    driver.use(0)
    tensor = tensor_of(array, deleter=select_another)
    got = ra.from_dlpack(tensor)
    fakegpu.hold(stream.handle)
    with use_stream(stream):
        kept = got.copy()
    del got
    fakegpu.run()
    assert tensor.deleter_calls == 0
    if memory == "none left":
        fakegpu.fail(ALLOCATES[kind], 1, 2)  # the first attempt finds no memory
    new = ra.ones((16,), device=kind)
    assert tensor.deleter_calls == 1
    assert new.tolist() == [1.0] * 16
    driver.use(0)
    (allocation,) = [item for item in fakegpu.live() if item["handle"] == address_of(new)]
    assert allocation["device"] == 0
    del kept
