"""Transforms have the same bits for every layout, batch, number of threads and instruction set."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import direct_sums as sums
from oracles.nested import Shape
from oracles.switches import ISAS, instruction_set, threads

import refarray

xp: Any = refarray
#: Passes of every kind, a convolution, and a length that is cut or extended.
LENGTHS = (1, 2, 5, 12, 22, 33, 64, 67, 97, 105, 128)
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
        for count in BATCHES if n < 40 else (3, 8, 17):
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
    found = {}
    for level in ISAS:
        with instruction_set(level):
            found[level] = [function(x).tobytes() for x in arguments]
            found[level] += [function(x.T.copy().T).tobytes() for x in arguments if x.ndim == 2]
            if name in sums.ONE_AXIS:
                found[level] += [function(x, axis=0, n=30).tobytes() for x in arguments[-8:]]
    for level in ISAS[1:]:
        assert found[level] == found[ISAS[0]], f"{level} and {ISAS[0]} differ"


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
