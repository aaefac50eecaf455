"""Leaves work on other producers' device memory for the end of the process, by MODE. Each deleter
is the C library's puts(), which needs no interpreter: it prints one line for each call."""

from __future__ import annotations

import atexit
import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fakegpu"))

import fakegpu
from fakegpu.driving import Cuda

import refarray as ra

MODE = sys.argv[1]
SIZE = 64
KEPT: list[Any] = []  # what C code looks at for as long as the process lives


class Managed(ctypes.Structure):
    """DLManagedTensorVersioned, its DLTensor inside."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
    )  # fmt: skip


def theirs(cuda: Cuda) -> ra.Array:
    """An array over somebody else's device memory; letting go of it prints a line."""
    shape, stride = (ctypes.c_int64 * 1)(SIZE), (ctypes.c_int64 * 1)(1)
    puts = ctypes.cast(ctypes.CDLL(None).puts, ctypes.c_void_p).value
    tensor = Managed(
        1, 3, None, puts, 0, cuda.memory(SIZE), 2, 0, 1, 1, 8, 1,
        ctypes.addressof(shape), ctypes.addressof(stride), 0,
    )  # fmt: skip
    KEPT.extend([shape, stride, tensor])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(KEPT))  # not even the end clears it
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return ra.from_capsule(new(ctypes.addressof(tensor), b"dltensor_versioned", None))


def busy(array: ra.Array) -> None:
    """Gives a stream work on the array that is long from done."""
    with ra.use_stream(ra.Stream("cuda:0")):
        KEPT.append(array.copy())


def lend(array: ra.Array) -> None:
    """To a consumer whose work only the device knows of."""
    array.__dlpack__(stream=ra.Stream("cuda:0"), max_version=(1, 3))


def let_go_at_the_end(array: ra.Array) -> None:
    busy(array)
    sys.modules["late"] = array  # type: ignore[assignment]


def drop_in_a_thread(array: ra.Array) -> None:
    busy(array)
    thread = threading.Thread(target=gc.collect)
    thread.start()
    thread.join()


def capture(array: ra.Array) -> None:
    """Into a graph whose capture nobody ends."""
    stream, target = ra.Stream("cuda:0"), ra.zeros((SIZE,), dtype="uint8", device="cuda:0")
    ra.synchronize("cuda:0")
    CUDA("cuStreamBeginCapture_v2", stream.handle, 2)
    with ra.use_stream(stream):
        target[...] = array
    KEPT.extend([stream, target])


def fail_at_the_end(array: ra.Array) -> None:
    busy(array)
    atexit.register(fakegpu.fail, "cuEventSynchronize", 1, 700)


def unload_at_the_end(array: ra.Array) -> None:
    busy(array)
    atexit.register(fakegpu.deinitialize)


def unregistered(array: ra.Array) -> None:
    """Nobody will ask at the end, since atexit could not be imported when the memory came in."""
    busy(array)


MODES: dict[str, Callable[[ra.Array], None]] = {
    "unused": lambda array: None,
    "busy": busy,
    "lent": lend,
    "module": let_go_at_the_end,
    "thread": drop_in_a_thread,
    "capture": capture,
    "failing": fail_at_the_end,
    "unloaded": unload_at_the_end,
    "unregistered": unregistered,
}


def judge() -> None:
    """Runs after all other functions for the end: what waited has been waited for by then."""
    waited = len(fakegpu.trace("cuEventSynchronize", "cuCtxSynchronize"))
    print("waited" if waited else "did not wait", fakegpu.violations(), flush=True)


atexit.register(judge)
fakegpu.load(cuda=1, hip=0, delay=50_000)
CUDA = Cuda(fakegpu.Drivers.here().cuda)
if MODE == "unregistered":
    sys.modules["atexit"] = None  # type: ignore[assignment]
for _ in range(1 if MODE == "capture" else 3):
    MODES[MODE](theirs(CUDA))
gc.collect()
print("alive until here", flush=True)
