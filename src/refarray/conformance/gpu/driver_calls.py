"""Owns the kit's own side on a device: memory, streams, a gate that stops a stream, and copies, by
calls of a CUDA or HIP driver through ctypes."""

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
"""How long a gate stays shut at most: by then the host waits for what is behind it."""
LOOK_SECONDS = 0.2
"""How long a look waits for work that nothing holds up."""
NOT_READY = 600


@dataclass(frozen=True)
class Vendor:
    """What a vendor's driver is called, and how DLPack counts its memory and streams."""

    name: str
    title: str
    variable: str
    """The environment variable that names another file, as for refarray itself."""
    files: tuple[str, ...]
    kind: int
    """The device type; the pinned and managed ones follow."""
    pinned: int
    managed: int
    legacy: int
    """What a consumer passes for the legacy default stream."""
    calls: dict[str, str]


CUDA = Vendor(
    *("cuda", "CUDA", "REFARRAY_LIBCUDA", ("libcuda.so.1",)),
    *(2, 3, 13, 1),
    {
        "count": "cuDeviceGetCount",
        "stream": "cuStreamCreate",
        "destroy": "cuStreamDestroy_v2",
        "wait": "cuStreamSynchronize",
        "event": "cuEventCreate",
        "record": "cuEventRecord",
        "follow": "cuStreamWaitEvent",
        "ready": "cuEventQuery",
        "forget": "cuEventDestroy_v2",
        "memory": "cuMemAlloc_v2",
        "free": "cuMemFree_v2",
        "fill": "cuMemsetD8Async",
        "host": "cuLaunchHostFunc",
        "capture": "cuStreamBeginCapture_v2",
        "captured": "cuStreamEndCapture",
        "graph": "cuGraphDestroy",
        "all": "cuCtxSynchronize",
    },
)
ROCM = Vendor(
    *(
        "rocm",
        "ROCm",
        "REFARRAY_LIBHIP",
        ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"),
    ),
    *(10, 11, 0, 0),
    {
        "count": "hipGetDeviceCount",
        "stream": "hipStreamCreateWithFlags",
        "destroy": "hipStreamDestroy",
        "wait": "hipStreamSynchronize",
        "event": "hipEventCreateWithFlags",
        "record": "hipEventRecord",
        "follow": "hipStreamWaitEvent",
        "ready": "hipEventQuery",
        "forget": "hipEventDestroy",
        "memory": "hipMalloc",
        "free": "hipFree",
        "fill": "hipMemsetAsync",
        "host": "hipLaunchHostFunc",
        "capture": "hipStreamBeginCapture",
        "captured": "hipStreamEndCapture",
        "graph": "hipGraphDestroy",
        "all": "hipDeviceSynchronize",
    },
)
VENDORS = {vendor.name: vendor for vendor in (CUDA, ROCM)}


class Failed(Exception):
    """A call of a driver that returned something else than success."""


def library(vendor: Vendor) -> ctypes.CDLL:
    """The driver. OSError when there is none."""
    for name in filter(None, (os.environ.get(vendor.variable), *vendor.files)):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            why = error
    raise why


class Driver:
    """One vendor's driver. Every method is for the device that is current, and numbers are
    addresses, handles and bytes."""

    def __init__(self, vendor: Vendor) -> None:
        self.vendor = vendor
        self.library = library(vendor)
        self.contexts: dict[int, int] = {}
        if vendor is CUDA:
            self.raw("cuInit", 0)

    def code(self, name: str, *arguments: Any) -> int:
        """What a function of the driver's own name returns. The GIL is free while it runs."""
        plain = [ctypes.c_uint64(a % 2**64) if isinstance(a, int) else a for a in arguments]
        return int(getattr(self.library, name)(*plain))

    def raw(self, name: str, *arguments: Any) -> None:
        """The same. Failed when it does not succeed."""
        if code := self.code(name, *arguments):
            raise Failed(f"{name} returned {code}")

    def call(self, name: str, *arguments: Any) -> None:
        """Calls what is called so in `Vendor.calls`."""
        self.raw(self.vendor.calls[name], *arguments)

    def made(self, name: str, *arguments: Any) -> int:
        """The handle or number that it writes to its first argument."""
        out = ctypes.c_uint64()
        self.call(name, ctypes.byref(out), *arguments)
        return out.value

    def count(self) -> int:
        """How many devices there are."""
        return self.made("count")

    def current(self) -> int | None:
        """The calling thread's current device; None when it has none."""
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
        """A stream that the legacy default stream does not wait for."""
        return self.made("stream", NON_BLOCKING)

    def copy(self, to: int, source: int, size: int, stream: int) -> None:
        """Enqueues a copy between any two places."""
        if self.vendor is ROCM:
            self.raw("hipMemcpyAsync", to, source, size, 4, stream)
        else:
            self.raw("cuMemcpyAsync", to, source, size, stream)

    def after(self, later: int, earlier: int) -> None:
        """Work of one stream from now on follows another's until now."""
        event = self.made("event", NO_TIMING)
        self.call("record", event, earlier)
        self.call("follow", later, event, 0)
        self.call("forget", event)

    def bytes(self, pointer: int, size: int, stream: int) -> bytes:
        """What memory holds, by a copy in a stream, which is waited for."""
        out = ctypes.create_string_buffer(size)
        self.copy(ctypes.addressof(out), pointer, size, stream)
        self.call("wait", stream)
        return out.raw

    def held_up(self, stream: int) -> bool:
        """Whether work that is enqueued now is still not done after LOOK_SECONDS."""
        event = self.made("event", NO_TIMING)
        self.call("record", event, stream)
        end = time.monotonic() + LOOK_SECONDS
        ready = self.vendor.calls["ready"]
        while (code := self.code(ready, event)) == NOT_READY and time.monotonic() < end:
            time.sleep(0.001)
        self.call("forget", event)
        return code == NOT_READY

    @contextmanager
    def gate(self, stream: int, seconds: float = GATE_SECONDS) -> Iterator[Gate]:
        """Stops a stream: what is enqueued in the block waits until its end, or until the gate has
        been shut for so long."""
        shut = Gate(seconds)
        self.call("host", stream, shut.wait, ctypes.addressof(shut.semaphore))
        shut.watch.start()
        try:
            yield shut
        finally:
            shut.open()
            self.call("wait", stream)
            GATES.append(shut)  # the driver's thread may be about to leave it


class Gate:
    """A semaphore that a stream waits for, in a function of the C library: no interpreter."""

    def __init__(self, seconds: float) -> None:
        libc = ctypes.CDLL(None)
        self.semaphore = ctypes.create_string_buffer(64)  # a sem_t takes 32 bytes
        libc.sem_init(self.semaphore, 0, 0)
        self.wait = ctypes.cast(libc.sem_wait, ctypes.c_void_p)
        self.post = libc.sem_post
        self.lock = threading.Lock()
        self.opened = False
        self.watch = threading.Timer(seconds, self.open)
        self.watch.daemon = True

    def open(self) -> None:
        """Lets the stream go on."""
        with self.lock:
            if not self.opened:
                self.opened = True
                self.post(self.semaphore)
        self.watch.cancel()


GATES: list[Gate] = []
"""Those that were opened."""
