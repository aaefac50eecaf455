"""Counts the interpreter's memory blocks that repeated work leaves behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable


def blocks_left(work: Callable[[], object], repeats: int = 50, rounds: int = 5) -> int:
    """Blocks that `repeats` calls leave behind: the minimum of some rounds, because the interpreter
    fills caches at unpredictable times. A leak of one block per call gives at least `repeats`."""
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
