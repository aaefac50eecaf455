"""matmul of every numeric dtype against exact sums: extents around blocks, stacks, promotion."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.formats import INTEGERS, NUMERIC
from oracles.nested import Nested, Shape, size_of
from oracles.products import (
    EDGES,
    as_array,
    assert_product,
    exact_dot,
    large_numbers,
    matmul,
    small_numbers,
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


def numbers(dtype: str, shape: Shape, seed: int) -> Nested:
    draw = large_numbers if dtype in INTEGERS else small_numbers
    return draw(dtype, shape, seed)


def check(left: Shape, right: Shape, dtype: str) -> Any:
    x, y = numbers(dtype, left, 1), numbers(dtype, right, 2)
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
            x, y = (numbers(kind, s, 3) for kind, s in zip((left, right), shapes, strict=True))
            out = xp.matmul(as_array(x, left), as_array(y, right))
            assert_product(out, matmul(x, y, exact_dot(dtype)), dtype)


def test_matmul_keeps_small_integers_small() -> None:
    """Sums wrap around in the dtype of the operands; sum() would give 64 bits."""
    x = xp.asarray([[100, 100]], dtype="int8")
    assert xp.matmul(x, x.mT).tolist() == [[20000 % 256]] == [[32]]
    y = xp.asarray([255, 255], dtype="uint8")
    assert str(xp.matmul(y, y).dtype) == "uint8" and int(xp.matmul(y, y)) == 2
    z = xp.asarray([-(2**63), 2**63 - 1])
    assert int(xp.matmul(z, z)) == 1
    w = xp.asarray([2**64 - 1, 2**63], dtype="uint64")
    assert int(xp.matmul(w, w)) == 1


def test_matmul_with_the_identity_gives_the_matrix() -> None:
    for dtype in NUMERIC:
        for n in (1, 5, 16, 33):
            model = numbers(dtype, (n, n), n)
            x, one = as_array(model, dtype), xp.eye(n, dtype=dtype)
            assert_product(xp.matmul(x, one), model, dtype)
            assert_product(xp.matmul(one, x), model, dtype)


def test_matmul_neither_swaps_nor_transposes_its_operands() -> None:
    x = xp.asarray([[1, 2], [3, 4]])
    y = xp.asarray([[0, 1], [0, 0]])
    assert xp.matmul(x, y).tolist() == [[0, 1], [0, 3]]
    assert xp.matmul(y, x).tolist() == [[3, 4], [0, 0]]
    assert xp.matmul(x.mT, y).tolist() == [[0, 1], [0, 2]]
    assert xp.matmul(x, y.mT).tolist() == [[2, 0], [4, 0]]


def test_matmul_does_not_conjugate() -> None:
    for dtype in ("complex64", "complex128"):
        x = xp.asarray([[1j, 2.0], [3.0, 4j]], dtype=dtype)
        assert xp.matmul(x, x).tolist() == [[5 + 0j, 10j], [15j, -10 + 0j]]
        assert xp.matmul(x[0, :], x[0, :]).tolist() == 3 + 0j


def test_matmul_returns_new_contiguous_arrays() -> None:
    for left, right, _ in SHAPES:
        x, y = xp.ones(left), xp.ones(right)
        out = xp.matmul(x.as_readonly(), y.as_readonly())
        assert out.is_contiguous() and not out.readonly
        out[...] = 7
        assert bool(xp.all(x == 1)) and bool(xp.all(y == 1))
