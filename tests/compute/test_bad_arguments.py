"""Bad arguments of every function: the exception that the standard names, with the values seen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import refusal, run_each

import refarray

pytestmark = pytest.mark.every_python

xp: Any = refarray
#: Functions of one array, with the further arguments that they need.
OTHERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("sum", "prod", "mean", "var", "std", "min", "max", "any", "all"), ()),
    **dict.fromkeys(("count_nonzero", "argmin", "argmax", "nonzero", "sort", "argsort"), ()),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), ()),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod", "diff", "tril", "triu", "unstack"), ()),
    "matrix_transpose": (),
    "repeat": (2,),
    "roll": (1,),
    "tile": ((2,),),
    "clip": (0, 1),
}
REDUCTIONS = [*list(OTHERS)[:10]]
ONE_AXIS = ["argmin", "argmax", "sort", "argsort", "cumulative_sum", "cumulative_prod", "diff"]


@run_each("name", [*REDUCTIONS, *ONE_AXIS])
def test_axes_out_of_range_raise(name: str) -> None:
    x = xp.ones((2, 3))
    for axis in (2, -3, 64, 2**62, -(2**62)):
        with refusal(IndexError, axis, "2"):
            getattr(xp, name)(x, axis=axis)
    for axis in (2**64, -(2**70)):
        with pytest.raises((IndexError, OverflowError)):
            getattr(xp, name)(x, axis=axis)
    for wrong in (0.0, "0", 1j, [0.5], object()):
        with pytest.raises(TypeError):
            getattr(xp, name)(x, axis=wrong)
    with pytest.raises((IndexError, ValueError), match="0"):
        getattr(xp, name)(xp.ones(()), axis=0)


@run_each("name", REDUCTIONS)
def test_tuples_of_axes_are_checked(name: str) -> None:
    x = xp.ones((2, 3))
    for axes in ((0, 2), (-3,), (0, 1, 2)):
        with refusal(IndexError, "2"):
            getattr(xp, name)(x, axis=axes)
    for axes in ((0, 0), (1, -1), (0, -2), (0, 1, 0)):
        with pytest.raises(ValueError, match="more than once|repeated"):
            getattr(xp, name)(x, axis=axes)
    for wrong in ((0, "1"), (0.0,), ((0,),)):
        with pytest.raises(TypeError):
            getattr(xp, name)(x, axis=wrong)


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_dtypes_of_results_are_checked(name: str) -> None:
    x = xp.ones(3)
    with pytest.raises(ValueError, match="float31"):
        getattr(xp, name)(x, dtype="float31")
    for wrong in (1, 1.5, object()):
        with pytest.raises(TypeError):
            getattr(xp, name)(x, dtype=wrong)
    with refusal(TypeError, "complex64", "float64"):
        getattr(xp, name)(xp.ones(3, dtype="complex64"), dtype=xp.float64)


@pytest.mark.parametrize("name", ["var", "std"])
def test_corrections_are_checked(name: str) -> None:
    for wrong in ("1", None, 1j, xp.ones(1)):
        with pytest.raises(TypeError):
            getattr(xp, name)(xp.ones(3), correction=wrong)


def test_results_that_are_too_large_raise() -> None:
    """Each operand has no memory of its size: its strides are 0."""
    column = xp.broadcast_to(xp.ones((1, 1)), (2**40, 1))
    row = xp.broadcast_to(xp.ones((1, 1)), (1, 2**40))
    work: Callable[..., Any]
    for work in (
        lambda: xp.add(column, row),
        lambda: column < row,
        lambda: xp.where(xp.asarray(True), column, row),
        lambda: xp.broadcast_arrays(column, row),
        lambda: xp.exp(xp.broadcast_to(xp.ones(()), (2**60,))),
        lambda: xp.concat([column, column]),
        lambda: xp.sort(column, axis=0),
    ):
        with pytest.raises((OverflowError, MemoryError, ValueError)):
            work()
    wide = xp.broadcast_to(xp.ones((1,) * 60), (1,) * 60)
    assert (wide + xp.ones((1,) * 64)).ndim == 64
    with pytest.raises(ValueError, match="64"):
        xp.stack([xp.ones((1,) * 64)])
    with pytest.raises(ValueError, match="64"):
        xp.tile(xp.ones(1), (1,) * 65)


EMPTY = xp.broadcast_to(xp.zeros((1, 0)), (2**62, 0))
#: A call, its exception and the words that the message has.
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: xp.concat([EMPTY] * 3), OverflowError, r"concat\(\): the extent of axis 0"),
    (lambda: xp.diff(EMPTY, axis=0, prepend=EMPTY, append=EMPTY), OverflowError, "joined axis 0"),
    (lambda: xp.diff(xp.zeros(3), prepend=xp.zeros(1, dtype="int32")), TypeError, "prepend is int"),
    (lambda: xp.repeat(xp.zeros(3), xp.asarray([2**62] * 3)), OverflowError, "sum of repeats"),
    (lambda: xp.repeat(xp.zeros((1,) * 64), 2, axis=0), ValueError, "ndim 64; the limit is 63"),
    (lambda: xp.meshgrid(*[xp.zeros(1)] * 65), ValueError, "65 arrays; the limit is 64"),
    (lambda: xp.isdtype(xp.float32, (("bool",),)), TypeError, r"kind\[0\] is a tuple"),
    (lambda: xp.searchsorted(xp.zeros(3), xp.zeros(1), side=1), TypeError, "side .* not int"),
]


@run_each("case", range(len(REFUSED)))
def test_what_is_refused_is_named(case: int) -> None:
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call()


def test_failing_operations_leave_their_operands_whole() -> None:
    x = xp.asarray([1, 2, 3], dtype="int8")
    work: Callable[..., Any]
    for work in (
        lambda y: y.__iadd__(300),
        lambda y: y.__iadd__(xp.asarray([1.0])),
        lambda y: y.__iadd__(xp.asarray([1, 2])),
        lambda y: y.__setitem__(xp.asarray([0, 7]), 5),
        lambda y: y.__setitem__(xp.asarray([True, False]), 5),
        lambda y: y.__ipow__(None),
    ):
        y = x.copy()
        with contextlib.suppress(TypeError, ValueError, IndexError, OverflowError):
            assert work(y) is NotImplemented
        assert y.tolist() == [1, 2, 3]


def test_shifts_and_axes_of_roll_come_in_equal_numbers() -> None:
    x = xp.zeros((2, 3))
    for shift, axis in (((1,), (0, 1)), ([1, 2], 0), ((1, 2, 3), (0, 1))):
        with pytest.raises(ValueError, match=r"shift has \d entries, axis has \d"):
            xp.roll(x, shift, axis=axis)
    assert xp.roll(x, 1, axis=(0, 1)).shape == (2, 3)


def test_messages_name_the_function_that_was_called() -> None:
    with pytest.raises(TypeError, match=r"clip\(\): a Python float beside an array of int8"):
        xp.clip(xp.asarray([1], dtype="int8"), 1.5, None)
    with pytest.raises(TypeError, match=r"clip\(\): max is a complex number; x is float64"):
        xp.clip(xp.asarray([1.0]), None, 1j)
    with pytest.raises(TypeError, match="arrays of bool or numeric dtypes, not float8_e5m2"):
        xp.add(xp.zeros(1, dtype="float8_e5m2"), 1)
