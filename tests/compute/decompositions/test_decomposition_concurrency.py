"""Decompositions on many threads at once, other threads that run meanwhile, and Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.signals import SIZES, is_interrupted, is_interrupted_when_long
from oracles import hard_matrices as hard
from oracles.decomposition_calls import ALL_NAN, CALLS, plain
from oracles.switches import threads

import refarray

xp: Any = refarray
THREADS = 8
#: Of matrix_norm the slowest.
FUNCTIONS = {name: CALLS[name] for name in plain(CALLS)} | {
    "matrix_norm": CALLS["matrix_norm nuc"],
    "qr": CALLS["qr complete"],
    "vector_norm": CALLS["vector_norm 3"],
}
SLOW = {*ALL_NAN, "matrix_norm", "matrix_rank"} - {"qr"}


def run_together(work: Callable[[int], None]) -> None:
    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def test_many_threads_with_errors() -> None:
    """Each thread gets the message of its own matrix."""
    wrong: list[Any] = []
    start = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        x = hard.regular((THREADS, 3, 3), "float64")
        x[seed] = xp.zeros((3, 3))
        start.wait()
        for _ in range(50):
            try:
                xp.linalg.inv(x)
            except ValueError as caught:
                if f"({seed},)" not in str(caught):
                    wrong.append(str(caught))
            else:
                wrong.append(seed)

    run_together(work)
    assert not wrong


# --- other threads, and signals


COUNTS = {
    **dict.fromkeys(("eigh", "eigvals", "eigvalsh", "qr"), 30_000),
    "eig": 20_000,
    **dict.fromkeys(("matrix_norm", "matrix_rank", "pinv", "svd", "svdvals"), 10_000),
}


def many(name: str, size: int) -> Any:
    """A stack without memory of its size, whose decomposition takes long."""
    if name == "vector_norm":
        return xp.broadcast_to(hard.stack((1000,), "float64"), (100_000 * size, 1000))
    x = hard.positive_definite((8, 8), "complex128")
    return xp.broadcast_to(x, (COUNTS.get(name, 150_000) * size, 8, 8))


@pytest.mark.parametrize("name", ["eig", "svd", "qr", "inv"])
def test_other_threads_run_meanwhile(name: str) -> None:
    """They would wait for the whole call if it kept the GIL."""
    x = many(name, 2)[:100_000, ...]
    state = ["before"]

    def work() -> None:
        state[0] = "during"
        FUNCTIONS[name](x)
        state[0] = "after"

    worker = threading.Thread(target=work)
    turns = 0
    with threads(1):
        worker.start()
        while state[0] != "after" and turns < 10:
            time.sleep(0.001)
            turns += state[0] == "during"
        worker.join()
    assert turns == 10, f"the thread had {turns} turns during the call"


@pytest.mark.not_sanitized("hundreds of megabytes")
@run_each("count", [1, 4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_signals_interrupt_decompositions(name: str, count: int) -> None:
    with threads(count):
        assert is_interrupted_when_long(lambda size: FUNCTIONS[name](many(name, size)))
    assert float(xp.linalg.det(xp.eye(2))) == 1


@pytest.mark.not_sanitized("seconds become minutes")
@run_each("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "vector_norm"])
def test_signals_interrupt_the_decomposition_of_one_matrix(name: str, dtype: str) -> None:
    def is_interrupted_at(size: int) -> bool:
        order = (300 if name in SLOW else 800) * size
        numbers = xp.cos(xp.arange(order * order, dtype="float64"))
        x = xp.reshape(numbers, (order, order)) + 2 * order * xp.eye(order)
        x = xp.astype(x, dtype)
        return is_interrupted(lambda: FUNCTIONS[name](x))

    with threads(1):
        assert any(map(is_interrupted_at, SIZES))
    assert float(xp.linalg.det(xp.eye(2))) == 1


BIG: dict[str, Callable[[int], Any]] = {
    "trace": lambda size: xp.linalg.trace(ones(size << 17, 1 << 13, 1 << 13)),
    "cross": lambda size: xp.linalg.cross(ones(size << 23, 3), xp.ones(3)),
    "outer": lambda size: xp.linalg.outer(xp.ones(size << 13), xp.ones(1 << 13)),
    "vector_norm": lambda size: xp.linalg.vector_norm(ones(size << 28)),
    "columns": lambda size: xp.linalg.vector_norm(ones(size << 14, 1 << 13), axis=0, ord=3),
}


def ones(*shape: int) -> Any:
    return xp.broadcast_to(xp.ones(()), shape)


@pytest.mark.not_sanitized("hundreds of megabytes")
@run_each("kind", BIG)
def test_signals_interrupt_products_and_norms(kind: str) -> None:
    with threads(1):
        assert is_interrupted_when_long(BIG[kind])
    assert float(xp.linalg.det(xp.eye(2))) == 1
