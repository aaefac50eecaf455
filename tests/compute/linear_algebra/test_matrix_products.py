"""matmul of every numeric dtype against exact sums: extents around blocks, stacks, promotion."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.formats import NUMERIC
from oracles.nested import Shape, size_of
from oracles.products import (
    EDGES,
    as_array,
    assert_product,
    exact_dot,
    exact_numbers,
    matmul,
)
from oracles.promotion import PROMOTION

import refarray

xp: Any = refarray
#: Shapes of two operands and of their product.
SHAPES: list[tuple[Shape, Shape, Shape]] = [
    ((3,), (3,), ()),
    ((1,), (1,), ()),
    ((4,), (4, 3), (3,)),
    ((3, 4), (4,), (3,)),
    ((1, 4), (4,), (1,)),
    ((4,), (4, 1), (1,)),
    ((2, 3), (3, 4), (2, 4)),
    ((3, 3), (3, 3), (3, 3)),
    ((1, 1), (1, 1), (1, 1)),
    ((5, 1), (1, 6), (5, 6)),
    ((1, 5), (5, 1), (1, 1)),
    ((4,), (2, 4, 3), (2, 3)),
    ((4,), (5, 2, 4, 3), (5, 2, 3)),
    ((2, 3, 4), (4,), (2, 3)),
    ((5, 2, 3, 4), (4,), (5, 2, 3)),
    ((3, 4), (2, 4, 5), (2, 3, 5)),
    ((2, 3, 4), (4, 5), (2, 3, 5)),
    ((2, 3, 4), (2, 4, 5), (2, 3, 5)),
    ((3, 3, 3), (3, 3, 3), (3, 3, 3)),
    ((1, 3, 4), (2, 4, 5), (2, 3, 5)),
    ((2, 3, 4), (1, 4, 5), (2, 3, 5)),
    ((6, 1, 3, 4), (2, 4, 5), (6, 2, 3, 5)),
    ((2, 3, 4), (6, 1, 4, 5), (6, 2, 3, 5)),
    ((6, 1, 3, 2), (1, 5, 2, 4), (6, 5, 3, 4)),
    ((1, 2, 1, 3, 2), (4, 1, 3, 2, 1), (4, 2, 3, 3, 1)),
    ((2, 1, 2, 1, 2, 2), (2, 1, 2, 2, 2), (2, 2, 2, 2, 2, 2)),
    ((2, 2, 2, 2), (2, 2, 2), (2, 2, 2, 2)),
    ((2, 2, 2), (2, 2, 2, 2), (2, 2, 2, 2)),
]
#: The same, where a sum has no term or the product no element.
EMPTY: list[tuple[Shape, Shape, Shape]] = [
    ((0,), (0,), ()),
    ((0,), (0, 3), (3,)),
    ((3, 0), (0,), (3,)),
    ((2, 0), (0, 3), (2, 3)),
    ((4, 2, 0), (0, 3), (4, 2, 3)),
    ((300, 0), (0, 70), (300, 70)),
    ((0, 3), (3, 2), (0, 2)),
    ((2, 3), (3, 0), (2, 0)),
    ((0, 3), (3, 0), (0, 0)),
    ((0, 0), (0, 0), (0, 0)),
    ((3,), (3, 0), (0,)),
    ((0, 3), (3,), (0,)),
    ((0, 2, 3), (3, 4), (0, 2, 4)),
    ((2, 3), (0, 3, 4), (0, 2, 4)),
    ((0, 2, 3), (1, 3, 4), (0, 2, 4)),
    ((5, 1, 2, 3), (0, 3, 4), (5, 0, 2, 4)),
    ((3,), (0, 3, 4), (0, 4)),
    ((0, 2, 3), (3,), (0, 2)),
    ((0, 2, 0), (0, 0, 3), (0, 2, 3)),
]


def check(left: Shape, right: Shape, dtype: str) -> Any:
    x, y = exact_numbers(dtype, left, 1), exact_numbers(dtype, right, 2)
    out = xp.matmul(as_array(x, dtype), as_array(y, dtype))
    assert_product(out, matmul(x, y, exact_dot(dtype)), dtype)
    return out


@run_each("dtype", NUMERIC)
def test_matmul_of_vectors_matrices_and_stacks(dtype: str) -> None:
    for left, right, shape in SHAPES:
        assert check(left, right, dtype).shape == shape


@run_each("dtype", NUMERIC)
def test_matmul_without_terms_or_elements(dtype: str) -> None:
    for left, right, shape in EMPTY:
        out = xp.matmul(xp.ones(left, dtype=dtype), xp.ones(right, dtype=dtype))
        assert str(out.dtype) == dtype and out.shape == shape
        if size_of(shape):  # +0, also where -0 would be the sum's neutral element
            assert out.tobytes() == bytes(out.nbytes)


@run_each("dtype", NUMERIC)
def test_matmul_around_the_edges_of_blocks(dtype: str) -> None:
    for edge in EDGES:
        check((edge, 19), (19, 21), dtype)
        check((6, edge), (edge, 7), dtype)
        check((5, 18), (18, edge), dtype)


@run_each("dtype", ["int8", "uint64", "float32", "float64", "complex64"])
def test_matmul_of_vectors_around_the_edges_of_blocks(dtype: str) -> None:
    for edge in EDGES:
        check((edge,), (edge,), dtype)
        check((edge,), (edge, 9), dtype)
        check((9, edge), (edge,), dtype)
        check((9,), (9, edge), dtype)
        check((edge, 9), (9,), dtype)
        check((edge, 1), (1, 5), dtype)
        check((5, 1), (1, edge), dtype)


@run_each("dtype", ["int16", "int64", "bfloat16", "float32", "complex128"])
def test_matmul_with_two_extents_around_the_edges_of_blocks(dtype: str) -> None:
    for first, second in itertools.product((8, 13, 16, 33, 65), repeat=2):
        check((first, second), (second, 3), dtype)
        check((first, 3), (3, second), dtype)
        check((3, first), (first, second), dtype)


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64"])
def test_matmul_of_several_blocks_in_every_direction(dtype: str) -> None:
    check((130, 257), (257, 65), dtype)
    check((65, 300), (300, 131), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
def test_matmul_of_long_sums(dtype: str) -> None:
    check((3, 5000), (5000, 4), dtype)
    check((20_011,), (20_011,), dtype)
    check((2, 2, 1025), (1025, 2), dtype)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_matmul_of_many_small_matrices(dtype: str) -> None:
    check((300, 2, 3), (300, 3, 2), dtype)
    check((17, 1, 4, 4), (19, 4, 4), dtype)
    check((257, 1, 3), (3, 1), dtype)


@run_each("left", NUMERIC)
def test_matmul_promotes_its_operands_first(left: str) -> None:
    for right in NUMERIC:
        if (left, right) not in PROMOTION:
            continue
        dtype = PROMOTION[left, right]
        for shapes in (((2, 5), (5, 3)), ((5,), (5,)), ((3, 17), (17, 9))):
            x, y = (
                exact_numbers(kind, s, 3) for kind, s in zip((left, right), shapes, strict=True)
            )
            out = xp.matmul(as_array(x, left), as_array(y, right))
            assert_product(out, matmul(x, y, exact_dot(dtype)), dtype)
