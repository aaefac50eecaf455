"""Every function against its model, for random arguments in every layout."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray
from properties.arrays import examples
from properties.models import MODELS
from properties.models.registry import check
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


@pytest.mark.parametrize("name", sorted(MODELS))
@settings(deadline=None, max_examples=examples(0.15))
@given(data=st.data())
def test_function_is_its_model(name: str, data: st.DataObject) -> None:
    call = MODELS[name](data.draw)
    before = text(call.arguments)
    function = getattr(refarray, name)
    out = function(*call.arguments, **call.keywords)
    check(out, call)
    assert text(call.arguments) == before, "an argument was changed"
    if not name.startswith("empty"):
        copies = [contiguous(each) for each in call.arguments]
        again = function(*copies, **{k: contiguous(v) for k, v in call.keywords.items()})
        assert text(again) == text(out) or "object at" in text(out), "the layout has an effect"
