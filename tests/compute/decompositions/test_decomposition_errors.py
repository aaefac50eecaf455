"""Arguments that decompositions and norms refuse: the exception, with what was seen."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import refusal, run_each
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.decomposition_calls import CALLS, OBLONG, SQUARE, Function, plain
from oracles.switches import threads

import refarray

xp: Any = refarray
nan, inf = math.nan, math.inf


@run_each("shape", [(), (3,), (0,)], ids=str)
@pytest.mark.parametrize("name", plain({**SQUARE, **OBLONG}))
def test_vectors_are_no_matrices(name: str, shape: tuple[int, ...]) -> None:
    with refusal(ValueError, f"{name}()", shape):
        CALLS[name](xp.ones(shape))


@run_each("shape", [(2, 3), (3, 2), (0, 1), (1, 0), (2, 3, 2), (0, 2, 3), (3, 3, 1)], ids=str)
@pytest.mark.parametrize("name", plain(SQUARE))
def test_matrices_that_are_not_square(name: str, shape: tuple[int, ...]) -> None:
    with refusal(ValueError, f"{name}()", shape):
        CALLS[name](xp.ones(shape))


SOLVE_SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 3), ()),
    ((3, 3), (2,)),
    ((3, 3), (1,)),
    ((3, 3), (2, 3)),
    ((3, 3), (1, 3)),
    ((3, 3), (4, 1)),
    ((2, 3, 3), (2, 3)),
    ((2, 3, 3), (3, 3, 1)),
    ((2, 3, 3), (3, 3, 3)),
    ((2, 4, 3, 3), (3, 3, 1)),
    ((0, 3, 3), (2, 3, 1)),
    ((0, 0), (1,)),
    ((1, 1), (0,)),
]


@run_each(("left", "right"), SOLVE_SHAPES)
def test_shapes_that_do_not_fit(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a = xp.ones(left) + xp.eye(left[-1])
    with refusal(ValueError, "solve()", left, right):
        xp.linalg.solve(a, xp.ones(right))


# --- singular and indefinite matrices

SINGULAR: dict[str, tuple[list[list[Any]], int]] = {
    "zero": ([[0, 0], [0, 0]], 0),
    "zero column": ([[1, 0, 2], [3, 0, 1], [1, 0, 1]], 1),
    "equal rows": ([[1, 2], [1, 2]], 1),
    "multiples": ([[1, 2], [2, 4]], 1),
    "last": ([[1, 0, 0], [0, 1, 0], [0, 0, 0]], 2),
    "one": ([[0]], 0),
}
DIVIDING: dict[str, Function] = {
    "inv": lambda x: xp.linalg.inv(x),
    "solve": lambda x: xp.linalg.solve(x, xp.ones(x.shape[-1], dtype=x.dtype)),
    "matrix_power": lambda x: xp.linalg.matrix_power(x, -3),
}


def names(text: str, number: int) -> bool:
    words = text.replace("(", " ").replace(")", " ").replace(",", " ").replace(":", " ").split()
    return str(number) in words


@run_each("dtype", em.DTYPES)
@run_each("kind", SINGULAR)
def test_singular_matrices(kind: str, dtype: str) -> None:
    rows, pivot = SINGULAR[kind]
    a = hard.array(rows, dtype)
    for name, function in DIVIDING.items():
        with pytest.raises(ValueError, match=rf"{name}\(\).*singular.*pivot {pivot}\b"):
            function(a)
    det = xp.linalg.det(a)
    assert det.shape == () and complex(det) == 0
    sign, logarithm = xp.linalg.slogdet(a)
    assert complex(sign) == 0 and float(logarithm) == -inf


@pytest.mark.parametrize("name", DIVIDING)
def test_singular_matrices_of_stacks(name: str) -> None:
    """The message names the first one."""
    rows, pivot = SINGULAR["zero column"]
    for shape, index in (((5,), (3,)), ((2, 4), (1, 2)), ((2, 1, 6), (1, 0, 5))):
        x = hard.regular((*shape, 3, 3), "float64")
        x[index] = hard.array(rows, "float64")
        with pytest.raises(ValueError, match=rf"{name}\(\).*pivot {pivot}\b") as caught:
            DIVIDING[name](x)
        assert all(names(str(caught.value), each) for each in index), str(caught.value)
        assert str(index) in str(caught.value)
    both = xp.zeros((4, 2, 2)) + xp.eye(2)
    both[1], both[3] = xp.zeros((2, 2)), xp.zeros((2, 2))
    with pytest.raises(ValueError, match=r"\(1,\)"):
        DIVIDING[name](both)


@pytest.mark.parametrize("count", [1, 4])
def test_the_first_singular_matrix_of_a_large_stack(count: int) -> None:
    """Whichever thread finds another one first."""
    x = xp.tile(hard.regular((1, 4, 4), "float64"), (6000, 1, 1))
    for first, others in ((4321, (4322, 5999)), (77, (78, 3000, 5999)), (0, (1, 5998))):
        y = x.copy()
        for each in (first, *others):
            y[each] = xp.zeros((4, 4))
        with threads(count):
            for name in DIVIDING:
                with pytest.raises(ValueError, match=rf"{name}\(\).*\({first},\).*pivot 0"):
                    DIVIDING[name](y)
            with pytest.raises(ValueError, match=rf"\({first},\).*pivot 0"):
                xp.linalg.cholesky(xp.matmul(y, y.mT))


def test_singular_matrices_of_stacks_in_determinants() -> None:
    x = hard.regular((2, 3, 3, 3), "float64")
    x[1, 2] = xp.zeros((3, 3))
    det, (sign, logarithm) = xp.linalg.det(x), xp.linalg.slogdet(x)
    assert float(det[1, 2]) == 0 == float(sign[1, 2])
    assert float(logarithm[1, 2]) == -inf
    assert int(xp.count_nonzero(det)) == 5 == int(xp.sum(xp.astype(xp.isfinite(logarithm), "int8")))


INDEFINITE: dict[str, tuple[list[list[Any]], int]] = {
    "negative": ([[-1]], 0),
    "zero": ([[0]], 0),
    "second": ([[1, 2], [2, 1]], 1),
    "semidefinite": ([[1, 1], [1, 1]], 1),
    "last": ([[1, 0, 0], [0, 1, 0], [0, 0, -1]], 2),
    "first": ([[-1, 0], [0, 1]], 0),
}


@run_each("dtype", em.DTYPES)
@run_each("upper", [False, True], ids=["lower", "upper"])
@run_each("kind", INDEFINITE)
def test_indefinite_matrices(kind: str, upper: bool, dtype: str) -> None:
    rows, pivot = INDEFINITE[kind]
    a = hard.array(rows, dtype)
    pattern = rf"cholesky\(\).*not positive definite.*pivot {pivot}\b"
    with pytest.raises(ValueError, match=pattern):
        xp.linalg.cholesky(a, upper=upper)
    n = len(rows)
    x = hard.positive_definite((2, 4, n, n), dtype)
    x[1, 3] = a
    with pytest.raises(ValueError, match=rf"\(1, 3\).*pivot {pivot}\b"):
        xp.linalg.cholesky(x, upper=upper)


@run_each("dtype", ["float64", "complex128"])
@run_each("pivot", [0, 1, 40, 149])
def test_the_first_pivot_of_a_large_matrix_that_is_not_positive(pivot: int, dtype: str) -> None:
    one = xp.reshape(xp.cos(xp.arange(150.0**2)), (150, 150)) + 300 * xp.eye(150)
    x = xp.astype(xp.stack([one, one, one]), dtype)
    x[1, pivot, pivot] = -1
    with pytest.raises(ValueError, match=rf"\(1,\).*pivot {pivot}\b"):
        xp.linalg.cholesky(x)


# --- other parameters


def test_modes_of_qr() -> None:
    x = xp.eye(3)
    for mode in ("", "full", "raw", "r", "Reduced", "reduced ", "complete\0", "é"):
        with pytest.raises(ValueError, match=r"qr\(\): mode is .*'reduced' or 'complete'"):
            xp.linalg.qr(x, mode=mode)
    for wrong in (None, 1, True, b"reduced", ["reduced"], 1.5):
        with pytest.raises(TypeError, match=rf"qr\(\): mode is .*{type(wrong).__name__}"):
            xp.linalg.qr(x, mode=wrong)


FLAGS: dict[str, tuple[Function, str]] = {
    "cholesky": (lambda flag: xp.linalg.cholesky(xp.eye(2), upper=flag), "upper"),
    "svd": (lambda flag: xp.linalg.svd(xp.eye(2), full_matrices=flag), "full_matrices"),
    "matrix_norm": (lambda flag: xp.linalg.matrix_norm(xp.eye(2), keepdims=flag), "keepdims"),
    "vector_norm": (lambda flag: xp.linalg.vector_norm(xp.eye(2), keepdims=flag), "keepdims"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flags_are_bools(name: str) -> None:
    """As keepdims of sum()."""
    function, parameter = FLAGS[name]
    for flag in (True, False):
        function(flag)
    for wrong in (None, 1, 0, 1.0, "True", [True]):
        with pytest.raises(TypeError, match=rf"{name}\(\).*{parameter}.*{type(wrong).__name__}"):
            function(wrong)


def test_exponents_of_matrix_power() -> None:
    x = xp.eye(2)
    for wrong in (None, 2.0, "2", 1j, [2], (2,), True, False, xp.asarray(2.0), xp.ones(2)):
        with pytest.raises(TypeError):
            xp.linalg.matrix_power(x, wrong)


@pytest.mark.parametrize("name", ["pinv", "matrix_rank"])
def test_wrong_rtol(name: str) -> None:
    function = getattr(xp.linalg, name)
    x = xp.ones((2, 3, 4, 4))
    for number in (-1, -0.5, -inf, nan, -5e-324):
        with pytest.raises(ValueError, match=rf"{name}\(\).*rtol"):
            function(x, rtol=number)
    for wrong in (True, False, "0.1", 1j, [0.1], (0.1,), b"1", object()):
        with pytest.raises(TypeError, match=f"rtol.*{type(wrong).__name__}"):
            function(x, rtol=wrong)
    for dtype in ("bool", "int64", "uint8", "complex64", "complex128", "float8_e5m2"):
        with pytest.raises((TypeError, ValueError), match=dtype):
            function(x, rtol=xp.ones((2, 3), dtype=dtype))
    for shape in ((2,), (4,), (3, 2), (2, 2), (1, 2, 3), (2, 3, 1), (2, 3, 4, 4), (0,)):
        with refusal(ValueError, f"{name}()", "rtol", shape):
            function(x, rtol=xp.zeros(shape))
    with pytest.raises(ValueError, match="rtol"):
        function(x[0, 0], rtol=xp.zeros(1))


def test_orders_of_vector_norm() -> None:
    x = xp.ones(3)
    wrong = ("2", "fro", "", None, 1j, [2], (2,), True, False, b"1", object(), xp.ones(2))
    for order in wrong:
        with pytest.raises(TypeError):
            xp.linalg.vector_norm(x, ord=order)
    with pytest.raises(ValueError, match=r"vector_norm\(\).*ord.*(?i:nan)"):
        xp.linalg.vector_norm(x, ord=nan)


def test_axes_of_vector_norm() -> None:
    x = xp.ones((2, 3, 4))
    for axes in ((0, 0), (1, -2), (0, 1, 0), (-1, 2)):
        with pytest.raises(ValueError, match="axis"):
            xp.linalg.vector_norm(x, axis=axes)
    for axis in (3, -4, 64, 2**62, (0, 3), (-4,), (2**62, 0)):
        with pytest.raises(IndexError, match="axis.*3"):
            xp.linalg.vector_norm(x, axis=axis)
    for wrong in (1.0, "0", 1j, (0, 1.0), ("0",), (None,), object()):
        with pytest.raises(TypeError):
            xp.linalg.vector_norm(x, axis=wrong)
    with pytest.raises(IndexError):
        xp.linalg.vector_norm(xp.ones(()), axis=0)


def test_orders_of_matrix_norm() -> None:
    x = xp.ones((2, 2))
    values: tuple[Any, ...] = (0, 3, -3, 0.5, 1.5, "Fro", "nuclear", "", "inf", "1", nan)
    for order in values:
        with pytest.raises(ValueError, match=r"matrix_norm\(\).*ord"):
            xp.linalg.matrix_norm(x, ord=order)
    others: tuple[Any, ...] = ([1], (1,), 1j, b"fro", object())
    for order in others:
        with pytest.raises((TypeError, ValueError)):
            xp.linalg.matrix_norm(x, ord=order)


@run_each("name", plain(CALLS))
def test_huge_extents_are_refused(name: str) -> None:
    """Of arrays without memory of their size: their strides are 0."""
    x = xp.broadcast_to(xp.ones((1, 1)), (2**28, 2**28))
    if name in ("matrix_norm", "solve", "vector_norm"):
        return
    with pytest.raises((MemoryError, OverflowError)):
        CALLS[name](x)
