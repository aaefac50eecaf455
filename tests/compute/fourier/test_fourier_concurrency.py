"""Transforms on many threads at once, more lengths than are kept, and interrupted transforms."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.signals import is_interrupted_when_long, lateness
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


def zeros(dtype: str, *shape: int) -> Any:
    return xp.broadcast_to(xp.zeros((), dtype=dtype), shape)


MANY = 1 << 23
CALLS: dict[str, Callable[[int], Any]] = {
    "rows": lambda many: xp.fft.fft(zeros("complex64", many // 1024, 1024)),
    "columns": lambda many: xp.fft.ifft(zeros("complex128", 1000, many // 2048), axis=0),
    "one long sequence": lambda many: xp.fft.fft(zeros("complex64", many // 2)),
    "one long prime": lambda many: xp.fft.fft(zeros("complex64", PRIMES[many])),
    "real rows": lambda many: xp.fft.rfft(zeros("float64", many // 1000, 1000)),
    "Hermitian rows": lambda many: xp.fft.irfft(zeros("complex64", many // 512, 513)),
    "several axes": lambda many: xp.fft.fftn(zeros("complex64", many >> 16, 256, 256)),
    "shifts": lambda many: xp.fft.fftshift(zeros("float32", many >> 10, 1 << 13)),
    "frequencies": lambda many: xp.fft.fftfreq(4 * many),
}
PRIMES = {MANY: 1048583, 2 * MANY: 2097169, 4 * MANY: 4194319, 8 * MANY: 8388617}


@pytest.mark.not_sanitized("hundreds of megabytes")
@run_each("kind", CALLS)
def test_signals_interrupt_transforms(kind: str) -> None:
    with threads(1):
        assert is_interrupted_when_long(lambda size: CALLS[kind](size * MANY))
    x = xp.ones(4, dtype="complex64")
    assert xp.fft.fft(x).tolist() == [4, 0, 0, 0]


@pytest.mark.not_sanitized("its limit is one of processor time")
@run_each("kind", ["rfft", "fft", "irfft"])
@run_each("n", [2**22 + 15, 2**23])
def test_signals_interrupt_the_factors_of_long_transforms(kind: str, n: int) -> None:
    """Those of large prime numbers of elements take longer than the transform."""
    x = xp.zeros(n, dtype="float64" if kind == "rfft" else "complex128")
    assert lateness(lambda: getattr(xp.fft, kind)(x, n=n), 0.03) < 0.25
