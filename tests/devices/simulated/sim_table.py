"""Device arrays through C exchange tables, where no stream is passed: exports and imports are
ordered by the current stream."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import fakegpu
import pytest
from capturing import address_of, waits

import refarray as ra
from refarray import Stream, use_stream
from refarray.conformance import _adversary as adversary

GPUS = ["cuda:0", "rocm:0", "cuda_managed:0"]
API = adversary.api(ra.Array)
TYPES = {"cuda:0": (2, 0), "rocm:0": (10, 0), "cuda_managed:0": (13, 0)}


@pytest.fixture(params=GPUS)
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def gpu_of(place: str) -> str:
    return "rocm:0" if place.startswith("rocm") else "cuda:0"


@pytest.mark.parametrize("export", [API.from_py, API.dltensor])
@pytest.mark.req("CAPI-12", "CAPI-25")
def test_the_current_stream_waits_for_our_work_in_others(
    place: str, export: Callable[[ra.Array], Any]
) -> None:
    stream, consumer = Stream(gpu_of(place)), Stream(gpu_of(place))
    array, source = ra.zeros((8,), device=place), ra.ones((8,), device=gpu_of(place))
    with use_stream(stream):
        array[...] = source
    fakegpu.reset()
    with use_stream(stream):
        kept = [export(array)]
    assert waits() == []
    with use_stream(consumer):
        kept.append(export(array))
        assert API.stream(*TYPES[place]) == consumer.handle
    assert waits() == [consumer.handle]
    assert not [r for r in fakegpu.trace() if "Synchronize" in r["call"]]
    kept.clear()


def test_pinned_memory_is_ready_on_export() -> None:
    for host, device in (("cuda_host", "cuda:0"), ("rocm_host", "rocm:0")):
        array, source = ra.zeros((8,), device=host), ra.ones((8,), device=device)
        with use_stream(Stream(device)):
            array[...] = source
        fakegpu.reset()
        owned = API.from_py(array)
        # HIP 7.0 to 7.2: a stream waits for the event, and the host for the stream
        names = ("cuEventSynchronize", "hipEventSynchronize", "hipStreamSynchronize")
        assert fakegpu.trace(*names)
        owned.drop()


@pytest.mark.req("CAPI-25")
def test_the_stream_of_each_device() -> None:
    assert API.stream(2, 0) == API.stream(13, 0) == API.stream(2, 1) == 1
    assert API.stream(10, 0) == API.stream(1, 0) == API.stream(3, 0) == API.stream(11, 0) == 0
    for wrong in ((2, 7), (10, -1), (7, 0), (99, 0)):
        with pytest.raises(ValueError, match="cannot be used by this process"):
            API.stream(*wrong)


class Version(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32))


FromPy = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
CurrentStream = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class Table(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = (
        ("version", Version), ("prev", ctypes.c_void_p), ("allocator", ctypes.c_void_p),
        ("from_py", FromPy), ("to_py", ctypes.c_void_p), ("dltensor", ctypes.c_void_p),
        ("work_stream", CurrentStream),
    )  # fmt: skip


def producer_with_table(stream: Callable[[], int | None]) -> tuple[Any, Any]:
    """An object of another library, whose type has only an exchange table, and its tensor. `stream`
    returns the handle of the library's current stream, or None for an error."""
    array = ra.asarray([1.0, 2.0], device="cuda:0")
    ra.synchronize("cuda:0")
    tensor = adversary.make(device=(2, 0), data=address_of(array), shape=(2,), dtype=(2, 64, 1))

    def from_py(_: object, out: Any) -> int:
        capsule = tensor.capsule()
        pointer, rename = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_SetName
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        out[0] = pointer(capsule, b"dltensor_versioned")
        rename(capsule, USED)
        return 0

    def current_work_stream(_type: int, _id: int, out: Any) -> int:
        handle = stream()
        out[0] = handle or 0
        return -1 if handle is None else 0

    table = Table(
        Version(1, 3), None, 1, FromPy(from_py), 1, None, CurrentStream(current_work_stream)
    )
    KEPT.extend([table, array])
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(ctypes.addressof(table), NAME, None)
    return type("Theirs", (), {"__dlpack_c_exchange_api__": capsule})(), tensor


USED, NAME = b"used_dltensor_versioned", b"dlpack_exchange_api"
KEPT: list[Any] = []  # a type's table must outlive it


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    KEPT[:] = [each for each in KEPT if isinstance(each, Table)]


def test_import_waits_for_the_tables_stream() -> None:
    theirs, ours = Stream("cuda:0"), Stream("cuda:0")
    there, tensor = producer_with_table(lambda: theirs.handle)
    with use_stream(ours):
        got = ra.from_dlpack(there)
        fakegpu.reset()
        copied = got.copy()
        assert waits() == [ours.handle]  # for the work in their stream
    assert copied.tolist() == [1.0, 2.0]
    del got
    ra.synchronize("cuda:0")
    assert tensor.deleter_calls == 1


def test_a_table_whose_stream_function_fails() -> None:
    there, tensor = producer_with_table(lambda: None)
    with pytest.raises(BufferError, match="current_work_stream of the exchange table of .* failed"):
        ra.from_dlpack(there)
    assert tensor.deleter_calls == 1


def test_to_device_and_pickling_with_streams() -> None:
    array = ra.ones((3,), device="cuda:0")
    with pytest.raises(ValueError, match="stream must name a stream of cuda:1"):
        array.to_device("cuda:1", stream=-1)
    assert pickle.loads(pickle.dumps(array)).device == "cuda:0"
    stream = Stream("cuda:0")
    assert ra.ones((3,)).to_device("cuda_host", stream=stream).tolist() == [1.0] * 3
    assert array.to_device("cuda_host", stream=stream).tolist() == [1.0] * 3
