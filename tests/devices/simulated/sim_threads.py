"""CUDA's per-thread default stream, stream=2, is that of the exporting thread."""

from __future__ import annotations

import ctypes
import threading

import fakegpu
import pytest
from fakegpu.driving import Cuda

import refarray as ra

SIZE = 4096
PER_THREAD = 2


def pointer_of(capsule: object) -> int:
    """The data pointer: the first member of a legacy managed tensor."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    at = get(capsule, b"dltensor")
    return int(ctypes.cast(at, ctypes.POINTER(ctypes.c_uint64))[0])


@pytest.mark.req("STRM-24")
def test_stream_2_is_that_of_the_calling_thread() -> None:
    """An export with stream=2 is ordered before the exporting thread's work in its stream 2."""
    writer = ra.Stream("cuda:0")
    ones = ra.full((SIZE,), 1, dtype="uint8", device="cuda:0")
    fakegpu.hold(writer.handle)
    with ra.use_stream(writer):
        array = ones.copy()
    cuda = Cuda(fakegpu.Drivers.here().cuda)
    cuda("cuCtxPushCurrent_v2", cuda.contexts[0])
    memory = cuda.memory(SIZE)
    cuda("cuCtxPopCurrent_v2", None)

    def read() -> None:
        capsule = array.__dlpack__(stream=PER_THREAD)
        cuda("cuCtxPushCurrent_v2", cuda.contexts[0])
        cuda.copy(memory, pointer_of(capsule), PER_THREAD, SIZE)
        cuda("cuCtxPopCurrent_v2", None)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    fakegpu.run()
    assert fakegpu.peek(memory, SIZE) == b"\1" * SIZE
    cuda("cuCtxPushCurrent_v2", cuda.contexts[0])
    cuda("cuCtxSynchronize")
    cuda("cuMemFree_v2", memory)
    cuda("cuCtxPopCurrent_v2", None)
