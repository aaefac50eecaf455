"""Lazy namespaces, and namespaces without masks or without shapes that depend on elements."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each

import refarray

pytestmark = pytest.mark.every_python

lazy: Any = refarray.namespace(lazy=True)
strict: Any = refarray.namespace(lazy=True, strict=True)
both = run_each("xp", [lazy, strict], ids=["open", "strict"])

COUNTING: dict[str, Callable[[Any, Any], Any]] = {
    "nonzero": lambda xp, x: xp.nonzero(x),
    "unique_all": lambda xp, x: xp.unique_all(x),
    "unique_counts": lambda xp, x: xp.unique_counts(x),
    "unique_inverse": lambda xp, x: xp.unique_inverse(x),
    "unique_values": lambda xp, x: xp.unique_values(x),
    "repeat": lambda xp, x: xp.repeat(x, x),
}
MASKS: dict[str, Callable[[Any], Any]] = {
    "a mask": lambda x: x[x > 1],
    "a mask of nothing": lambda x: x[x > 9],
    "a tuple": lambda x: x[(x > 1,)],
    "ndim 0": lambda x: x[x[0] > 0],
}


@both
@run_each("convert", [bool, int, float, complex, math.sqrt])
def test_numbers_are_not_computed(xp: Any, convert: Any) -> None:
    for number in (1.0, 1, True, 1j):
        with pytest.raises(ValueError, match="refarray_.*lazy"):
            convert(xp.asarray(number))


@both
def test_branches_loops_and_indices_need_numbers(xp: Any) -> None:
    x = xp.asarray([1, 2, 3])
    for use in (
        lambda: 1 if xp.any(x > 2) else 0,
        lambda: not xp.all(x > 2),
        lambda: xp.sum(x) > 2 and x,
        lambda: [7, 8, 9][x[0]],
        lambda: list(range(xp.sum(x))),
        lambda: x[x[0]],
        lambda: x[: x[1]],
        lambda: xp.zeros(x[0]),
        lambda: xp.reshape(x, (x[2], 1)),
        lambda: max(x),
        lambda: f"{x[0]:d}" if xp is lazy else int(x[0]),
    ):
        with pytest.raises(ValueError, match="lazy"):
            use()
    for method in ("tolist", "item", "__round__"):
        if xp is lazy:
            with pytest.raises(ValueError, match="lazy"):
                getattr(x[0], method)()


@both
def test_what_needs_no_elements_works(xp: Any) -> None:
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    y = xp.where(x > 2, x, 0.0) + xp.sum(x, axis=0)
    assert y.shape == (2, 2) and y.dtype == xp.float64 and y.__array_namespace__() is xp
    assert refarray.asarray(y).tolist() == [[4.0, 6.0], [7.0, 10.0]], "an export computes"
    assert str(xp.asarray([1])) == "[1]" and f"{x[0, 0]}"
    x[0, :] = 0.0
    assert pickle.loads(pickle.dumps(x)).__array_namespace__() is xp


@run_each("modes", [{}, {"strict": True}, {"immutable": True}], ids=str)
@pytest.mark.parametrize("name", COUNTING)
def test_shapes_that_depend_on_elements(modes: dict[str, bool], name: str) -> None:
    function = COUNTING[name]
    for more in ({"lazy": True}, {"data_dependent_shapes": False}):
        xp: Any = refarray.namespace(**modes, **more)
        with pytest.raises(NotImplementedError, match=f"{name}.*data_dependent_shapes=False"):
            function(xp, xp.asarray([1, 2, 0]))
        assert xp.repeat(xp.asarray([1, 2]), 2).shape == (4,)
        assert not xp.__array_namespace_info__().capabilities()["data-dependent shapes"]
    xp = refarray.namespace(**modes, boolean_indexing=False)
    function(xp, xp.asarray([1, 2, 0]))
    assert xp.__array_namespace_info__().capabilities()["data-dependent shapes"]


@run_each("modes", [{}, {"strict": True}], ids=str)
@run_each("what", MASKS)
def test_masks(modes: dict[str, bool], what: str) -> None:
    index = MASKS[what]
    for more in ({"lazy": True}, {"boolean_indexing": False}):
        xp: Any = refarray.namespace(**modes, **more)
        x = xp.asarray([1, 2, 3])
        if not (modes and what in ("ndim 0",)):
            with pytest.raises(NotImplementedError, match="boolean_indexing=False"):
                index(x)
        with pytest.raises(NotImplementedError, match="boolean_indexing=False"):
            x[x > 1] = 0
        assert refarray.asarray(x).tolist() == [1, 2, 3]
        assert not xp.__array_namespace_info__().capabilities()["boolean indexing"]
        assert xp.take(x, xp.asarray([0])).shape == (1,)
    xp = refarray.namespace(**modes, data_dependent_shapes=False)
    index(xp.asarray([1, 2, 3]))


def test_flags() -> None:
    for name in ("boolean_indexing", "data_dependent_shapes"):
        assert refarray.namespace(lazy=True, **{name: True}) is not lazy  # test_unknown_extents.py
        for wrong in (1, "no"):
            with pytest.raises(TypeError, match=name):
                refarray.namespace(**{name: wrong})
    explicit = refarray.namespace(lazy=True, boolean_indexing=False, data_dependent_shapes=False)
    assert explicit is lazy
    assert refarray.namespace(boolean_indexing=True, data_dependent_shapes=True) is refarray
    assert refarray.namespace(lazy=False, boolean_indexing=None) is refarray
