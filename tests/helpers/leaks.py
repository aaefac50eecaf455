"""Counts the interpreter's memory blocks that repeated work leaves behind."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def quick_collections() -> Iterator[None]:
    """Inside, gc.collect() looks only at objects that are made inside. A test process with PyTorch
    and JAX has a million others, and a collection of all takes a second under ASAN."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def blocks_left(work: Callable[[], object], repeats: int = 50, rounds: int = 5) -> int:
    """Blocks that `repeats` calls leave behind: the minimum of some rounds, because the interpreter
    fills caches at unpredictable times. A leak of one block per call gives at least `repeats`."""
    left = []
    work()
    with quick_collections():
        for _ in range(rounds):
            gc.collect()
            before = sys.getallocatedblocks()
            for _ in range(repeats):
                work()
            gc.collect()
            left.append(sys.getallocatedblocks() - before)
    return min(left)
