"""ledger(): when it is open: blocks, nesting, exceptions, threads, generators and tasks."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import refarray

X: Any = refarray.ones((2, 3))


def test_nothing_counts_outside_of_the_block() -> None:
    ledger = refarray.ledger()
    X.copy()
    with ledger:
        pass
    X.copy()
    assert (ledger.copies, ledger.allocations) == (0, 0)


class Refusing:
    """Refuses by every protocol, by __array__ with the exception that `work` raises."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("refused first")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.work()


def test_what_a_ledger_forbids_is_no_refusal() -> None:
    with refarray.ledger(forbid="copy"):
        with pytest.raises(BufferError, match="refused first"):
            refarray.asarray(Refusing(lambda: 1 / 0))
        with pytest.raises(refarray.LedgerError):
            refarray.asarray(Refusing(X.copy))


def test_a_ledger_can_be_entered_again_and_counts_on() -> None:
    ledger = refarray.ledger()
    for _ in range(3):
        with ledger:
            X.copy()
    assert ledger.copies == 3


def test_an_open_ledger_cannot_be_entered() -> None:
    ledger = refarray.ledger()
    with ledger:
        with pytest.raises(RuntimeError, match="open already"):
            ledger.__enter__()
        X.copy()
    assert ledger.copies == 1
    ledger.__exit__(None, None, None)  # nothing to close


def test_ledgers_nest() -> None:
    with refarray.ledger() as outer:
        X.copy()
        with refarray.ledger() as inner:
            X.copy()
        X.copy()
    assert (outer.copies, inner.copies) == (3, 1)


def test_the_outer_ledger_forbids_in_the_inner_one() -> None:
    with refarray.ledger(forbid="copy") as outer, refarray.ledger() as inner:
        with pytest.raises(refarray.LedgerError):
            X.copy()
        X + X
    assert (outer.refused, inner.refused, inner.copies) == (1, 0, 0)
    assert outer.allocations == inner.allocations == 1


def test_ledgers_may_end_in_any_order() -> None:
    first, second = refarray.ledger(), refarray.ledger()
    first.__enter__()
    second.__enter__()
    X.copy()
    first.__exit__(None, None, None)
    X.copy()
    second.__exit__(None, None, None)
    X.copy()
    assert (first.copies, second.copies) == (1, 2)


def test_an_exception_closes_the_ledger() -> None:
    with pytest.raises(KeyError), refarray.ledger(forbid="copy") as ledger:
        raise KeyError("a")
    X.copy()
    assert (ledger.copies, ledger.refused) == (0, 0)


def in_thread(body: Callable[[], Any]) -> Any:
    """The body's result in a thread of its own."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(body).result()


def test_only_the_own_thread_counts() -> None:
    def other() -> int:
        X.copy()  # not forbidden here
        with refarray.ledger() as ledger:
            X.copy()
        return ledger.copies

    with refarray.ledger(forbid="copy") as ledger:
        assert in_thread(other) == 1
    assert (ledger.copies, ledger.refused) == (0, 0)


def test_another_thread_may_close_and_read_it() -> None:
    ledger = refarray.ledger(forbid="copy")
    ledger.__enter__()
    X + X
    seen = in_thread(lambda: (ledger.allocations, ledger.__exit__(None, None, None)))
    X.copy()  # allowed again
    assert (seen, ledger.allocations, ledger.copies) == ((1, None), 1, 0)


def test_the_end_of_a_thread_closes_its_ledger() -> None:
    ledger = refarray.ledger(forbid="copy")
    thread = threading.Thread(target=ledger.__enter__)
    thread.start()
    thread.join()  # returns a little before the thread has ended
    deadline = time.monotonic() + 60
    while True:
        try:
            ledger.__enter__()
            break
        except RuntimeError:
            assert time.monotonic() < deadline
            time.sleep(0.001)
    ledger.__exit__(None, None, None)
    assert ledger.copies == 0


def test_a_dropped_ledger_is_closed() -> None:
    refarray.ledger(forbid="copy").__enter__()
    gc.collect()
    X.copy()


def test_a_suspended_generator_keeps_counting() -> None:
    def counting() -> Iterator[Any]:
        with refarray.ledger() as ledger:
            yield ledger

    generator = counting()
    ledger = next(generator)
    X.copy()
    generator.close()
    X.copy()
    assert ledger.copies == 1


def test_tasks_of_the_thread_count_while_the_block_waits() -> None:
    async def other() -> None:
        X.copy()

    async def main() -> int:
        with refarray.ledger() as ledger:
            await asyncio.create_task(other())
        return ledger.copies

    assert asyncio.run(main()) == 1


def test_many_threads_count_for_themselves() -> None:
    def work(_: int) -> set[int]:
        counts = set()
        for _ in range(50):
            with refarray.ledger() as ledger:
                for _ in range(20):
                    X.copy()
            counts.add(ledger.copies)
        return counts

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(4))) == [{20}] * 4
