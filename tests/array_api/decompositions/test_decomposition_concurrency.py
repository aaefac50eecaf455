"""Decompositions on many threads at once, other threads that run meanwhile, and Ctrl-C."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.signals import SIZES, is_interrupted, is_interrupted_when_long
from oracles import hard_matrices as hard
from oracles.switches import threads

import refarray

xp: Any = refarray
THREADS = 8
Function = Callable[[Any], Any]
FUNCTIONS: dict[str, Function] = {
    "cholesky": lambda x: xp.linalg.cholesky(x),
    "det": lambda x: xp.linalg.det(x),
    "eig": lambda x: xp.linalg.eig(x),
    "eigh": lambda x: xp.linalg.eigh(x),
    "eigvals": lambda x: xp.linalg.eigvals(x),
    "eigvalsh": lambda x: xp.linalg.eigvalsh(x),
    "inv": lambda x: xp.linalg.inv(x),
    "matrix_norm": lambda x: xp.linalg.matrix_norm(x, ord="nuc"),
    "matrix_power": lambda x: xp.linalg.matrix_power(x, 5),
    "matrix_rank": lambda x: xp.linalg.matrix_rank(x),
    "pinv": lambda x: xp.linalg.pinv(x),
    "qr": lambda x: xp.linalg.qr(x, mode="complete"),
    "slogdet": lambda x: xp.linalg.slogdet(x),
    "solve": lambda x: xp.linalg.solve(x, x),
    "svd": lambda x: xp.linalg.svd(x),
    "svdvals": lambda x: xp.linalg.svdvals(x),
    "vector_norm": lambda x: xp.linalg.vector_norm(x, ord=3, axis=-1),
}
SLOW = {
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "matrix_norm",
    "matrix_rank",
    "pinv",
    "svd",
    "svdvals",
}
SHAPES = ((3, 3), (8, 8), (20, 5, 5), (17, 17), (0, 0), (2, 3, 1, 1))


def bits(result: Any) -> list[bytes]:
    return [each.tobytes() for each in (result if isinstance(result, tuple) else (result,))]


def run_together(work: Callable[[int], None]) -> None:
    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


@pytest.mark.parametrize("count", [1, 4])
def test_many_threads_have_the_same_results(count: int) -> None:
    """Of arrays that all of them read."""
    arrays = [hard.positive_definite(shape, "float64") for shape in SHAPES[:4]]
    arrays += [hard.positive_definite(shape, "complex64") for shape in SHAPES[:3]]
    arrays += [xp.zeros(SHAPES[4]), hard.positive_definite(SHAPES[5], "float16")]
    cases = [(name, i) for name in FUNCTIONS for i in range(len(arrays))]
    wanted = {(name, i): bits(FUNCTIONS[name](arrays[i])) for name, i in cases}
    before = [each.tobytes() for each in arrays]
    wrong: list[Any] = []
    start = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        order = list(cases)
        random.Random(seed).shuffle(order)
        start.wait()
        for name, i in order:
            if bits(FUNCTIONS[name](arrays[i])) != wanted[name, i]:
                wrong.append((name, i))

    with threads(count):
        run_together(work)
    assert not wrong
    assert [each.tobytes() for each in arrays] == before


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
    "eig": 20_000,
    "eigh": 30_000,
    "eigvals": 30_000,
    "eigvalsh": 30_000,
    "matrix_norm": 10_000,
    "matrix_rank": 10_000,
    "pinv": 10_000,
    "qr": 30_000,
    "svd": 10_000,
    "svdvals": 10_000,
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
