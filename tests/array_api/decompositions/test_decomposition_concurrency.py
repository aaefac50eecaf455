"""Decompositions on many threads at once, other threads that run meanwhile, and Ctrl-C."""

from __future__ import annotations

import gc
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
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


def many(name: str) -> Any:
    """A stack without memory of its size, whose decomposition takes long."""
    if name == "vector_norm":
        return xp.broadcast_to(hard.stack((1000,), "float64"), (200_000, 1000))
    counts = {
        "eig": 40_000,
        "eigh": 60_000,
        "eigvalsh": 60_000,
        "matrix_rank": 20_000,
        "qr": 60_000,
        "svdvals": 20_000,
        "svd": 20_000,
        "eigvals": 60_000,
        "pinv": 20_000,
        "matrix_norm": 20_000,
    }
    x = hard.positive_definite((8, 8), "complex128")
    return xp.broadcast_to(x, (counts.get(name, 300_000), 8, 8))


@pytest.mark.parametrize("name", ["eig", "svd", "qr", "inv"])
def test_other_threads_run_meanwhile(name: str) -> None:
    """They would wait for the whole call if it kept the GIL."""
    x = many(name)[:100_000, ...]
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


SIGNAL_INTERVAL = 0.001  # seconds
RAISING_SIGNAL = 3  # the number of the signal whose handler raises


class Interrupted(Exception):
    """Raised by the signal handler."""


@pytest.fixture
def timer() -> Iterator[Callable[[], None]]:
    """Starts a timer whose third signal raises. Garbage collection is disabled, because a handler
    that runs in one of its callbacks would raise there."""
    ticks = 0

    def start() -> None:
        signal.setitimer(signal.ITIMER_REAL, SIGNAL_INTERVAL)

    def tick(number: int, frame: FrameType | None) -> None:
        nonlocal ticks
        ticks += 1
        if ticks == RAISING_SIGNAL:
            raise Interrupted
        start()

    gc.disable()
    before = signal.signal(signal.SIGALRM, tick)
    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    gc.enable()


def is_interrupted(call: Callable[[], Any], start: Callable[[], None]) -> bool:
    """Handlers run every 20 ms or so: the call must take several times as long."""
    try:
        start()
        call()
    except Interrupted:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return False


@pytest.mark.not_sanitized("hundreds of megabytes")
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_signals_interrupt_decompositions(name: str, count: int, timer: Callable[[], None]) -> None:
    """A call that runs no handlers until its end sees at most one signal."""
    x = many(name)
    with threads(count):
        assert is_interrupted(lambda: FUNCTIONS[name](x), timer)
    assert float(xp.linalg.det(xp.eye(2))) == 1


BIG: dict[str, Callable[[], Any]] = {
    "trace": lambda: xp.linalg.trace(xp.broadcast_to(xp.ones(()), (1 << 18, 1 << 13, 1 << 13))),
    "cross": lambda: xp.linalg.cross(xp.broadcast_to(xp.ones(3), (1 << 24, 3)), xp.ones(3)),
    "outer": lambda: xp.linalg.outer(xp.ones(1 << 14), xp.ones(1 << 13)),
    "vector_norm": lambda: xp.linalg.vector_norm(xp.broadcast_to(xp.ones(()), (1 << 29,))),
    "columns": lambda: xp.linalg.vector_norm(
        xp.broadcast_to(xp.ones(()), (1 << 15, 1 << 13)), axis=0, ord=3
    ),
}


@pytest.mark.not_sanitized("hundreds of megabytes")
@pytest.mark.parametrize("kind", BIG)
def test_signals_interrupt_products_and_norms(kind: str, timer: Callable[[], None]) -> None:
    with threads(1):
        assert is_interrupted(BIG[kind], timer)
    assert float(xp.linalg.det(xp.eye(2))) == 1
