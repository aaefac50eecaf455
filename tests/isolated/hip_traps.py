"""Differences between HIP's versions, on a simulated one, as `hip_traps.py SCENARIO HIP`."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fakegpu"))

import fakegpu

import refarray as ra
from refarray.conformance import _adversary as adversary

DRIVERS = fakegpu.load(cuda=1, hip=2, hip_version=sys.argv[2])
DEVICE, PINNED = 10, 11  # kDLROCM, kDLROCMHost


def foreign(function: str, *more: int) -> int:
    """Allocate memory on device 1 through the HIP library, as another user of it does."""
    hip = ctypes.CDLL(str(DRIVERS.hip))
    assert hip.hipSetDevice(1) == 0
    address = ctypes.c_uint64()
    assert getattr(hip, function)(ctypes.byref(address), ctypes.c_uint64(4096), *more) == 0
    assert hip.hipSetDevice(0) == 0
    return address.value


def tensor(data: int | bytes, kind: int, device_id: int = 0, **more: Any) -> Any:
    return adversary.make(device=(kind, device_id), data=data, shape=(8,), dtype=(2, 64, 1), **more)


def refused(call: Any, kind: type[Exception]) -> str:
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("accepted")


def memory() -> None:
    ra.synchronize("rocm:0")
    far, pinned = foreign("hipMalloc"), foreign("hipHostMalloc", 1)
    # The driver's device id wins over the producer's.
    assert ra.from_dlpack(tensor(far, DEVICE, 0)).device == "rocm:1"
    assert ra.from_dlpack(tensor(pinned, PINNED)).device == "rocm_host"
    for data in (b"\0" * 64, 0xDEAD0008):
        message = refused(lambda data=data: ra.from_dlpack(tensor(data, DEVICE)), BufferError)
        assert "not device memory known to ROCm" in message, message


class Foreign:
    """A stream of another library."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def with_table(address: int, stream: int) -> Any:
    """Another library's array, whose exchange table reports `stream` as its work stream."""
    pythonapi, pointer, number = ctypes.pythonapi, ctypes.c_void_p, ctypes.c_uint64
    pythonapi.PyCapsule_GetPointer.restype = pointer
    pythonapi.PyCapsule_New.restype = ctypes.py_object
    name, taken = (
        ctypes.c_char_p(b"dltensor_versioned"),
        ctypes.c_char_p(b"used_dltensor_versioned"),
    )
    own = ctypes.py_object(ra.Array.__dlpack_c_exchange_api__)
    # Version, previous table, allocator, from_py, to_py, dltensor, current_work_stream.
    table = (number * 7).from_buffer_copy(
        ctypes.string_at(pythonapi.PyCapsule_GetPointer(own, KEPT_NAME), 56)
    )

    def from_py(source: Any, out: Any) -> int:
        capsule = ctypes.py_object(tensor(address, DEVICE, 1, versioned=True).capsule())
        out[0] = pythonapi.PyCapsule_GetPointer(capsule, name)
        return int(pythonapi.PyCapsule_SetName(capsule, taken))

    def work_stream(kind: int, device_id: int, out: Any) -> int:
        out[0] = stream
        return 0

    into = ctypes.POINTER(number)
    kept = [
        table,
        taken,
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, into)(from_py),
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, into)(work_stream),
    ]
    for index, function in ((3, kept[2]), (6, kept[3])):
        table[index] = ctypes.cast(function, pointer).value or 0
    KEPT.append(kept)
    api = pythonapi.PyCapsule_New(pointer(ctypes.addressof(table)), KEPT_NAME, None)

    return type("Other", (), {"__dlpack_c_exchange_api__": api})()  # no methods: they would decide


KEPT: list[Any] = []
KEPT_NAME = ctypes.c_char_p(b"dlpack_exchange_api")  # a capsule stores only the pointer


def streams() -> None:
    array = ra.zeros((8,), device="rocm:0")
    pinned = ra.zeros((8,), device="rocm_host")
    for value in (1, 2):
        for given in (value, Foreign(value)):
            for each in (array, pinned):
                refused(lambda e=each, g=given: e.__dlpack__(stream=g), ValueError)
            refused(lambda g=given: ra.Stream("rocm:0", g), ValueError)
            refused(lambda g=given: array.to_device("rocm:1", stream=g), ValueError)
    with ra.use_stream(ra.Stream("rocm:0", 0)):  # HIP's default stream is 0, not 1
        assert ra.current_stream("rocm:0").handle == 0
        array.copy()
    asked = []

    class Producer:
        def __dlpack__(self, **keywords: Any) -> object:
            asked.append(keywords["stream"])
            return array.__dlpack__(**keywords)

        def __dlpack_device__(self) -> tuple[int, int]:
            return DEVICE, 0

    ra.from_dlpack(Producer())
    assert asked == [0], asked
    # 1 is hipStreamLegacy, which must not reach any HIP version: refarray uses the default stream.
    far = foreign("hipMalloc")
    for handle in (0, 1):
        got = ra.from_dlpack(with_table(far, handle))
        fakegpu.reset()
        with ra.use_stream(ra.Stream("rocm:1")):
            got.copy()
        assert fakegpu.trace("hipEventRecord")[0].get("stream", 0) == 0
        assert len(fakegpu.trace("hipStreamWaitEvent")) == 1
    ra.synchronize("rocm:1")
    ra.synchronize("rocm:0")


def events() -> None:
    """On HIP 7.0 to 7.2 a stream that waits for an event is asked in its place. It may run later
    than the host's own wait for the event."""
    producer, array = ra.Stream("rocm:0"), ra.zeros((8,), device="rocm:0")
    ra.synchronize("rocm:0")
    event = ra.Event("rocm:0")

    def work() -> int:
        """Queues work and its event, and asks for it; returns the stream that waits."""
        fakegpu.hold(producer.handle)
        with ra.use_stream(producer):
            array[...] = 1
        event.record(producer)
        assert not event.done
        return int(fakegpu.trace("hipStreamWaitEvent")[-1]["stream"])

    waiter = work()
    fakegpu.run()
    while not event.done:
        pass
    fakegpu.hold(waiter)
    assert work() == waiter, "another stream waits"
    fakegpu.step(producer.handle, 9)
    event.synchronize()
    is_done = event.done
    fakegpu.run()
    assert is_done


{"memory": memory, "streams": streams, "events": events}[sys.argv[1]]()
fakegpu.run()
assert fakegpu.violations() == [], fakegpu.violations()[:3]
print("alive")
