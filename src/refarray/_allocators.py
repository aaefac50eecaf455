"""use_allocator(): memory of other libraries for the elements of new arrays."""

from __future__ import annotations

from refarray import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import CapsuleType

__all__ = ["use_allocator"]


class use_allocator:
    """Context manager for the memory of new arrays: `with use_allocator(allocator): ...`.

    Arrays that the calling thread makes on the CPU in the block get their memory from it. An object
    can be entered several times, also nested.
    """

    def __init__(self, allocator: CapsuleType | None) -> None:
        """Store a capsule of the C table's make_allocator(), or None for refarray's own memory."""
        self._allocator = allocator
        self._before: list[CapsuleType | None] = []

    def __enter__(self) -> None:
        """Let the thread's new arrays use the allocator; TypeError for another object."""
        self._before.append(_native._use_allocator(self._allocator))

    def __exit__(self, *_: object) -> None:
        """Let them use the one before again."""
        _native._use_allocator(self._before.pop())
