"""Transforms on many threads at once, more lengths than are kept, and interrupted transforms."""

from __future__ import annotations

import gc
import random
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
from oracles import direct_sums as sums
from oracles.switches import threads

import refarray

xp: Any = refarray
LENGTHS = tuple(range(200, 240))
THREADS = 8


def argument(name: str, n: int) -> Any:
    return xp.asarray(sums.as_argument(name, sums.sample(n, 31)), dtype=sums.dtypes(name)[n % 2])


def results() -> dict[tuple[str, int], bytes]:
    """Of every function for lengths of all kinds."""
    return {
        (name, n): getattr(xp.fft, name)(argument(name, n), n=n).tobytes()
        for name in sums.ONE_AXIS
        for n in LENGTHS
    }


def test_lengths_that_are_forgotten_have_the_same_bits_again() -> None:
    """More lengths than are kept, in another order."""
    wanted = results()
    cases = list(wanted)
    for seed in range(3):
        random.Random(seed).shuffle(cases)
        for name, n in cases:
            out = getattr(xp.fft, name)(argument(name, n), n=n)
            assert out.tobytes() == wanted[name, n], (name, n)


@pytest.mark.parametrize("count", [1, 4])
def test_many_threads_transform_different_lengths(count: int) -> None:
    wanted = results()
    wrong: list[Any] = []
    start = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        cases = list(wanted)
        random.Random(seed).shuffle(cases)
        start.wait()
        for name, n in cases:
            out = getattr(xp.fft, name)(argument(name, n), n=n)
            if out.tobytes() != wanted[name, n]:
                wrong.append((name, n))

    with threads(count):
        workers = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not wrong


def test_many_threads_transform_one_new_length() -> None:
    """All of them want its tables at once."""
    for n in (241, 263, 271, 2 * 3 * 47, 512 + 8):
        x = argument("fft", n)
        start = threading.Barrier(THREADS)
        found: list[bytes] = []

        def work(x: Any = x, start: threading.Barrier = start, out: list[bytes] = found) -> None:
            start.wait()
            out.append(xp.fft.fft(x).tobytes())

        workers = [threading.Thread(target=work) for _ in range(THREADS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert found == [xp.fft.fft(x).tobytes()] * THREADS


# --- signals

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


def zeros(dtype: str, *shape: int) -> Any:
    return xp.broadcast_to(xp.zeros((), dtype=dtype), shape)


MANY = 1 << 24
CALLS: dict[str, Callable[[], Any]] = {
    "rows": lambda: xp.fft.fft(zeros("complex64", MANY // 1024, 1024)),
    "columns": lambda: xp.fft.ifft(zeros("complex128", 1000, MANY // 4096), axis=0),
    "one long sequence": lambda: xp.fft.fft(zeros("complex64", MANY // 4)),
    "one long prime": lambda: xp.fft.fft(zeros("complex64", 1048583)),
    "real rows": lambda: xp.fft.rfft(zeros("float64", MANY // 1000, 1000)),
    "Hermitian rows": lambda: xp.fft.irfft(zeros("complex64", MANY // 512, 513)),
    "several axes": lambda: xp.fft.fftn(zeros("complex64", 200, 256, 256)),
    "shifts": lambda: xp.fft.fftshift(zeros("float32", 1 << 14, 1 << 13)),
    "frequencies": lambda: xp.fft.fftfreq(1 << 26),
}


@pytest.mark.not_sanitized("hundreds of megabytes")
@pytest.mark.parametrize("kind", CALLS)
def test_signals_interrupt_transforms(kind: str, timer: Callable[[], None]) -> None:
    """A call that runs no handlers until its end sees at most one signal."""
    with threads(1), pytest.raises(Interrupted):
        timer()
        CALLS[kind]()
    x = xp.ones(4, dtype="complex64")
    assert xp.fft.fft(x).tolist() == [4, 0, 0, 0]
