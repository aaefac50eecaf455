"""A regular file, or a sealed copy of one in memory, and arrays over its mapping."""

from __future__ import annotations

import mmap
import os
import stat
from typing import TYPE_CHECKING, Any

from refarray import _native
from refarray._files.system import FLAGS, MODES, read_at
from refarray._native import Array, DType

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def require_regular(name: str, mode: int) -> None:
    """Raise IsADirectoryError for a directory, and ValueError for all but regular files."""
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(21, os.strerror(21), name)
    if kind != stat.S_IFREG:
        raise ValueError(
            f"{name} is {KINDS.get(kind, 'a special file')}; it must be a regular file"
        )


class MappedFile:
    """An open file. Its arrays keep the memory after it is closed."""

    def __init__(self, path: Any, mode: str, sealed: bool = False) -> None:
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}; it must be 'r', 'r+' or 'c'")
        if sealed and mode == "r+":
            raise ValueError("mode='r+' writes to the file, and sealed=True copies it; choose one")
        self.name = os.fsdecode(path)
        self.mode = mode
        access = os.O_RDWR if mode == "r+" else os.O_RDONLY
        self._fd = os.open(self.name, access | FLAGS)
        try:
            status = os.fstat(self._fd)
            require_regular(self.name, status.st_mode)
            self.size = status.st_size
            if sealed:
                self._seal()
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> MappedFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def _seal(self) -> None:
        """Go on with a copy in memory, which nobody can change or shorten."""
        if not hasattr(os, "memfd_create"):
            raise BufferError("sealed=True needs Linux: files in memory that can be sealed")
        import fcntl

        _native._note_copy(self.size)
        copy = os.memfd_create("refarray", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            at = 0
            while count := os.sendfile(copy, self._fd, at, self.size - at):
                at += count
            if at != self.size:
                raise ValueError(f"{self.name} became shorter: {at} bytes, {self.size} before")
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
            fcntl.fcntl(copy, fcntl.F_ADD_SEALS, seals)
        except BaseException:
            os.close(copy)
            raise
        os.close(self._fd)
        self._fd = copy

    def read(self, offset: int, count: int) -> bytes:
        """Return `count` bytes, or fewer at the end of the file."""
        parts = []
        while count > 0 and (part := read_at(self._fd, count, offset)):
            parts.append(part)
            offset, count = offset + len(part), count - len(part)
        return b"".join(parts)

    def map(self, low: int, high: int) -> tuple[Any, int]:
        """Map bytes [low, high), which the file has; return the mapping and where it begins."""
        if low == high:  # the system maps no empty range
            return (b"" if self.mode == "r" else bytearray()), low
        start = low - low % mmap.ALLOCATIONGRANULARITY
        return mmap.mmap(self._fd, high - start, offset=start, **MODES[self.mode]), start


def over(
    mapping: tuple[Any, int],
    dtype: DType,
    shape: Sequence[int],
    strides: Sequence[int] | None,
    offset: int,
) -> Array:
    """Return an array over a mapping; offset: of its first element, in bytes of the file."""
    buffer, start = mapping
    return _native._over_buffer(buffer, dtype, shape, strides, offset - start)
