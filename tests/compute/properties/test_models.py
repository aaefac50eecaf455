"""Every function against its model, for random arguments in every layout."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.nested import Nested

import refarray
from properties.arrays import examples
from properties.models import MODELS
from properties.models.registry import Call, Near, Result, check
from refarray import Array


def contiguous(value: Any) -> Any:
    """An argument with copies in place of views."""
    if isinstance(value, Array):
        return refarray.copy(value)
    if isinstance(value, (list, tuple)):
        return type(value)(contiguous(each) for each in value)
    return value


def text(value: Any) -> str:
    """What an argument or a result holds, with the signs of zeros."""
    if isinstance(value, Array):
        return f"{value.dtype}{value.shape}{value.tolist()}"
    if isinstance(value, (list, tuple)):
        return f"{[text(each) for each in value]}"
    return repr(value)


def assert_is_model(name: str, call: Call) -> None:
    before = text(call.arguments)
    function = operator.attrgetter(name)(refarray)
    out = function(*call.arguments, **call.keywords)
    check(out, call)
    assert text(call.arguments) == before, "an argument was changed"
    if not name.startswith("empty"):
        copies = [contiguous(each) for each in call.arguments]
        again = function(*copies, **{k: contiguous(v) for k, v in call.keywords.items()})
        assert text(again) == text(out) or "object at" in text(out), "the layout has an effect"


@pytest.mark.parametrize("name", sorted(MODELS))
@settings(deadline=None, max_examples=examples(0.15))
@given(data=st.data())
def test_function_is_its_model(name: str, data: st.DataObject) -> None:
    # Dtypes, shapes, layouts and keywords differ: an example is several calls. Those of the models
    # of decompositions take ten times as long as others.
    for _ in range(2 if name.startswith("linalg.") else 4):
        assert_is_model(name, MODELS[name](data.draw))


WANTED = Result(Nested([0.0, 2.0], (2,)), "float32")
WRONG = {
    "an element": refarray.asarray([0.0, 3.0], dtype="float32"),
    "the sign of a zero": refarray.asarray([-0.0, 2.0], dtype="float32"),
    "NaN": refarray.asarray([0.0, float("nan")], dtype="float32"),
    "the dtype": refarray.asarray([0.0, 2.0], dtype="float64"),
    "the shape": refarray.asarray([[0.0, 2.0]], dtype="float32"),
    "the type": [0.0, 2.0],
}


@run_each("what", WRONG)
def test_a_wrong_result_is_found(what: str) -> None:
    check(refarray.asarray([0.0, 2.0], dtype="float32"), Call((), WANTED))
    with pytest.raises(AssertionError):
        check(WRONG[what], Call((), WANTED))
    with pytest.raises(AssertionError):
        check((WRONG[what],), Call((), (WANTED,)))


def test_an_inexact_element_has_a_bound() -> None:
    wanted = Result(Nested([Near(Fraction(1, 3), 1.0)], (1,)), "float64")
    for error, is_right in ((0.0, True), (2.0**-54, True), (2.0**-52, False)):
        out = refarray.asarray([1 / 3 + error])
        if is_right:
            check(out, Call((), wanted))
        else:
            with pytest.raises(AssertionError):
                check(out, Call((), wanted))
