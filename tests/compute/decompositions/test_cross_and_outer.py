"""cross and outer against products in Python: axes, broadcasting, promotion, integers that wrap."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import run_each
from oracles.nested import Shape

import refarray

xp: Any = refarray


WRONG_CROSS: list[tuple[Shape, Shape, int, type[Exception]]] = [
    ((2,), (2,), -1, ValueError),
    ((3,), (1,), -1, ValueError),
    ((1,), (3,), -1, ValueError),
    ((3,), (4,), -1, ValueError),
    ((0,), (3,), -1, ValueError),
    ((3, 2), (3, 2), -1, ValueError),
    ((2, 3), (4, 3), -1, ValueError),
    ((3, 2), (3, 4), -2, ValueError),
    ((2, 3), (2, 3), -2, ValueError),
    ((3, 3), (3, 3), 0, IndexError),
    ((3, 3), (3, 3), 1, IndexError),
    ((3,), (3,), 0, IndexError),
    ((3,), (3,), -2, IndexError),
    ((3, 3), (3,), -2, IndexError),
    ((3, 3, 3), (3, 3), -3, IndexError),
    ((3,), (3,), 2**62, IndexError),
    ((3,), (3,), -(2**62), IndexError),
]


@run_each(("left", "right", "axis", "error"), WRONG_CROSS)
def test_wrong_arguments_of_cross(
    left: Shape, right: Shape, axis: int, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"cross\(\)") as caught:
        xp.linalg.cross(xp.ones(left), xp.ones(right), axis=axis)
    text = str(caught.value)
    named = [str(axis)] if error is IndexError else [str(left), str(right)]
    assert all(each in text for each in named), text


def test_axes_of_other_types_are_refused() -> None:
    x = xp.ones(3)
    for axis in (None, 1.0, "1", (0,), [-1], 1j):
        with pytest.raises(TypeError, match=f"axis.*{type(axis).__name__}"):
            xp.linalg.cross(x, x, axis=axis)
    with pytest.raises((OverflowError, IndexError), match="axis"):
        xp.linalg.cross(x, x, axis=2**64)


# --- outer


def test_wrong_arguments_of_outer() -> None:
    for left, right in (((), ()), ((3,), ()), ((), (3,)), ((1, 3), (3,)), ((3,), (3, 1))):
        with pytest.raises(ValueError, match=r"outer\(\)") as caught:
            xp.linalg.outer(xp.ones(left), xp.ones(right))
        assert str(left) in str(caught.value) and str(right) in str(caught.value)
