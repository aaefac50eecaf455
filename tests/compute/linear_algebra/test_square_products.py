"""Products whose operands have equal extents, so that exchanged axes or operands fit too."""

from __future__ import annotations

from typing import Any

from helpers.cases import run_each

import refarray as xp

LEFT, RIGHT = [[1, 2], [3, 4]], [[5, 6], [7, 9]]
PRODUCT = [[19, 24], [43, 54]]
DTYPES = ("int8", "uint64", "float16", "float32", "float64", "complex64")


def matrices(dtype: str) -> tuple[Any, Any]:
    return xp.asarray(LEFT, dtype=dtype), xp.asarray(RIGHT, dtype=dtype)


@run_each("dtype", DTYPES)
def test_operands_keep_their_places(dtype: str) -> None:
    a, b = matrices(dtype)
    assert (a @ b).tolist() == PRODUCT
    assert xp.matmul(a, b).tolist() == PRODUCT
    assert xp.tensordot(a, b, axes=1).tolist() == PRODUCT
    assert xp.tensordot(a, b, axes=((1,), (0,))).tolist() == PRODUCT
    assert xp.tensordot(a, b, axes=((0,), (1,))).tolist() == [[23, 34], [34, 50]]


@run_each("dtype", DTYPES)
def test_square_matrices_are_not_transposed_for_vectors(dtype: str) -> None:
    a, b = matrices(dtype)
    assert xp.matmul(a, b[0, :]).tolist() == [17, 39]
    assert xp.matmul(b[0, :], a).tolist() == [23, 34]
    assert xp.matmul(a[:, 0], b[:, 1]).tolist() == 33


@run_each("dtype", DTYPES)
def test_stacks_are_aligned_at_the_last_axes(dtype: str) -> None:
    a, b = matrices(dtype)
    stack = xp.stack([b, b + b])
    stacks = xp.stack([xp.stack([a, a]), xp.stack([a, a])])
    wanted = [PRODUCT, [[2 * x for x in row] for row in PRODUCT]]
    assert xp.matmul(stacks, stack).tolist() == [wanted, wanted]
    left = xp.matmul(xp.stack([a, a + a]), xp.stack([xp.stack([b, b]), xp.stack([b, b])]))
    assert left.tolist() == [wanted, wanted]


def test_operands_of_two_axes_keep_their_places() -> None:
    """The default of tensordot(), of operands whose axes all have one extent."""
    left, right = [LEFT, RIGHT], [RIGHT, LEFT]
    wanted = [
        [sum(left[i][j][k] * right[j][k][n] for j in (0, 1) for k in (0, 1)) for n in (0, 1)]
        for i in (0, 1)
    ]
    assert xp.tensordot(xp.asarray(left), xp.asarray(right)).tolist() == wanted
