"""Arithmetic and comparison operators are not implemented and raise TypeError."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import refarray

BINARY = [
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"),
    *("lshift", "rshift", "and_", "or_", "xor"),
]
IN_PLACE = [
    *("iadd", "isub", "imul", "imatmul", "itruediv", "ifloordiv", "imod", "ipow"),
    *("ilshift", "irshift", "iand", "ior", "ixor"),
]
UNARY = ["neg", "pos", "abs", "invert"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


class Plain:
    """Implements no operator."""


OTHER_OPERANDS: dict[str, Callable[[], Any]] = {
    "array": lambda: refarray.ones(3),
    "number": lambda: 2,
    "list": lambda: [1, 2, 3],
    "object": Plain,
}


@pytest.mark.parametrize("other", OTHER_OPERANDS)
@pytest.mark.parametrize("name", [*BINARY, *IN_PLACE])
def test_arithmetic_is_refused(name: str, other: str) -> None:
    work, x, y = getattr(operator, name), refarray.ones(3), OTHER_OPERANDS[other]()
    with pytest.raises(TypeError, match="no arithmetic yet.*pass the array to a library"):
        work(x, y)
    if not name.startswith("i") and other != "list":
        with pytest.raises(TypeError, match="no arithmetic yet"):
            work(y, x)
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", UNARY)
def test_unary_operators_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="no arithmetic yet"):
        getattr(operator, name)(refarray.ones(3))


def test_functions_that_compute_are_refused() -> None:
    x = refarray.ones(3)
    for work in (lambda: divmod(x, 2), lambda: divmod(2, x), lambda: pow(x, 2, 3)):
        with pytest.raises(TypeError, match="no arithmetic yet"):
            work()


@pytest.mark.parametrize("other", OTHER_OPERANDS)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison_is_refused(name: str, other: str) -> None:
    """Comparing identities would be wrong, and a result that is not a bool would break `if`."""
    work, x, y = getattr(operator, name), refarray.ones(3), OTHER_OPERANDS[other]()
    for left, right in ((x, y), (y, x)):
        with pytest.raises(TypeError, match="cannot be compared yet.*tolist"):
            work(left, right)
    with pytest.raises(TypeError, match="cannot be compared yet"):
        assert x in [y]
