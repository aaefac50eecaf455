"""Threads: the per-thread default stream, and concurrent work on one array."""

from __future__ import annotations

import ctypes
import threading
from functools import partial
from typing import Any

import fakegpu
import pytest
from capturing import SIZE, data_of, driver_of, in_threads, unfinished

import refarray as ra

PER_THREAD = 2
USED = b"used_dltensor_versioned"


@pytest.mark.req("STRM-24")
def test_stream_2_is_that_of_the_calling_thread() -> None:
    """An export with stream=2 is ordered before the exporting thread's work in its stream 2."""
    _, array = unfinished("cuda:0")
    cuda = driver_of("cuda:0")
    memory = cuda.memory(SIZE)

    def read() -> None:
        capsule = array.__dlpack__(stream=PER_THREAD)
        cuda.use(0)
        cuda.copy(memory, data_of(capsule), PER_THREAD, SIZE)

    in_threads(read)
    fakegpu.run()
    assert fakegpu.peek(memory, SIZE) == b"\1" * SIZE
    cuda("cuCtxSynchronize")
    cuda.free(memory)


def deleter_of(capsule: object) -> tuple[Any, int]:
    """Takes a versioned tensor from its capsule. Returns its deleter, which will be called with the
    GIL held, and its address."""
    api, name = ctypes.pythonapi, b"dltensor_versioned"
    get, rename = api.PyCapsule_GetPointer, api.PyCapsule_SetName
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    at = int(get(capsule, name))
    rename(capsule, USED)
    deleter = ctypes.cast(at, ctypes.POINTER(ctypes.c_void_p))[2]
    return ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(deleter), at


@pytest.mark.parametrize("device", ["cuda:0", "rocm:0", "cuda_managed:0"])
def test_a_consumer_with_the_gil_frees_without_it(device: str) -> None:
    """The last reference is the consumer's, whose deleter call holds the GIL. The drivers report
    each of its calls that does."""
    array = ra.ones((SIZE,), dtype="uint8", device=device)
    capsule = array.__dlpack__(max_version=(1, 3))
    del array
    deleter, at = deleter_of(capsule)
    deleter(at)


@pytest.mark.parametrize("kind", ["write", "read"])
def test_concurrent_uses_are_all_waited_for(device: str, kind: str) -> None:
    """Two threads use disjoint halves of an array, each on its own stream. What comes later waits
    for both, whichever thread noted its use last."""
    half = 1 << 10
    for _ in range(20):
        array = ra.zeros((2 * half,), dtype="uint8", device=device)
        source = ra.ones((half,), dtype="uint8", device=device)
        ra.synchronize(device)
        streams = [ra.Stream(device) for _ in range(2)]
        start = threading.Barrier(2)
        read: list[ra.Array | None] = [None, None]

        def work(
            number: int,
            array: ra.Array = array,
            source: ra.Array = source,
            streams: list[ra.Stream] = streams,
            start: threading.Barrier = start,
            read: list[ra.Array | None] = read,
        ) -> None:
            part = array[number * half : (number + 1) * half]
            with ra.use_stream(streams[number]):
                start.wait()
                if kind == "write":
                    part[...] = source
                else:
                    read[number] = part.copy()

        for stream in streams:
            fakegpu.hold(stream.handle)
        in_threads(partial(work, 0), partial(work, 1))
        later = ra.Stream(device)
        with ra.use_stream(later):
            result = array.copy() if kind == "write" else array
            if kind == "read":
                array[...] = 7
        fakegpu.run()
        ra.synchronize(device)
        if kind == "write":
            assert result.to_device("cpu").tolist() == [1] * (2 * half)
        else:
            assert [part.tolist() for part in read if part is not None] == [[0] * half] * 2
        del array, source, result  # hipFree would wait for the next round's held streams
        read.clear()


def test_threads_upload_at_the_same_time(device: str) -> None:
    """Large arrays go through pinned memory that the threads share."""
    length = 1500  # each array needs three parts of that memory
    sources = [ra.full((length, length), n, dtype="int32") for n in range(5)]
    seen: list[list[bool]] = [[] for _ in sources]
    start = threading.Barrier(len(sources))

    def upload(number: int) -> None:
        start.wait()
        with ra.use_stream(ra.Stream(device)):
            for _ in range(2):
                there = sources[number].T.to_device(device)
                seen[number].append(bool(ra.all(there.to_device("cpu") == number)))

    in_threads(*(partial(upload, n) for n in range(len(sources))))
    assert seen == [[True] * 2] * len(sources)
