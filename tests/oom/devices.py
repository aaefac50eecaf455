"""Out-of-memory recipes for streams and events without a driver.

tests/devices/driver/sweep_faults.py fails every call of a simulated driver."""

from __future__ import annotations

import refarray
from refarray import _native

from .recipe import recipe, refused

REFUSED = (ValueError,)  # the CPU has no streams

refused(
    "Array.__cuda_array_interface__", AttributeError, lambda x: x.__cuda_array_interface__, label=""
)
recipe("DriverError", lambda _: refarray.DriverError(2, "OUT_OF_MEMORY", "allocating"))
recipe("Stream", lambda _: refarray.Stream("cpu"), raises=REFUSED)
recipe("Stream.__new__", lambda _: refarray.Stream.__new__(refarray.Stream, "cpu"), raises=REFUSED)
recipe("Event", lambda _: refarray.Event("cpu"), raises=REFUSED)
recipe("Event.__new__", lambda _: refarray.Event.__new__(refarray.Event, "cpu"), raises=REFUSED)
recipe("current_stream", lambda _: refarray.current_stream("cpu"), raises=REFUSED, python=True)
recipe("synchronize", lambda _: refarray.synchronize("cpu"), raises=REFUSED, python=True)
recipe("empty_cache", lambda _: refarray.empty_cache("cpu"), raises=REFUSED, python=True)
refused("use_stream", TypeError, lambda _: refarray.use_stream(None), label="", python=True)
recipe("_native._current_stream", lambda _: _native._current_stream("cpu"), raises=REFUSED)
recipe("_native._synchronize", lambda _: _native._synchronize("cpu"), raises=REFUSED)
recipe("_native._empty_cache", lambda _: _native._empty_cache("cpu"), raises=REFUSED)
refused("_native._open_event", BufferError, lambda _: _native._open_event(b""))
recipe("_native._stream_types", lambda _: _native._stream_types())
recipe("_native._finish_foreign", lambda _: _native._finish_foreign())

#: Functions and members that need a stream or an event, which only exist with a driver.
NEEDS_DRIVER = {
    *(f"Event.{name}" for name in ("done", "elapsed_ms", "record", "synchronize")),
    "Event.shared_handle",
    *(f"Stream.__{name}__" for name in ("cuda_stream", "eq", "ge", "gt", "hash", "le", "lt", "ne")),
    *(f"Stream.{name}" for name in ("__repr__", "device", "done", "handle", "record")),
    *("Stream.synchronize", "Stream.wait"),
    *(f"use_stream.__{name}__" for name in ("enter", "exit", "init")),
    *("_native._reset_current_stream", "_native._set_current_stream"),
}
