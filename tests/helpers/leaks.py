"""Owns counting the memory blocks that a repeated piece of work leaves behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable


def blocks_left(work: Callable[[], object], repeats: int = 50, rounds: int = 5) -> int:
    """Blocks that `repeats` runs leave behind at least: the least of some rounds, because caches of
    the interpreter fill at times of their own. A leak of one block a run is `repeats` or more."""
    left = []
    work()
    for _ in range(rounds):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(repeats):
            work()
        gc.collect()
        left.append(sys.getallocatedblocks() - before)
    return min(left)
