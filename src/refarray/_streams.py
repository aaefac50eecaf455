"""The current stream of the calling thread, and waiting for devices."""

from __future__ import annotations

from refarray import _native
from refarray._native import Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from refarray._native import Event, Stream
else:  # the native module creates these types on first use
    Stream, Event = _native._stream_types()

__all__ = ["Event", "Stream", "current_stream", "empty_cache", "synchronize", "use_stream"]


def current_stream(device: Device | str) -> Stream:
    """Return the calling thread's current stream on a device.

    The default is the legacy default stream; `use_stream` selects another. Raises BufferError if
    the device cannot be used, and ValueError for a kind of memory that has no streams.
    """
    return _native._current_stream(device)


class use_stream:
    """Context manager that makes a stream current: `with use_stream(stream): ...`.

    The stream becomes current for its own device and for the calling thread only. An object can be
    entered several times, also nested.
    """

    def __init__(self, stream: Stream) -> None:
        """Store the stream; __enter__ makes it current."""
        if not isinstance(stream, Stream):
            raise TypeError(f"stream must be a refarray.Stream, not {type(stream).__name__}")
        self._stream = stream
        self._before: list[Stream | None] = []

    def __enter__(self) -> Stream:
        """Make the stream current, and return it."""
        self._before.append(_native._set_current_stream(self._stream))
        return self._stream

    def __exit__(self, *_: object) -> None:
        """Restore the previous current stream."""
        _native._reset_current_stream(self._stream.device, self._before.pop())


def synchronize(device: Device | str) -> None:
    """Wait for all work on a device: of all streams and all libraries in this process.

    Also releases the memory that was waiting for that work. Raises BufferError if the device cannot
    be used, or while one of refarray's streams on it captures a graph.
    """
    _native._synchronize(device)


def empty_cache(device: Device | str) -> None:
    """Return the unused memory that refarray keeps on a device to the driver.

    CUDA memory comes from a pool, which keeps what arrays have freed; other libraries in the
    process cannot use that. Does not wait: memory whose last use is unfinished stays, so call
    `synchronize` first. Without a pool (ROCm) there is nothing to return. Raises BufferError if the
    device cannot be used, and ValueError for a kind of memory that has no streams.
    """
    _native._empty_cache(device)
