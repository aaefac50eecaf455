"""relay: moves bytes through a GPU on two streams, with the CUDA driver opened by its name.

`send` copies to the device on one stream and back on another. It forgets to let the second wait for
the first, so that it may read the device's memory before the bytes are there: a bug that shows only
on a busy device. `send_in_order` waits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

Number = ctypes.c_uint64


class Relay:
    """Two streams and a buffer of device 0."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.driver = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", ctypes.c_uint(0))
        self._context = self._new("cuDevicePrimaryCtxRetain", ctypes.c_int(0))
        with self._current():
            self._buffer = self._new("cuMemAlloc_v2", Number(size))
            self._upload = self._new("cuStreamCreate", ctypes.c_uint(1))
            self._download = self._new("cuStreamCreate", ctypes.c_uint(1))
            self._event = self._new("cuEventCreate", ctypes.c_uint(2))

    def send(self, data: bytes) -> bytes:
        """The bytes after a way through the device. Wrong: nothing orders the two copies."""
        return self._send(data, wait=False)

    def send_in_order(self, data: bytes) -> bytes:
        """The bytes after a way through the device."""
        return self._send(data, wait=True)

    def close(self) -> None:
        """Free the buffer and the streams."""
        with self._current():
            self._call("cuStreamSynchronize", self._download)
            self._call("cuMemFree_v2", self._buffer)
            self._call("cuStreamDestroy_v2", self._upload)
            self._call("cuStreamDestroy_v2", self._download)
            self._call("cuEventDestroy_v2", self._event)

    def _send(self, data: bytes, *, wait: bool) -> bytes:
        if len(data) != self.size:
            raise ValueError(f"data has {len(data)} bytes; the buffer has {self.size}")
        out = ctypes.create_string_buffer(self.size)
        with self._current():
            count = Number(self.size)
            self._call("cuMemcpyHtoDAsync_v2", self._buffer, data, count, self._upload)
            if wait:
                self._call("cuEventRecord", self._event, self._upload)
                self._call("cuStreamWaitEvent", self._download, self._event, ctypes.c_uint(0))
            self._call("cuMemcpyDtoHAsync_v2", out, self._buffer, count, self._download)
            self._call("cuStreamSynchronize", self._download)
            self._call("cuStreamSynchronize", self._upload)
        return out.raw

    @contextmanager
    def _current(self) -> Iterator[None]:
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(Number()))

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self.driver, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} returned {status}")

    def _new(self, name: str, *arguments: object) -> ctypes.c_uint64:
        out = Number()
        self._call(name, ctypes.byref(out), *arguments)
        return out
