"""Products have the same bits for every layout, number of threads and instruction set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.formats import NUMERIC
from oracles.layouts import views
from oracles.nested import Shape
from oracles.products import EDGES, as_array, large_numbers, operands
from oracles.switches import assert_instruction_sets_agree, threads

import refarray

xp: Any = refarray
SHAPES: list[tuple[Shape, Shape]] = [
    ((13,), (13,)),
    ((300,), (300,)),
    ((9,), (9, 17)),
    ((17, 9), (9,)),
    ((1, 33), (33, 1)),
    ((3, 1), (1, 5)),
    ((5, 7), (7, 3)),
    ((33, 20), (20, 18)),
    ((3, 4, 5), (3, 5, 2)),
    ((2, 1, 4, 9), (3, 9, 5)),
]
SOME = ("int8", "uint32", "int64", "bfloat16", "float32", "float64", "complex64")


def layouts_of_both(x: Any, y: Any) -> Iterator[tuple[str, Any, Any]]:
    for name, view in views(x):
        yield f"left {name}", view, y
    for name, view in views(y):
        yield f"right {name}", x, view
    others = list(views(y))
    for i, (name, view) in enumerate(views(x)):
        other, right = others[(3 * i) % len(others)]
        yield f"left {name}, right {other}", view, right


def check(function: Any, x: Any, y: Any) -> None:
    """Every layout of the operands gives the bits that contiguous ones give."""
    wanted = function(x, y).tobytes()
    for name, left, right in layouts_of_both(x, y):
        before = left.tobytes(), right.tobytes()
        assert function(left, right).tobytes() == wanted, (x.shape, y.shape, name)
        assert (left.tobytes(), right.tobytes()) == before, name


@run_each("dtype", NUMERIC)
def test_matmul_reads_every_layout(dtype: str) -> None:
    for left, right in SHAPES:
        check(xp.matmul, *operands(left, right, dtype))


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex128"])
def test_matmul_of_transposed_operands_around_the_edges_of_blocks(dtype: str) -> None:
    for edge in EDGES[:-4]:
        for left, right in (((edge, 9), (9, 11)), ((4, edge), (edge, 5)), ((7, 6), (6, edge))):
            x, y = operands(left, right, dtype)
            wanted = xp.matmul(x, y).tobytes()
            a, b = x.mT.copy().mT, y.mT.copy().mT
            for pair in ((a, y), (x, b), (a, b)):
                assert xp.matmul(*pair).tobytes() == wanted, (left, right)


@run_each("dtype", SOME)
def test_an_operand_may_be_both_operands(dtype: str) -> None:
    x, _ = operands((20, 20), (1,), dtype)
    for left, right in ((x, x), (x, x.mT), (x.mT, x), (x[::2, :], x[:, ::-1]), (x, x[:, 3])):
        out = xp.matmul(left, right)
        assert out.tobytes() == xp.matmul(left.copy(), right.copy()).tobytes()
    assert xp.vecdot(x, x).tobytes() == xp.vecdot(x, x.copy()).tobytes()
    assert xp.tensordot(x, x).tobytes() == xp.tensordot(x, x.copy()).tobytes()


#: Large enough for threads to share the work, in each of the ways in which it can be split.
LARGE: list[tuple[Shape, Shape]] = [
    ((400, 400), (400, 400)),
    ((1501, 33), (33, 65)),
    ((33, 65), (65, 1501)),
    ((7, 20_000), (20_000, 9)),
    ((1200, 1100), (1100,)),
    ((1100,), (1100, 1200)),
    ((1_200_000,), (1_200_000,)),
    ((200, 30, 31), (200, 31, 32)),
    ((3, 130, 131), (131, 140)),
]


def patterned(shape: Shape, dtype: str, seed: int) -> Any:
    """A large array without long periods, from a short list of numbers."""
    some = as_array(large_numbers(dtype, (997,), seed), dtype)
    size = math.prod(shape)
    return xp.tile(some, (size // 997 + 1,))[:size].reshape(shape)


@run_each("dtype", ["int8", "float32", "float64", "bfloat16", "complex64"])
def test_threads_do_not_change_the_bits_of_matmul(dtype: str) -> None:
    for left, right in LARGE:
        x, y = patterned(left, dtype, 1), patterned(right, dtype, 2)
        with threads(1):
            wanted = xp.matmul(x, y).tobytes()
        for count in (2, 4, 7):
            with threads(count):
                assert xp.matmul(x, y).tobytes() == wanted, (left, right, count)
        if len(left) > 1 and len(right) > 1:
            with threads(4):
                out = xp.matmul(x.mT.copy().mT, y.mT.copy().mT)
                assert out.tobytes() == wanted, (left, right, "transposed")


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64"])
def test_threads_do_not_change_the_bits_of_vecdot_and_tensordot(dtype: str) -> None:
    x, y = patterned((1100, 1200), dtype, 1), patterned((1100, 1200), dtype, 2)
    work = [
        lambda: xp.vecdot(x, y),
        lambda: xp.vecdot(x, y, axis=-2),
        lambda: xp.vecdot(x.reshape((-1,)), y.reshape((-1,))),
        lambda: xp.tensordot(x, y),
        lambda: xp.tensordot(x[:300, :], y[:300, :], axes=((0,), (0,))),
        lambda: xp.tensordot(x[0, :], y[0, :], axes=0),
    ]
    for function in work:
        with threads(1):
            wanted = function().tobytes()
        with threads(4):
            assert function().tobytes() == wanted


@pytest.mark.parametrize("dtype", NUMERIC)
def test_instruction_sets_do_not_change_the_bits(dtype: str) -> None:
    pairs = [operands(left, right, dtype) for left, right in SHAPES]
    pairs += [operands((edge, edge), (edge, edge), dtype) for edge in (8, 15, 16, 33, 65)]
    pairs += [operands((6, 257), (257, 130), dtype), operands((2, 3000), (3000, 2), dtype)]

    def results() -> list[bytes]:
        return [
            *(xp.matmul(x, y).tobytes() for x, y in pairs),
            *(xp.matmul(x, y.mT.copy().mT).tobytes() for x, y in pairs[4:8]),
            *(xp.vecdot(x, x).tobytes() for x, _ in pairs),
            *(xp.tensordot(x, y, axes=1).tobytes() for x, y in pairs[4:8]),
        ]

    assert_instruction_sets_agree(results)
