"""How files are opened, read and mapped on this system."""

from __future__ import annotations

import mmap
import os
import sys
from typing import Any

#: Arguments of mmap.mmap() in each mode. Private where nothing is written back: systems before
#: Linux 6.7 map a sealed copy in no other way.
MODES: dict[str, dict[str, Any]]

if sys.platform == "win32":
    #: The bytes as they are; programs that are started do not get the descriptor.
    FLAGS = os.O_BINARY | os.O_NOINHERIT
    MODES = {
        "r": {"access": mmap.ACCESS_READ},
        "r+": {"access": mmap.ACCESS_WRITE},
        "c": {"access": mmap.ACCESS_COPY},
    }

    def read_at(descriptor: int, count: int, offset: int) -> bytes:
        """Read at most `count` bytes at an offset; moves the position in the file."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, count)

else:
    #: Without waiting for the other end of a pipe.
    FLAGS = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    MODES = {
        "r": {"flags": mmap.MAP_PRIVATE, "prot": mmap.PROT_READ},
        "r+": {"flags": mmap.MAP_SHARED, "prot": mmap.PROT_READ | mmap.PROT_WRITE},
        "c": {"flags": mmap.MAP_PRIVATE, "prot": mmap.PROT_READ | mmap.PROT_WRITE},
    }
    if sys.version_info >= (3, 13):  # before, a mapping keeps a descriptor open, for no use here
        MODES = {mode: {**options, "trackfd": False} for mode, options in MODES.items()}

    read_at = os.pread
