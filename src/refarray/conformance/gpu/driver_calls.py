"""Calls of the CUDA and HIP drivers through ctypes: memory, streams, copies, and gates that block a
stream."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

NON_BLOCKING = 1
NO_TIMING = 2
GATE_SECONDS = 2.0
"""A gate opens after this time at the latest: then the host is waiting for the gated work."""
LOOK_SECONDS = 0.2
"""Timeout for work that is not behind a gate."""
NOT_READY = 600


@dataclass(frozen=True)
class Vendor:
    """The names of a vendor's driver and its functions, its DLPack device types and stream
    values."""

    name: str
    title: str
    variable: str
    """The environment variable that names another library file, as for refarray."""
    files: tuple[str, ...]
    kind: int
    """The DLPack device type; `pinned` and `managed` are those of these kinds of memory."""
    pinned: int
    managed: int
    legacy: int
    """The stream value for the legacy default stream."""
    calls: dict[str, str]


# key: (the function of CUDA, the function of HIP)
CALLS = {
    "count": ("cuDeviceGetCount", "hipGetDeviceCount"),
    "stream": ("cuStreamCreate", "hipStreamCreateWithFlags"),
    "destroy": ("cuStreamDestroy_v2", "hipStreamDestroy"),
    "wait": ("cuStreamSynchronize", "hipStreamSynchronize"),
    "event": ("cuEventCreate", "hipEventCreateWithFlags"),
    "record": ("cuEventRecord", "hipEventRecord"),
    "follow": ("cuStreamWaitEvent", "hipStreamWaitEvent"),
    "ready": ("cuEventQuery", "hipEventQuery"),
    "forget": ("cuEventDestroy_v2", "hipEventDestroy"),
    "memory": ("cuMemAlloc_v2", "hipMalloc"),
    "free": ("cuMemFree_v2", "hipFree"),
    "fill": ("cuMemsetD8Async", "hipMemsetAsync"),
    "host": ("cuLaunchHostFunc", "hipLaunchHostFunc"),
    "capture": ("cuStreamBeginCapture_v2", "hipStreamBeginCapture"),
    "captured": ("cuStreamEndCapture", "hipStreamEndCapture"),
    "graph": ("cuGraphDestroy", "hipGraphDestroy"),
    "all": ("cuCtxSynchronize", "hipDeviceSynchronize"),
}
CUDA = Vendor(
    *("cuda", "CUDA", "REFARRAY_LIBCUDA", ("libcuda.so.1",)),
    *(2, 3, 13, 1),
    {key: names[0] for key, names in CALLS.items()},
)
ROCM = Vendor(
    *("rocm", "ROCm", "REFARRAY_LIBHIP"),
    ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"),
    *(10, 11, 0, 0),
    {key: names[1] for key, names in CALLS.items()},
)
VENDORS = {vendor.name: vendor for vendor in (CUDA, ROCM)}


class Failed(Exception):
    """A driver call that did not return success."""


def library(vendor: Vendor) -> ctypes.CDLL:
    """Loads the driver. OSError if there is none."""
    for name in filter(None, (os.environ.get(vendor.variable), *vendor.files)):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            why = error
    raise why


class Driver:
    """One vendor's driver. Methods apply to the current device; handles and addresses are ints."""

    def __init__(self, vendor: Vendor) -> None:
        self.vendor = vendor
        self.library: ctypes.CDLL = library(vendor)
        self.contexts: dict[int, int] = {}
        if vendor is CUDA:
            self.raw("cuInit", 0)

    def code(self, name: str, *arguments: Any) -> int:
        """Calls a driver function by its exported name and returns its status. The GIL is
        released."""
        plain = [ctypes.c_uint64(a % 2**64) if isinstance(a, int) else a for a in arguments]
        return int(getattr(self.library, name)(*plain))

    def raw(self, name: str, *arguments: Any) -> None:
        """The same, but raises Failed unless the call succeeds."""
        if code := self.code(name, *arguments):
            raise Failed(f"{name} returned {code}")

    def call(self, name: str, *arguments: Any) -> None:
        """Calls the function with this key in `Vendor.calls`."""
        self.raw(self.vendor.calls[name], *arguments)

    def make(self, name: str, *arguments: Any) -> int:
        """The same; returns the value that the function writes to its first argument."""
        out = ctypes.c_uint64()
        self.call(name, ctypes.byref(out), *arguments)
        return out.value

    def count(self) -> int:
        return self.make("count")

    def current(self) -> int | None:
        """The calling thread's current device; None if it has none."""
        if self.vendor is ROCM:
            device = ctypes.c_int()
            self.raw("hipGetDevice", ctypes.byref(device))
            return device.value
        context = ctypes.c_uint64()
        self.raw("cuCtxGetCurrent", ctypes.byref(context))
        known = {address: device for device, address in self.contexts.items()}
        return known.get(context.value)

    def use(self, device: int) -> None:
        """Makes a device the calling thread's current one."""
        if self.vendor is ROCM:
            self.raw("hipSetDevice", device)
            return
        if device not in self.contexts:
            context = ctypes.c_uint64()
            self.raw("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self.contexts[device] = context.value
        self.raw("cuCtxSetCurrent", self.contexts[device])

    def stream(self) -> int:
        """A new stream that does not synchronize with the legacy default stream."""
        return self.make("stream", NON_BLOCKING)

    def copy(self, to: int, source: int, size: int, stream: int) -> None:
        """Enqueues a copy between any two addresses."""
        if self.vendor is ROCM:
            self.raw("hipMemcpyAsync", to, source, size, 4, stream)
        else:
            self.raw("cuMemcpyAsync", to, source, size, stream)

    def after(self, later: int, earlier: int) -> None:
        """Orders future work of stream `later` after the current work of stream `earlier`."""
        event = self.make("event", NO_TIMING)
        self.call("record", event, earlier)
        self.call("follow", later, event, 0)
        self.call("forget", event)

    def bytes(self, pointer: int, size: int, stream: int) -> bytes:
        """The contents of memory, copied on a stream; waits for the stream."""
        out = ctypes.create_string_buffer(size)
        self.copy(ctypes.addressof(out), pointer, size, stream)
        self.call("wait", stream)
        return out.raw

    def is_delayed(self, stream: int) -> bool:
        """Whether work that is enqueued now is unfinished after LOOK_SECONDS."""
        event = self.make("event", NO_TIMING)
        self.call("record", event, stream)
        end = time.monotonic() + LOOK_SECONDS
        ready = self.vendor.calls["ready"]
        while (code := self.code(ready, event)) == NOT_READY and time.monotonic() < end:
            time.sleep(0.001)
        self.call("forget", event)
        return code == NOT_READY

    @contextmanager
    def gate(self, stream: int, seconds: float = GATE_SECONDS) -> Iterator[Gate]:
        """Blocks a stream: work enqueued in the block waits until the block ends, at most
        `seconds`."""
        gate = Gate(seconds)
        self.call("host", stream, gate.wait, ctypes.addressof(gate.semaphore))
        gate.timer.start()
        try:
            yield gate
        finally:
            gate.open()
            self.call("wait", stream)
            GATES.append(gate)  # the driver's thread may still be inside sem_wait


class Gate:
    """A semaphore on which a stream waits in a host function, libc's sem_wait, which needs no
    interpreter."""

    def __init__(self, seconds: float) -> None:
        libc = ctypes.CDLL(None)
        self.semaphore: ctypes.Array[ctypes.c_char] = ctypes.create_string_buffer(
            64
        )  # sizeof(sem_t) is 32
        libc.sem_init(self.semaphore, 0, 0)
        self.wait: ctypes.c_void_p = ctypes.cast(libc.sem_wait, ctypes.c_void_p)
        self.post: Any = libc.sem_post
        self.lock: threading.Lock = threading.Lock()
        self.opened: bool = False
        self.timer: threading.Timer = threading.Timer(seconds, self.open)
        self.timer.daemon = True

    def open(self) -> None:
        with self.lock:
            if not self.opened:
                self.opened = True
                self.post(self.semaphore)
        self.timer.cancel()


GATES: list[Gate] = []
"""Opened gates. Their semaphores are never freed, because the driver may still read them."""
