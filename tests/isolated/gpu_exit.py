"""Process exit with pending work on other producers' device memory, as `gpu_exit.py MODE`.

The deleter of each tensor is the C library's puts(), which needs no interpreter: it prints one line
per call."""

from __future__ import annotations

import atexit
import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fakegpu"))

import fakegpu
from fakegpu.driving import Cuda

import refarray as ra

MODE = sys.argv[1]
SIZE = 64
KEPT: list[Any] = []  # objects that C code points to until the process ends


class Managed(ctypes.Structure):
    """DLManagedTensorVersioned with its DLTensor."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
    )  # fmt: skip


def theirs(cuda: Cuda) -> ra.Array:
    """An array over another library's device memory; its deleter prints a line."""
    shape, stride = (ctypes.c_int64 * 1)(SIZE), (ctypes.c_int64 * 1)(1)
    puts = ctypes.cast(ctypes.CDLL(None).puts, ctypes.c_void_p).value
    tensor = Managed(
        1, 3, None, puts, 0, cuda.memory(SIZE), 2, 0, 1, 1, 8, 1,
        ctypes.addressof(shape), ctypes.addressof(stride), 0,
    )  # fmt: skip
    KEPT.extend([shape, stride, tensor])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(KEPT))  # survives finalization
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return ra.from_capsule(new(ctypes.addressof(tensor), b"dltensor_versioned", None))


def busy(array: ra.Array) -> None:
    """Queue work on the array that takes long to finish."""
    with ra.use_stream(ra.Stream("cuda:0")):
        KEPT.append(array.copy())


def export_on_stream(array: ra.Array) -> None:
    """Export to a consumer whose work only the device knows of."""
    array.__dlpack__(stream=ra.Stream("cuda:0"), max_version=(1, 3))


def release_at_exit(array: ra.Array) -> None:
    busy(array)
    sys.modules["late"] = array  # type: ignore[assignment]


def drop_in_a_thread(array: ra.Array) -> None:
    busy(array)
    thread = threading.Thread(target=gc.collect)
    thread.start()
    thread.join()


def capture(array: ra.Array) -> None:
    """Use the array in a graph capture that is never ended."""
    stream, target = ra.Stream("cuda:0"), ra.zeros((SIZE,), dtype="uint8", device="cuda:0")
    ra.synchronize("cuda:0")
    CUDA("cuStreamBeginCapture_v2", stream.handle, 2)
    with ra.use_stream(stream):
        target[...] = array
    KEPT.extend([stream, target])


def fail_at_exit(array: ra.Array) -> None:
    busy(array)
    atexit.register(fakegpu.fail, "cuEventSynchronize", 1, 700)


def unload_at_exit(array: ra.Array) -> None:
    busy(array)
    atexit.register(fakegpu.deinitialize)


def without_atexit(array: ra.Array) -> None:
    """No exit handler waits: atexit could not be imported when the memory was imported."""
    busy(array)


MODES: dict[str, Callable[[ra.Array], None]] = {
    "unused": lambda array: None,
    "busy": busy,
    "lent": export_on_stream,
    "module": release_at_exit,
    "thread": drop_in_a_thread,
    "capture": capture,
    "failing": fail_at_exit,
    "unloaded": unload_at_exit,
    "unregistered": without_atexit,
}


def report() -> None:
    """The last exit handler to run: pending work has been waited for by then."""
    waited = len(fakegpu.trace("cuEventSynchronize", "cuCtxSynchronize"))
    print("waited" if waited else "did not wait", fakegpu.violations(), flush=True)


atexit.register(report)
fakegpu.load(cuda=1, hip=0, delay=50_000)
CUDA = Cuda(fakegpu.Drivers.here().cuda)
if MODE == "unregistered":
    sys.modules["atexit"] = None  # type: ignore[assignment]
for _ in range(1 if MODE == "capture" else 3):
    MODES[MODE](theirs(CUDA))
gc.collect()
print("alive until here", flush=True)
