"""Decompositions have the same bits for every layout, stack, thread count and instruction set."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.decomposition_calls import CALLS, SQUARE
from oracles.switches import ISAS, instruction_set, threads

import refarray

xp: Any = refarray
dtypes = run_each("dtype", em.DTYPES)
#: Beside the norm of the whole array.
functions = pytest.mark.parametrize("name", [n for n in CALLS if n != "vector_norm"])


def argument(name: str, shape: tuple[int, ...], dtype: str) -> Any:
    """A new copy of an array that the function takes."""
    return numbers(name in SQUARE, shape, dtype).copy()


@functools.cache
def numbers(square: bool, shape: tuple[int, ...], dtype: str) -> Any:
    if square:
        return hard.positive_definite((*shape[:-2], shape[-1], shape[-1]), dtype)
    return hard.stack(shape, dtype)


def bits(result: Any) -> list[Any]:
    """The bytes, shapes and dtypes of the parts of a result."""
    parts = result if isinstance(result, tuple) else (result,)
    assert all(each.is_contiguous() and not each.readonly for each in parts)
    return [(each.tobytes(), each.shape, str(each.dtype)) for each in parts]


@dtypes
@functions
def test_stacks_have_the_bits_of_each_matrix_alone(name: str, dtype: str) -> None:
    function = CALLS[name]
    for shape in ((1, 3, 3), (7, 4, 2), (2, 3, 2, 4), (2, 1, 2, 3, 3)):
        x = argument(name, shape, dtype)
        whole = function(x)
        parts = whole if isinstance(whole, tuple) else (whole,)
        for index in itertools.product(*map(range, shape[:-2])):
            alone = function(x[index])
            others = alone if isinstance(alone, tuple) else (alone,)
            for one, other in zip(parts, others, strict=True):
                assert one[index].tobytes() == other.tobytes(), (shape, index)
                assert one.shape == (*shape[:-2], *other.shape)


@functions
def test_instruction_sets_do_not_change_the_bits(name: str) -> None:
    shapes = [(n, n) for n in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)] + [(9, 4), (4, 9), (20, 3)]
    for dtype in ("float32", "float64", "complex64", "complex128", "bfloat16"):
        arguments = [argument(name, shape, dtype) for shape in shapes]
        found = {}
        for level in ISAS:
            with instruction_set(level):
                found[level] = [bits(CALLS[name](x)) for x in arguments]
        for level in ISAS[1:]:
            assert found[level] == found[ISAS[0]], f"{level} and {ISAS[0]} differ"


@functions
def test_threads_do_not_change_the_bits(name: str) -> None:
    """A stack large enough for threads to share the work."""
    for dtype, shape in (("float64", (3000, 4, 4)), ("complex64", (30, 16, 16))):
        x = argument(name, (50, *shape[1:]), dtype)
        whole = xp.tile(x, (shape[0] // 50 + 1, 1, 1))[: shape[0], ...]
        with threads(1):
            wanted = bits(CALLS[name](whole))
        for count in (2, 4):
            with threads(count):
                assert bits(CALLS[name](whole)) == wanted, (dtype, count)
