"""How transforms run: the same bits for every layout, batch, thread count and instruction set, on
many threads at once, more lengths than are kept, and Ctrl-C."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.signals import is_interrupted_when_long, lateness
from oracles import direct_sums as sums
from oracles.nested import Shape
from oracles.switches import assert_instruction_sets_agree, run_together, threads

import refarray

xp: Any = refarray
#: Passes of every kind, a convolution, and a length that is cut or extended.
LENGTHS = (1, 2, 5, 12, 17, 22, 33, 64, 67, 97, 105, 128)
#: Around the numbers of sequences that are transformed side by side.
BATCHES = (1, 3, 7, 8, 9, 16, 17, 33)
WIDE = [False, True]
precisions = run_each("wide", WIDE, ids=["single", "double"])
names = pytest.mark.parametrize("name", sums.ONE_AXIS)


def numbers(name: str, wide: bool, shape: Shape, seed: int = 0) -> Any:
    """An argument of the function; all elements differ."""
    rng = random.Random(f"{shape} {seed}")
    count = math.prod(shape)
    parts = [rng.uniform(-1, 1) for _ in range(count * (1 if name in sums.FROM_REAL else 2))]
    values: list[Any] = parts
    if name not in sums.FROM_REAL:
        values = [complex(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return xp.reshape(xp.asarray(values, dtype=sums.dtypes(name)[wide]), shape)


def one_by_one(name: str, x: Any, axis: int, **keywords: Any) -> Any:
    """The transform of each sequence alone, from memory without gaps."""
    function = getattr(xp.fft, name)
    moved = xp.moveaxis(x, axis, -1)
    batch = moved.shape[:-1]
    rows = [
        function(moved[index].copy(), **keywords) for index in itertools.product(*map(range, batch))
    ]
    stacked = xp.reshape(xp.stack(rows), (*batch, rows[0].size))
    return xp.moveaxis(stacked, -1, axis).copy()


@precisions
@names
def test_sequences_side_by_side_have_the_bits_of_each_alone(name: str, wide: bool) -> None:
    function = getattr(xp.fft, name)
    for n in LENGTHS:
        length = n // 2 + 1 if name in sums.TO_REAL else n
        for count in BATCHES if n < 40 or n == 67 else (3, 8, 17):
            rows = numbers(name, wide, (count, length))
            wanted = one_by_one(name, rows, 1, n=n)
            assert function(rows, n=n).tobytes() == wanted.tobytes(), (n, count)
            columns = xp.permute_dims(rows, (1, 0)).copy()
            out = function(columns, n=n, axis=0)
            assert out.tobytes() == wanted.T.copy().tobytes(), (n, count, "columns")


@precisions
@names
def test_every_axis_of_one_to_five(name: str, wide: bool) -> None:
    function = getattr(xp.fft, name)
    for shape in ((6,), (5, 6), (3, 4, 5), (2, 3, 4, 3), (2, 3, 2, 4, 3)):
        x = numbers(name, wide, shape)
        for axis in range(len(shape)):
            n = 7 if name in sums.TO_REAL else None
            wanted = one_by_one(name, x, axis, n=n)
            for each in (axis, axis - len(shape)):
                out = function(x, n=n, axis=each)
                assert out.shape == wanted.shape
                assert out.tobytes() == wanted.tobytes(), (shape, each)
        assert function(x).tobytes() == function(x, axis=-1).tobytes()


@pytest.mark.parametrize("name", sums.TRANSFORMS)
@precisions
def test_instruction_sets_do_not_change_the_bits(name: str, wide: bool) -> None:
    function = getattr(xp.fft, name)
    shapes: list[Shape] = [(n,) for n in range(2, 50)]
    shapes += [(67,), (97,), (128,), (3, 385), (9, 60), (40, 17), (64, 8), (33, 67), (3, 5, 8)]
    arguments = [numbers(name, wide, shape) for shape in shapes]

    def results() -> list[bytes]:
        found = [function(x).tobytes() for x in arguments]
        found += [function(x.T.copy().T).tobytes() for x in arguments if x.ndim == 2]
        if name in sums.ONE_AXIS:
            found += [function(x, axis=0, n=30).tobytes() for x in arguments[-8:]]
        return found

    assert_instruction_sets_agree(results)


LARGE: tuple[Shape, ...] = ((300, 1000), (1024, 300), (2001, 67), (3, 70000), (40, 50, 60))


@pytest.mark.parametrize("name", sums.TRANSFORMS)
@precisions
def test_threads_do_not_change_the_bits(name: str, wide: bool) -> None:
    """Enough elements for threads to share the work."""
    function = getattr(xp.fft, name)
    some = numbers(name, wide, (997,))
    for shape in LARGE:
        count = math.prod(shape)
        x = xp.reshape(xp.tile(some, (count // 997 + 1,))[:count], shape)
        given = [{"axis": 0}, {"axis": -1}] if name in sums.ONE_AXIS else [{"axes": (0, -1)}]
        for keywords in given:
            with threads(1):
                wanted = function(x, **keywords).tobytes()
            with threads(4):
                assert function(x, **keywords).tobytes() == wanted, (shape, keywords)


# --- many threads, and lengths that are kept


KEPT = tuple(range(200, 240))


def argument(name: str, n: int) -> Any:
    return xp.asarray(sums.as_argument(name, sums.sample(n, 31)), dtype=sums.dtypes(name)[n % 2])


def results() -> dict[tuple[str, int], bytes]:
    """Of every function for lengths of all kinds."""
    return {
        (name, n): getattr(xp.fft, name)(argument(name, n), n=n).tobytes()
        for name in sums.ONE_AXIS
        for n in KEPT
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

    def work(seed: int) -> None:
        cases = list(wanted)
        random.Random(seed).shuffle(cases)
        for name, n in cases:
            out = getattr(xp.fft, name)(argument(name, n), n=n)
            if out.tobytes() != wanted[name, n]:
                wrong.append((name, n))

    with threads(count):
        run_together(work)
    assert not wrong


def test_many_threads_transform_one_new_length() -> None:
    """All of them want its tables at once."""
    for n in (241, 263, 271, 2 * 3 * 47, 512 + 8):
        x = argument("fft", n)
        found: list[bytes] = []
        run_together(lambda _, x=x, out=found: out.append(xp.fft.fft(x).tobytes()), 8)
        assert found == [xp.fft.fft(x).tobytes()] * 8


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
