"""Owns streams as Python code uses them: which one the calling thread works on, and waiting."""

from __future__ import annotations

from types import TracebackType

from refarray import _native
from refarray._native import Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from refarray._native import Event, Stream
else:  # the native module makes them when they are first asked for
    Stream, Event = _native._stream_types()

__all__ = ["Event", "Stream", "current_stream", "synchronize", "use_stream"]


def current_stream(device: Device | str) -> Stream:
    """The stream on which the calling thread works on that device.

    The legacy default stream unless `use_stream` chose another. Raises BufferError when the device
    cannot be used, ValueError for memory without streams.
    """
    return _native._current_stream(device)


class use_stream:
    """Let the calling thread work on a stream: `with use_stream(stream): ...`.

    For the stream's device only, and for this thread only; the same object may be entered again.
    """

    def __init__(self, stream: Stream) -> None:
        """Nothing is chosen yet."""
        if not isinstance(stream, Stream):
            raise TypeError(f"stream must be a refarray.Stream, not {type(stream).__name__}")
        self._stream = stream
        self._before: list[Stream | None] = []

    def __enter__(self) -> Stream:
        """Choose the stream; it is what `as` gets."""
        self._before.append(_native._set_current_stream(self._stream))
        return self._stream

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Choose what was chosen before."""
        _native._reset_current_stream(self._stream.device, self._before.pop())


def synchronize(device: Device | str) -> None:
    """Wait for all work on the device, of every stream and every library in this process.

    Memory that waited for it is given back. Raises BufferError when the device cannot be used.
    """
    _native._synchronize(device)
