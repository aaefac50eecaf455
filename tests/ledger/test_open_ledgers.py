"""ledger(): when it is open: blocks, nesting, exceptions, threads, generators and tasks."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import refarray


def six() -> Any:
    return refarray.reshape(refarray.arange(6, dtype=refarray.float64), (2, 3))


def test_nothing_counts_outside_of_the_block() -> None:
    x = six()
    ledger = refarray.ledger()
    x.copy()
    with ledger:
        pass
    x.copy()
    assert (ledger.copies, ledger.allocations) == (0, 0)


def test_a_ledger_can_be_entered_again_and_counts_on() -> None:
    x = six()
    ledger = refarray.ledger()
    for _ in range(3):
        with ledger:
            x.copy()
    assert ledger.copies == 3


def test_an_open_ledger_cannot_be_entered() -> None:
    ledger = refarray.ledger()
    with ledger:
        with pytest.raises(RuntimeError, match="open already"):
            ledger.__enter__()
        six().copy()
    assert ledger.copies == 1
    ledger.__exit__(None, None, None)  # nothing to close


def test_ledgers_nest() -> None:
    x = six()
    with refarray.ledger() as outer:
        x.copy()
        with refarray.ledger() as inner:
            x.copy()
        x.copy()
    assert (outer.copies, inner.copies) == (3, 1)


def test_the_outer_ledger_forbids_in_the_inner_one() -> None:
    x = six()
    with refarray.ledger(forbid="copy") as outer, refarray.ledger() as inner:
        with pytest.raises(refarray.LedgerError):
            x.copy()
        x + x
    assert (outer.refused, inner.refused, inner.copies) == (1, 0, 0)
    assert outer.allocations == inner.allocations == 1


def test_ledgers_may_end_in_any_order() -> None:
    x = six()
    first, second = refarray.ledger(), refarray.ledger()
    first.__enter__()
    second.__enter__()
    x.copy()
    first.__exit__(None, None, None)
    x.copy()
    second.__exit__(None, None, None)
    x.copy()
    assert (first.copies, second.copies) == (1, 2)


def test_an_exception_closes_the_ledger() -> None:
    x = six()
    with pytest.raises(KeyError), refarray.ledger(forbid="copy") as ledger:
        raise KeyError("a")
    x.copy()
    assert (ledger.copies, ledger.refused) == (0, 0)


def test_only_the_own_thread_counts() -> None:
    x = six()
    done: list[Any] = []

    def other() -> None:
        x.copy()  # not forbidden here
        with refarray.ledger() as ledger:
            x.copy()
        done.append(ledger.copies)

    with refarray.ledger(forbid="copy") as ledger:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert (done, ledger.copies, ledger.refused) == ([1], 0, 0)


def test_another_thread_may_close_and_read_it() -> None:
    x = six()
    ledger = refarray.ledger(forbid="copy")
    ledger.__enter__()
    seen: list[Any] = []

    def close() -> None:
        seen.append(ledger.allocations)
        ledger.__exit__(None, None, None)

    x + x
    thread = threading.Thread(target=close)
    thread.start()
    thread.join()
    x.copy()  # allowed again
    assert (seen, ledger.allocations, ledger.copies) == ([1], 1, 0)


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
    x = six()
    refarray.ledger(forbid="copy").__enter__()
    gc.collect()
    x.copy()


def test_a_suspended_generator_keeps_counting() -> None:
    x = six()

    def counting() -> Iterator[Any]:
        with refarray.ledger() as ledger:
            yield ledger

    generator = counting()
    ledger = next(generator)
    x.copy()
    generator.close()
    x.copy()
    assert ledger.copies == 1


def test_tasks_of_the_thread_count_while_the_block_waits() -> None:
    x = six()

    async def other() -> None:
        x.copy()

    async def main() -> int:
        with refarray.ledger() as ledger:
            await asyncio.create_task(other())
        return ledger.copies

    assert asyncio.run(main()) == 1


def test_many_threads_count_for_themselves() -> None:
    x = six()
    counts: list[int] = []

    def work() -> None:
        for _ in range(50):
            with refarray.ledger() as ledger:
                for _ in range(20):
                    x.copy()
            counts.append(ledger.copies)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [20] * 200
