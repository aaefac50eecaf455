"""Threads and instruction sets, which results do not depend on; work on many threads at once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import refarray
from refarray import _native

#: The levels of this machine, the best one first; the last one is plain.
ISAS = refarray.build_info()["isas"].split(", ")


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    before = refarray.get_copy_threads()
    refarray.set_copy_threads(count)
    try:
        yield
    finally:
        refarray.set_copy_threads(before)


@contextlib.contextmanager
def instruction_set(name: str) -> Iterator[None]:
    before = refarray.build_info()["isa"]
    _native._use_isa(name)
    try:
        yield
    finally:
        _native._use_isa(before)


def assert_instruction_sets_agree(results: Callable[[], list[Any]]) -> None:
    """All give the same list, of bytes or of what else `==` compares to the last bit."""
    found = {}
    for level in ISAS:
        with instruction_set(level):
            found[level] = results()
    for level in ISAS[1:]:
        pairs = zip(found[level], found[ISAS[0]], strict=True)
        wrong = [i for i, (one, other) in enumerate(pairs) if one != other]
        assert not wrong, f"{level} and {ISAS[0]} differ in the results {wrong}"


def run_together(work: Callable[[int], object], count: int = 8) -> None:
    """Calls work(0), work(1), ... on threads that start at once."""
    start = threading.Barrier(count)

    def wait_and_work(number: int) -> None:
        start.wait()
        work(number)

    workers = [threading.Thread(target=wait_and_work, args=(i,)) for i in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
