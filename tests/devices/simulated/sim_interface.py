"""__cuda_array_interface__ in both directions: its fields, its stream, and the lifetime of the
memory."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import fakegpu
import pytest
from capturing import driver_of

import refarray as ra
from refarray import Stream, use_stream


class InterfaceProducer:
    """Another library's array with `__cuda_array_interface__`; "absent" removes a field."""

    def __init__(self, array: ra.Array, **fields: Any) -> None:
        self.array = array
        self.fields = {**array.__cuda_array_interface__, **fields}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {key: value for key, value in self.fields.items() if value != "absent"}


def test_fields() -> None:
    array = ra.asarray([[1.0, 2.0], [3.0, 4.0]], dtype="float32", device="cuda:0")
    interface = array.__cuda_array_interface__
    assert (interface["shape"], interface["typestr"], interface["version"]) == ((2, 2), "<f4", 3)
    assert interface["strides"] is None and interface["data"][1] is False
    assert fakegpu.peek(interface["data"][0], 4) == b"\0\0\x80?"
    assert array.T.__cuda_array_interface__["strides"] == (4, 8)
    assert array.as_readonly().__cuda_array_interface__["data"][1] is True
    assert ra.zeros((0, 3), device="cuda:0").__cuda_array_interface__["data"] == (0, False)
    assert ra.zeros((3,), device="cuda_managed:0").__cuda_array_interface__["shape"] == (3,)


def test_elements_with_odd_strides_are_copied_on_the_device() -> None:
    """A field of packed structures: 9 bytes from one float64 to the next."""
    numbers = b"".join(b"?" + ra.asarray([value]).tobytes() for value in (0.5, 1.5, 2.5))
    memory = ra.from_buffer(numbers, dtype="uint8").to_device("cuda:0")
    address = memory.__cuda_array_interface__["data"][0] + 1
    fields = {"data": (address, False), "shape": (3,), "typestr": "<f8", "strides": (9,)}
    copy = ra.asarray(InterfaceProducer(memory, **fields))
    assert str(copy.device) == "cuda:0"
    assert copy.to_device("cpu").tolist() == [0.5, 1.5, 2.5]
    with pytest.raises(ra.NoCopyError, match="copy=False"):
        ra.asarray(InterfaceProducer(memory, **fields), copy=False)
    with pytest.raises(BufferError, match="native byte order"):
        ra.asarray(InterfaceProducer(memory, **{**fields, "typestr": ">f8"}))


@pytest.mark.parametrize("device", ["cpu", "cuda_host", "rocm:0", "rocm_host"])
def test_other_memory_and_dtypes_have_no_interface(device: str) -> None:
    assert not hasattr(ra.zeros((3,), device=device), "__cuda_array_interface__")
    assert not hasattr(
        ra.zeros((3,), dtype="bfloat16", device="cuda:0"), "__cuda_array_interface__"
    )


def test_the_stream_covers_all_work() -> None:
    first, second = Stream("cuda:0"), Stream("cuda:0")
    with use_stream(first):
        array = ra.zeros((8,), device="cuda:0").copy()
    fakegpu.reset()
    with use_stream(second):
        interface = array.__cuda_array_interface__
    assert interface["stream"] == second.handle
    assert [record["stream"] for record in fakegpu.trace("cuStreamWaitEvent")] == [second.handle]
    array = ra.zeros((8,), device="cuda:0")
    assert array.__cuda_array_interface__["stream"] == 1


@pytest.mark.parametrize("exchange", ["interface", "table"])
def test_work_on_a_foreign_stream_needs_no_wait_there(exchange: str) -> None:
    """The current stream was given by handle; all work on the array is there."""
    driver = driver_of("cuda:0")
    raw = driver.stream()
    with use_stream(Stream("cuda:0", raw)):
        array = ra.ones((8,), device="cuda:0").copy()
        fakegpu.reset()
        if exchange == "interface":
            assert array.__cuda_array_interface__["stream"] == raw
        else:
            ra._native._from_exchange_api(array)
        assert not [r for r in fakegpu.trace() if "WaitEvent" in r["call"]]
    ra.synchronize("cuda:0")
    del array
    driver("cuStreamDestroy_v2", raw)


def test_our_work_waits_for_the_interfaces_stream() -> None:
    theirs, ours = Stream("cuda:0"), Stream("cuda:0")
    with use_stream(theirs):
        array = ra.zeros((8,), device="cuda:0").copy()
        producer = InterfaceProducer(array)
    assert producer.fields["stream"] == theirs.handle
    with use_stream(ours):
        got = ra.asarray(producer)
        copy = got.copy()
    assert got.device == "cuda:0"
    assert copy.to_device("cpu").tolist() == [0.0] * 8


@pytest.mark.parametrize("fields", [{"stream": None}, {"version": 2, "stream": "absent"},
                                    {"stream": 1}, {"stream": 2},
                                    {"version": 0, "stream": "absent"},
                                    {"version": 1, "strides": "absent"}])  # fmt: skip
def test_streams_and_versions(fields: dict[str, Any]) -> None:
    array = ra.asarray([[1, 2], [3, 4]], device="cuda:1")
    ra.synchronize("cuda:1")
    got = ra.asarray(InterfaceProducer(array, **fields))
    assert (got.device, got.shape) == ("cuda:1", (2, 2))
    assert got.T.to_device("cpu").tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("fields", "error"),
    [({"stream": 0}, "stream is 0"), ({"stream": -1}, "stream is -1"), ({"version": 4}, "version"),
     ({"version": -1}, "version"), ({"mask": object()}, "mask"), ({"typestr": "<f3"}, "typestr"),
     ({"data": (0xDEAD0008, False)}, "not device memory"), ({"data": None}, "data must be"),
     ({"shape": (-1, 2)}, "shape")],
)  # fmt: skip
def test_malformed_fields(fields: dict[str, Any], error: str) -> None:
    array = ra.asarray([[1, 2], [3, 4]], device="cuda:0")
    with pytest.raises(BufferError, match=error):
        ra.asarray(InterfaceProducer(array, **fields))


def test_the_object_is_kept_until_our_work_is_done() -> None:
    stream = Stream("cuda:0")
    producer = InterfaceProducer(ra.zeros((8,), device="cuda:0"))
    seen = weakref.ref(producer)
    got = ra.asarray(producer)
    del producer
    gc.collect()
    assert seen() is not None
    fakegpu.hold(stream.handle)
    with use_stream(stream):
        copy = got.copy()
    del got
    gc.collect()
    assert seen() is not None
    fakegpu.run()
    ra.synchronize("cuda:0")
    assert seen() is None
    del copy
