"""Operators with operands that are neither arrays nor Python numbers, and those that do not exist.

The values of the others are tested in tests/compute.
"""

from __future__ import annotations

import operator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from helpers.cases import run_each

import refarray

ARITHMETIC = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("lshift", "rshift", "and_", "or_", "xor"),
]
IN_PLACE = [f"i{name.rstrip('_')}" for name in ARITHMETIC]
ORDER = ["lt", "le", "gt", "ge"]


class Plain:
    """Implements no operator."""


class Reflecting:
    """Implements the reflected operators, and answers with its own name."""

    def answer(self, other: object) -> str:
        return f"{type(self).__name__} and {type(other).__name__}"

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = answer
    __rpow__ = __rlshift__ = __rrshift__ = __rand__ = __ror__ = __rxor__ = answer
    __lt__ = __le__ = __gt__ = __ge__ = answer

    def __eq__(self, other: object) -> Any:
        return self.answer(other)

    def __hash__(self) -> int:
        return 0


@run_each("other", [None, "text", [1, 2, 3], Plain()], ids=["None", "text", "list", "object"])
@pytest.mark.parametrize("name", [*ARITHMETIC, *IN_PLACE, *ORDER])
def test_other_objects_are_not_operands(name: str, other: object) -> None:
    work, x = getattr(operator, name), refarray.ones(3, dtype="int64")
    with pytest.raises(TypeError):  # the interpreter words it, by operator and operand
        work(x, other)
    assert x.tolist() == [1, 1, 1]


@pytest.mark.computes
@run_each("other", ["text", b"text", bytearray(2), [1, 2], (1,), memoryview(b"a")])
def test_no_sequence_is_repeated_by_an_integer_array(other: Any) -> None:
    two = refarray.asarray(2)
    for work in (lambda: two * other, lambda: other * two, lambda: operator.imul(other, two)):
        with pytest.raises(TypeError, match="multiply|unsupported operand"):
            work()


@run_each("name", [*ARITHMETIC, *ORDER])
def test_the_other_operand_is_asked(name: str) -> None:
    assert getattr(operator, name)(refarray.ones(3), Reflecting()) == "Reflecting and Array"


def test_equality_with_other_objects_is_that_of_python() -> None:
    x = refarray.ones(3)
    for other in (None, "text", [1.0], Plain()):
        assert (x == other) is False
        assert (x != other) is True
    assert (x == Reflecting()) == "Reflecting and Array"


def test_operators_without_a_function_of_the_standard_are_refused() -> None:
    x = refarray.ones(3)
    for work in (
        lambda: divmod(x, 2),
        lambda: divmod(2, x),
        lambda: pow(x, 2, 3),
    ):
        with pytest.raises(TypeError, match="unsupported operand"):
            work()


class Dividing:
    def __divmod__(self, other: object) -> str:
        return "left"

    def __rdivmod__(self, other: object) -> str:
        return "right"


@pytest.mark.computes
@pytest.mark.parametrize("mode", [{}, {"immutable": True}, {"lazy": True}, {"strict": True}])
def test_divmod_does_not_become_that_of_numpy(mode: dict[str, Any]) -> None:
    x = refarray.namespace(**mode).ones(2)
    others = [x, memoryview(b"ab")]
    if find_spec("numpy"):
        numpy = import_module("numpy")
        others += [numpy.float64(2), numpy.ones(2), numpy.ones(())]
    for other in others:
        for pair in ((x, other), (other, x)):
            with pytest.raises(TypeError):
                divmod(*pair)
    assert divmod(x, Dividing()) == "right" and divmod(Dividing(), x) == "left"


class WithoutIndex:
    __index__ = None

    def __radd__(self, other: object) -> str:
        return "theirs"


def test_none_opts_out_of_a_special_method() -> None:
    x = refarray.ones(2)
    assert x + WithoutIndex() == "theirs" and (x == WithoutIndex()) is False
    for call in (refarray.asarray, lambda v: refarray.full(1, v), refarray.arange):
        with pytest.raises(TypeError, match="WithoutIndex"):
            call(WithoutIndex())


def test_arrays_stay_unhashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(refarray.ones(3))
