"""Decompositions have the same bits for every layout, stack, thread count and instruction set."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.checks import assert_dtype
from oracles.layouts import views
from oracles.switches import ISAS, instruction_set, threads

import refarray

xp: Any = refarray
dtypes = run_each("dtype", em.DTYPES)
Function = Callable[[Any], Any]
#: Functions of square matrices; positive definite ones are taken by all.
SQUARE: dict[str, Function] = {
    "cholesky": lambda x: xp.linalg.cholesky(x),
    "cholesky upper": lambda x: xp.linalg.cholesky(x, upper=True),
    "det": lambda x: xp.linalg.det(x),
    "eig": lambda x: xp.linalg.eig(x),
    "eigh": lambda x: xp.linalg.eigh(x),
    "eigvals": lambda x: xp.linalg.eigvals(x),
    "eigvalsh": lambda x: xp.linalg.eigvalsh(x),
    "inv": lambda x: xp.linalg.inv(x),
    "power 0": lambda x: xp.linalg.matrix_power(x, 0),
    "power 5": lambda x: xp.linalg.matrix_power(x / 8, 5),
    "power -2": lambda x: xp.linalg.matrix_power(x, -2),
    "slogdet": lambda x: xp.linalg.slogdet(x),
    "solve": lambda x: xp.linalg.solve(x, x[..., ::-1]),
    "solve vector": lambda x: xp.linalg.solve(x, xp.ones(x.shape[-1], dtype=x.dtype)),
}
#: Functions of matrices of every shape.
OBLONG: dict[str, Function] = {
    "frobenius": lambda x: xp.linalg.matrix_norm(x),
    "nuclear": lambda x: xp.linalg.matrix_norm(x, ord="nuc"),
    "norm 1": lambda x: xp.linalg.matrix_norm(x, ord=1),
    "norm -2": lambda x: xp.linalg.matrix_norm(x, ord=-2),
    "norm inf": lambda x: xp.linalg.matrix_norm(x, ord=float("inf")),
    "rank": lambda x: xp.linalg.matrix_rank(x),
    "pinv": lambda x: xp.linalg.pinv(x),
    "qr": lambda x: xp.linalg.qr(x),
    "qr complete": lambda x: xp.linalg.qr(x, mode="complete"),
    "svd": lambda x: xp.linalg.svd(x),
    "svd reduced": lambda x: xp.linalg.svd(x, full_matrices=False),
    "svdvals": lambda x: xp.linalg.svdvals(x),
    "vector norm": lambda x: xp.linalg.vector_norm(x),
    "vector norm 3": lambda x: xp.linalg.vector_norm(x, ord=3, axis=(-1, 0)),
    "vector norm 0.5": lambda x: xp.linalg.vector_norm(x, ord=0.5, axis=-2),
}
WHOLE = ("vector norm", "vector norm 3")
ALL = {**SQUARE, **OBLONG}
functions = pytest.mark.parametrize("name", ALL)


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
def test_layouts(name: str, dtype: str) -> None:
    function = ALL[name]
    for shape in ((4, 4), (3, 5), (5, 2), (2, 3, 3), (2, 2, 4, 3)):
        x = argument(name, shape, dtype)
        wanted = bits(function(x))
        for layout, view in views(x):
            before = view.tobytes()
            assert bits(function(view)) == wanted, (shape, layout)
            assert view.tobytes() == before, "the argument was changed"


@dtypes
@functions
def test_strides_of_zero(name: str, dtype: str) -> None:
    function = ALL[name]
    x = argument(name, (3, 4, 4), dtype)
    for view in (
        xp.broadcast_to(x[0], (2, 5, 4, 4)),
        xp.broadcast_to(x[:, None, ...], (3, 2, 4, 4)),
        xp.broadcast_to(xp.eye(1, dtype=dtype), (3, 1, 1)),
    ):
        assert view.readonly
        before = view.tobytes()
        assert bits(function(view)) == bits(function(view.copy()))
        assert view.tobytes() == before
    if name in OBLONG:
        for part in (x[:1, :1, :1], x[:, :1, :], x[:, :, :1]):
            view = xp.broadcast_to(part, (3, 4, 4))
            assert bits(function(view)) == bits(function(view.copy()))


@dtypes
@functions
def test_stacks_have_the_bits_of_each_matrix_alone(name: str, dtype: str) -> None:
    if name in WHOLE:
        return
    function = ALL[name]
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


@dtypes
@functions
def test_empty_stacks(name: str, dtype: str) -> None:
    """The shapes and dtypes are those of a stack that has matrices."""
    if name in WHOLE:
        return
    for leading in ((0,), (2, 0), (0, 3), (0, 0, 2)):
        for m, n in ((3, 3), (1, 1), (2, 4), (4, 2)):
            if name in SQUARE and m != n:
                continue
            x = xp.zeros((*leading, m, n), dtype=dtype)
            alone = ALL[name](argument(name, (m, n), dtype))
            whole = ALL[name](x)
            parts = whole if isinstance(whole, tuple) else (whole,)
            others = alone if isinstance(alone, tuple) else (alone,)
            for one, other in zip(parts, others, strict=True):
                assert one.shape == (*leading, *other.shape) and one.size == 0
                assert_dtype(one, str(other.dtype))


@dtypes
@functions
def test_bits_are_reproducible(name: str, dtype: str) -> None:
    """The address of the argument does not matter."""
    x = argument(name, (3, 6, 5), dtype)
    wanted = bits(ALL[name](x))
    kept = []
    for i in range(6):
        kept.append(xp.zeros(7 + 13 * i, dtype="uint8"))
        copy = x.copy()
        kept.append(copy)
        assert bits(ALL[name](copy)) == wanted


@functions
def test_instruction_sets_do_not_change_the_bits(name: str) -> None:
    shapes = [(n, n) for n in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)] + [(9, 4), (4, 9), (20, 3)]
    for dtype in ("float32", "float64", "complex64", "complex128", "bfloat16"):
        arguments = [argument(name, shape, dtype) for shape in shapes]
        found = {}
        for level in ISAS:
            with instruction_set(level):
                found[level] = [bits(ALL[name](x)) for x in arguments]
        for level in ISAS[1:]:
            assert found[level] == found[ISAS[0]], f"{level} and {ISAS[0]} differ"


@functions
def test_threads_do_not_change_the_bits(name: str) -> None:
    """A stack large enough for threads to share the work."""
    for dtype, shape in (("float64", (3000, 4, 4)), ("complex64", (30, 16, 16))):
        x = argument(name, (50, *shape[1:]), dtype)
        whole = xp.tile(x, (shape[0] // 50 + 1, 1, 1))[: shape[0], ...]
        with threads(1):
            wanted = bits(ALL[name](whole))
        for count in (2, 4):
            with threads(count):
                assert bits(ALL[name](whole)) == wanted, (dtype, count)


@dtypes
def test_operands_of_solve_in_every_layout(dtype: str) -> None:
    for left, right in (((3, 3), (3, 4)), ((2, 4, 4), (4,)), ((2, 1, 3, 3), (2, 3, 2))):
        a, b = hard.regular(left, dtype), hard.stack(right, dtype)
        wanted = bits(xp.linalg.solve(a, b))
        for (layout, one), (other, two) in zip(views(a), itertools.cycle(views(b))):
            before = one.tobytes(), two.tobytes()
            for pair in ((one, b), (a, two), (one, two)):
                assert bits(xp.linalg.solve(*pair)) == wanted, (left, right, layout, other)
            assert (one.tobytes(), two.tobytes()) == before
    x = hard.regular((4, 4), dtype)
    wanted = bits(xp.linalg.solve(x, x.copy()))
    assert bits(xp.linalg.solve(x, x)) == wanted


@dtypes
def test_rtol_of_every_layout(dtype: str) -> None:
    x = hard.stack((3, 2, 4, 5), dtype)
    rtol = xp.reshape(xp.linspace(0.1, 0.9, 6), (3, 2))
    for function in (xp.linalg.pinv, xp.linalg.matrix_rank):
        wanted = bits(function(x, rtol=rtol))
        for layout, view in views(rtol):
            before = view.tobytes()
            assert bits(function(x, rtol=view)) == wanted, layout
            assert view.tobytes() == before
        wide = xp.broadcast_to(xp.asarray(0.3), (3, 2))
        assert bits(function(x, rtol=wide)) == bits(function(x, rtol=0.3))


@functions
def test_orders_of_axes_that_fit_no_vectors(name: str) -> None:
    """The stack's axes permuted, and between the axes of the matrices."""
    x = argument(name, (2, 3, 4, 4), "float64")
    memory = xp.permute_dims(x, (2, 0, 3, 1)).copy()
    view = xp.permute_dims(memory, (1, 3, 0, 2))
    assert bits(ALL[name](view)) == bits(ALL[name](x))
