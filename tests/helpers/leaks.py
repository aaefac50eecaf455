"""Counts the memory that repeated work leaves behind: of the interpreter and on the C heap."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable


def blocks_left(work: Callable[[], object], repeats: int = 50, rounds: int = 20) -> int:
    """Blocks that `repeats` calls leave behind, in the first round with less than one for two
    calls. A leak of one block per call gives at least `repeats` in every round; caches of NumPy and
    the interpreter fill up, on a free-threaded one in about ten rounds."""
    left = repeats
    work()
    while rounds > 0 and 2 * left >= repeats:
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(repeats):
            work()
        gc.collect()
        left = min(left, sys.getallocatedblocks() - before)
        rounds -= 1
    return left


def heap_in_use() -> int:
    """Allocated bytes of the C heap, where exports and storages live."""
    import ctypes  # not every interpreter can load it

    class HeapInfo(ctypes.Structure):
        """struct mallinfo2 of glibc."""

        _fields_ = [(name, ctypes.c_size_t) for name in "abcdefghij"]

    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = HeapInfo
    return int(mallinfo2().h)


def heap_growth(work: Callable[[], object], repeats: int = 50, rounds: int = 3) -> int:
    """Bytes that each run of `work` leaves on the C heap; the least of some rounds, because other
    threads of the test runner allocate too."""
    growth = []
    work()
    for _ in range(rounds):
        gc.collect()
        before = heap_in_use()
        for _ in range(repeats):
            work()
        gc.collect()
        growth.append(heap_in_use() - before)
    return min(growth) // repeats
