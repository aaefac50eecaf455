"""Arrays shared between processes: one handle, no copy.

An arena is memory that a family of processes shares. Arrays in it are ordinary arrays on the CPU.
On CUDA and ROCm each shared array has an allocation of its own that other processes can map.
`multiprocessing` sends their handles instead of their elements: queues, pipes, pools, managers and
arguments of processes, with every start method. Importing this module sets that up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, SupportsIndex

from refarray import _native
from refarray._native import Array
from refarray._native import asarray as _as_array

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

    from refarray._native import Device, Event, _DTypeLike

if not hasattr(_native, "_shared_new"):
    raise ImportError("refarray.shared needs Linux: sealed files in memory and locks of them")

__all__ = [
    "Arena",
    "Handle",
    "Limits",
    "Usage",
    "arena_of",
    "asarray",
    "attach",
    "collect",
    "empty",
    "limits",
    "open_event",
    "use",
    "zeros",
]


class Usage(NamedTuple):
    """What an arena holds: the result of `Arena.usage()`. Sizes are in bytes.

    limit: of the elements. file: what they have ever taken at a time. free: kept by this process
    for its next arrays. held: blocks of memory that this process uses. sent: handles that it has
    sent and nobody has attached yet. dropped: blocks of this process that only others use.
    processes: that have the arena open.
    """

    limit: int
    file: int
    free: int
    held: int
    sent: int
    dropped: int
    processes: int


class Limits(NamedTuple):
    """How many handles wait for their receivers: the result of `limits()`."""

    transit: int
    orphans: int


class Arena:
    """Memory that processes share, for any number of arrays.

    peers: "write" lets every process that has the arena open allocate in it and write elements.
        With "read" only the process that makes it, and those that it forks, do; for all others the
        kernel makes the memory read-only.
    limit: bytes of all elements together; None is the memory of the machine.

    Processes that share an arena trust each other: one can spoil the elements of all. It costs two
    descriptors. It is closed when no array and no handle on its way is in it and this object is
    deleted.

    Raises ValueError for a limit, and BufferError where the system has no such memory.
    """

    __slots__ = {"__weakref__": "weak references", "_native": "the arena of the extension module"}

    def __init__(
        self, *, peers: Literal["write", "read"] = "write", limit: int | None = None
    ) -> None:
        """Make a new arena."""
        if peers not in ("write", "read"):
            raise ValueError(f"peers is {peers!r}; it must be 'write' or 'read'")
        if limit is not None and limit < 1:
            raise ValueError(f"limit is {limit}; it must be 1 or more bytes")
        self._native = _native._shared_new(peers == "write", limit or 0)

    @property
    def id(self) -> bytes:
        """16 bytes that are the same in all processes which have the arena open."""
        return _native._shared_usage(self._native)[7]

    @property
    def writable(self) -> bool:
        """Whether this process may allocate in it and write elements."""
        return _native._shared_usage(self._native)[8]

    def usage(self) -> Usage:
        """Return how much memory, how many handles and processes there are."""
        return Usage(*_native._shared_usage(self._native)[:7])

    def __repr__(self) -> str:
        usage = self.usage()
        return (
            f"<refarray.shared.Arena {self.id.hex()[:8]}: {usage.file} of {usage.limit} bytes, "
            f"{usage.processes} processes>"
        )

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Arena) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> NoReturn:
        """Refuse: pickles may be kept, and an arena is not."""
        raise TypeError("an arena goes to other processes by multiprocessing only, not by pickle")


class Handle:
    """An array on its way to another process: the result of `x.shared_handle()`.

    It keeps the array. `multiprocessing` can send it, any number of times. By hand, `to_bytes()`
    makes a message for one receiver, who passes it to `attach()`.
    """

    __slots__ = {"__weakref__": "weak references", "_array": "the array"}

    def __init__(self, x: Array) -> None:
        """Store an array whose memory is shared."""
        if not x.is_shared():
            raise BufferError(
                f"the array on {x.device} is in no shared memory; shared.asarray(x) copies it there"
            )
        self._array = x

    def to_bytes(self) -> bytes:
        """Return a message for one receiver.

        From here on the memory is held until the message is attached, or given up because too many
        wait (see `limits`). Only processes of this machine can use it. Of an array on a device,
        the host waits for refarray's work on it, other libraries' is theirs to wait for, and the
        descriptor of `fds()` holds the memory until then: the receiver needs both.

        Raises BufferError during a graph capture that forbids the wait, DriverError.
        """
        return _native._shared_send(self._array)

    def fds(self) -> tuple[int, ...]:
        """Return new descriptors for a receiver: two of the arena, or the one of device memory.

        Those of an arena are for one that cannot open it by itself: of another user or in another
        pid namespace, or one that gets the message after this process has ended. That of device
        memory is needed always. Send them over a Unix socket, then close them.
        """
        if (descriptor := _native._shared_descriptor(self._array)) >= 0:
            return (os.dup(descriptor),)
        return _native._shared_descriptors(_native._shared_arena_of(self._array))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"<refarray.shared.Handle of {self._array.dtype} {self._array.shape}>"

    def __reduce__(self) -> NoReturn:
        """Refuse: pickles may be kept, and used twice."""
        raise TypeError(
            "a handle goes to other processes by multiprocessing only, not by pickle; to_bytes() "
            "makes a message for one receiver"
        )


_default: Arena | None = None


def use(arena: Arena | None) -> None:
    """Set the arena of this process, in which `empty`, `zeros` and `asarray` allocate.

    Without it that is the first arena that a handle or a parent process brought, or else a new one.
    Pass it as the initializer of pools, so that what workers make outlives them:
    `Pool(initializer=use, initargs=(arena,))`.
    """
    global _default
    if arena is not None and not isinstance(arena, Arena):
        raise TypeError(
            f"arena must be a refarray.shared.Arena or None, not {type(arena).__name__}"
        )
    _default = arena


def _arena(arena: Arena | None) -> CapsuleType:
    global _default
    _register_with_loky()
    if arena is None:
        if _default is None:
            _default = Arena()
        arena = _default
    return arena._native


def _place(arena: Arena | None, device: Device | str | None) -> CapsuleType | Device | str:
    """Where a new array is to be: an arena's capsule, or a device."""
    if device is None or str(device) == "cpu":
        return _arena(arena)
    if arena is not None:
        raise ValueError(f"arena and device {str(device)!r}: an arena is memory of the CPU")
    return device


def empty(
    shape: SupportsIndex | Sequence[SupportsIndex],
    dtype: _DTypeLike | None = None,
    *,
    device: Device | str | None = None,
    arena: Arena | None = None,
) -> Array:
    """Return a new row-major array with uninitialized elements in shared memory.

    dtype: None is float64. device: None is the CPU; a CUDA or ROCm device such as "cuda:0" is for
    an allocation of its own, of whole units of the driver (2 MiB). arena: None is the arena of this
    process, see `use`; for the CPU only.

    Raises MemoryError at the limit of the arena or of the machine, and BufferError in an arena of
    another process with peers="read" and on a device without such memory. The other errors are
    those of refarray.empty().
    """
    return _native._shared_empty(_place(arena, device), shape, dtype, False)


def zeros(
    shape: SupportsIndex | Sequence[SupportsIndex],
    dtype: _DTypeLike | None = None,
    *,
    device: Device | str | None = None,
    arena: Arena | None = None,
) -> Array:
    """Return a new row-major array of zeros in shared memory.

    Parameters and errors are those of empty(). Raises ValueError also for float8_e8m0fnu, which
    cannot represent zero.
    """
    return _native._shared_empty(_place(arena, device), shape, dtype, True)


def asarray(x: Any, *, arena: Arena | None = None, readonly: bool = False) -> Array:
    """Return an array in shared memory: x itself if it is shared already, else a copy.

    x: whatever refarray.asarray() takes. What another library made of a shared array, such as a
        tensor of PyTorch, is shared too. arena: None is the arena of this process; an array on a
        CUDA or ROCm device stays there then. readonly: the result is a read-only view.

    Errors are those of refarray.asarray() and empty().
    """
    given = _as_array(x)
    out = given if given.is_shared() else _native._shared_find(given)
    if out is None or (arena is not None and arena_of(out) != arena):
        on_device = arena is None and given.device.kind in ("cuda", "rocm")
        place = given.device if on_device else _arena(arena)
        out = _native._shared_empty(place, given.shape, given.dtype, False)
        out[...] = given if on_device or str(given.device) == "cpu" else given.to_device("cpu")
    return out.as_readonly() if readonly else out


def arena_of(x: Array) -> Arena | None:
    """Return the arena of an array, or None."""
    return _wrapped(_native._shared_arena_of(x))


def attach(
    handle: Handle | bytes, *, readonly: bool = False, fds: Sequence[int] | None = None
) -> Array:
    """Return the array of a handle or of a message, in the memory of its sender.

    readonly: the result is a read-only view. fds: the descriptors of the message, see
        `Handle.fds`; they stay the caller's.

    Raises BufferError for a message that is not one, with field, value and limit, if the memory was
    released meanwhile, and if the sender's arena cannot be opened.
    """
    if isinstance(handle, Handle):
        out = _native._shared_attach(handle.to_bytes())
    else:
        out = _native._shared_attach(handle, *(fds or ()))
        _adopt(out)
    return out.as_readonly() if readonly else out


def open_event(handle: bytes) -> Event:
    """Return another process's event, of the bytes of its `Event.shared_handle()`.

    Work queued after `stream.wait(event)` comes after what any of the processes recorded last. The
    process that made the event must not end while it is used.

    Raises BufferError for bytes that are not of an event or of a device that this process does not
    have, and DriverError: drivers refuse an event of the same process.
    """
    return _native._open_event(handle)


def collect() -> int:
    """Free what no process uses any more, in all arenas; return the bytes that the system got.

    Sweeps up after processes that have ended. Allocations do so too when they find no free memory.
    """
    return _native._shared_collect()


def limits(*, transit: int | None = None, orphans: int | None = None) -> Limits:
    """Set how many handles may wait for their receivers, and return these numbers.

    transit: handles that this process has sent, in each arena. orphans: handles whose senders have
        ended, in each arena that this process sweeps. Of more, the oldest are given up: attaching
        them raises BufferError. None leaves a limit as it is.
    """
    return Limits(*_native._shared_limits(*(-1 if n is None else n for n in (transit, orphans))))


# --- multiprocessing


def _wrapped(native: CapsuleType | None) -> Arena | None:
    if native is None:
        return None
    out = Arena.__new__(Arena)
    out._native = native
    return out


def _adopt(x: Array) -> None:
    """Let the first arena that arrives be that of this process."""
    if _default is None:
        arena = arena_of(x)
        if arena is not None and arena.writable:
            use(arena)


def _receive(message: bytes) -> Array:
    return attach(message)


def _receive_on_device(message: bytes, descriptor: Any) -> Array:
    fd = descriptor.detach()
    try:
        return attach(message, fds=(fd,))
    finally:
        os.close(fd)


def _receive_handle(receive: Callable[..., Array], arguments: tuple[Any, ...]) -> Handle:
    return Handle(receive(*arguments))


def _receive_arena(source: bytes) -> Arena | None:
    arena = _wrapped(_native._shared_open(source, -1, -1))
    if _default is None and arena is not None and arena.writable:
        use(arena)
    return arena


def _reduce_array(x: Array) -> Any:
    if (descriptor := _native._shared_descriptor(x)) >= 0:
        return _receive_on_device, (_native._shared_send(x), reduction.DupFd(descriptor))
    if x.is_shared():
        return _receive, (_native._shared_send(x),)
    return x.__reduce_ex__(4)  # without out-of-band buffers


def _reduce_handle(handle: Handle) -> Any:
    return _receive_handle, _reduce_array(handle._array)


def _reduce_arena(arena: Arena) -> Any:
    return _receive_arena, (_native._shared_source(arena._native),)


def _reduce_event(event: Event) -> Any:
    return open_event, (event.shared_handle(),)


def _register(register: Callable[[type, Callable[[Any], Any]], object]) -> None:
    register(Array, _reduce_array)
    register(Handle, _reduce_handle)
    register(Arena, _reduce_arena)
    register(_native._stream_types()[1], _reduce_event)


def _register_with_loky() -> None:
    """Let loky, which joblib has too, send handles if it was imported since the last call."""
    for name in _loky & sys.modules.keys():
        _register(import_module(f"{name}.reduction").register)
        _loky.discard(name)


_loky = {"loky.backend", "joblib.externals.loky.backend"}  # not registered with
_register(reduction.ForkingPickler.register)
_register_with_loky()
