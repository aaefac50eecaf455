"""__cuda_array_interface__ in both directions: its fields, its stream, and the lifetime of the
memory; and that of memory whose address leaves by any other way: a consumer orders its work as the
way asks, on a stream of its own, and drops what it got while the work is still queued."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable
from typing import Any

import fakegpu
import pytest
from capturing import SIZE, data_of, driver_of, waits
from fakegpu.driving import Driver

import refarray as ra
from refarray import Stream, use_stream
from refarray.conformance import _adversary as adversary


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
    assert waits() == [second.handle]
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
        assert not waits()
    ra.synchronize("cuda:0")
    del array
    driver.destroy(raw)


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


# --- Every way out

API = adversary.api(ra.Array)
#: What keeps the memory, and its address.
Taken = tuple[Any, int]
Way = Callable[[ra.Array], Taken]


def dlpack(**keywords: Any) -> Way:
    def take(array: ra.Array) -> Taken:
        capsule = array.__dlpack__(max_version=(1, 3), **keywords)
        return capsule, data_of(capsule)

    return take


def from_py(array: ra.Array) -> Taken:
    owned = API.from_py(array)
    return owned, owned.fields()["data"]


def dltensor(array: ra.Array) -> Taken:
    return array, API.dltensor(array)["data"]


def cuda_interface(array: ra.Array) -> Taken:
    return array, array.__cuda_array_interface__["data"][0]


def host_interface(array: ra.Array) -> Taken:
    return array, array.__array_interface__["data"][0]


def buffer(array: ra.Array) -> Taken:
    view = memoryview(array)  # type: ignore[arg-type]
    return view, ctypes.addressof(ctypes.c_char.from_buffer(view))


class ArrowArray(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("length", "nulls", "offset", "buffers", "children")),
        ("addresses", ctypes.POINTER(ctypes.c_void_p)),
    ]


def arrow(array: ra.Array) -> Taken:
    _, capsule = array.__arrow_c_array__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return capsule, ArrowArray.from_address(pointer(capsule, b"arrow_array")).addresses[1]


HOST = {
    "dlpack": dlpack(),
    "dlpack stream=-1": dlpack(stream=-1),
    "dlpack copy": dlpack(copy=True),
    "dlpack copy stream=-1": dlpack(copy=True, stream=-1),
    "dlpack as cpu": dlpack(dl_device=(1, 0)),
    "table": from_py,
    "borrowed": dltensor,
}
PINNED = {**HOST, "buffer": buffer, "interface": host_interface, "arrow": arrow}
DEVICE = {
    "dlpack stream=-1": dlpack(stream=-1),
    "dlpack copy stream=-1": dlpack(copy=True, stream=-1),
}
WAYS: dict[str, dict[str, Way]] = {
    "cuda:0": {**DEVICE, "cuda interface": cuda_interface, "to pinned": dlpack(dl_device=(3, 0))},
    "rocm:0": {**DEVICE, "to pinned": dlpack(dl_device=(11, 0))},
    "cuda_host": PINNED,
    "rocm_host": PINNED,
    "cuda_managed:0": {**HOST, "cuda interface": cuda_interface},
}
CASES = [(memory, way, 0) for memory, ways in WAYS.items() for way in ways]
#: Pinned and managed memory is used on any device, that of a device on this one.
CASES += [
    (memory, way, 1)
    for memory, way, _ in CASES
    if memory not in ("cuda:0", "rocm:0") or way == "to pinned"
]


class Consumer:
    """Another library's stream, and its copy of what it was given."""

    def __init__(self, driver: Driver, memory: str, device: int = 0) -> None:
        self.driver = driver
        driver.use(device)
        self.stream, self.target = driver.stream(), driver.memory(SIZE)
        driver.use(0)
        if memory != "rocm:0":  # hipFree() waits for it
            fakegpu.hold(self.stream)

    def read(self, address: int) -> None:
        self.driver.copy(self.target, address, self.stream, SIZE)

    def finish(self, value: int) -> None:
        fakegpu.run()
        self.driver.synchronize(self.stream)
        assert fakegpu.peek(self.target, SIZE) == bytes([value]) * SIZE
        self.driver.free(self.target)
        self.driver.destroy(self.stream)


def vendor_of(memory: str) -> str:
    return "cuda:0" if memory.startswith("cuda") else "rocm:0"


@pytest.mark.parametrize(("memory", "way", "device"), CASES)
def test_memory_outlives_a_consumer_on_a_stream_of_its_own(
    memory: str, way: str, device: int
) -> None:
    driver = driver_of(vendor_of(memory))
    stream = Stream(vendor_of(memory))
    with use_stream(stream):
        array = ra.empty((SIZE,), dtype="uint8", device=memory)
        array[...] = ra.full((SIZE,), 7, dtype="uint8", device=vendor_of(memory))
        ra.synchronize(vendor_of(memory))
        taken, address = WAYS[memory][way](array)
    consumer = Consumer(driver, memory, device)
    consumer.read(address)
    del taken, array
    gc.collect()
    with use_stream(stream):
        later = [ra.full((SIZE,), 3, dtype="uint8", device=memory) for _ in range(3)]
    consumer.finish(7)
    ra.synchronize(vendor_of(memory))
    del later


@pytest.mark.parametrize("stream", ["own", "external"])
@pytest.mark.parametrize("memory", ["cuda:0", "rocm:0", "cuda_host", "rocm_host"])
def test_memory_of_the_tables_allocator_outlives_the_callers_work(memory: str, stream: str) -> None:
    """The caller works on current_work_stream; with pinned memory, on any."""
    vendor = vendor_of(memory)
    driver = driver_of(vendor)
    consumer = Consumer(driver, memory)
    current = Stream(vendor, consumer.stream) if stream == "external" else Stream(vendor)
    kind = {"cuda:0": 2, "rocm:0": 10, "cuda_host": 3, "rocm_host": 11}[memory]
    prototype = adversary.make(device=(kind, 0), data=None, shape=(SIZE,), dtype=(1, 8, 1))
    with use_stream(current):
        fakegpu.configure(check_gil=False)  # it leaves the GIL as it is
        code, made, errors = API.allocate(prototype)
        fakegpu.configure(check_gil=True)
        assert (code, errors) == (0, [])
        address = made.fields()["data"]
        on_device = memory == vendor
        work = current.handle if on_device else consumer.stream
        driver.fill(address, work, 7, SIZE)
        driver.copy(consumer.target, address, work, SIZE)
        del made
        gc.collect()
        later = [ra.full((SIZE,), 3, dtype="uint8", device=memory) for _ in range(3)]
    fakegpu.run()
    current.synchronize()
    consumer.finish(7)
    ra.synchronize(vendor)
    del later, current
