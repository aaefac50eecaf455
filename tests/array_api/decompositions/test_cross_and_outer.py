"""cross and outer against products in Python: axes, broadcasting, promotion, integers that wrap."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype
from oracles.formats import INTEGERS, NUMERIC
from oracles.layouts import views
from oracles.nested import Nested, Shape, broadcast, from_array, made
from oracles.products import as_array, large_numbers, small_numbers, to_format
from oracles.promotion import PROMOTION

import refarray

xp: Any = refarray
nan, inf = math.nan, math.inf
#: Shapes of two operands and the axis.
CASES: list[tuple[Shape, Shape, int]] = [
    ((3,), (3,), -1),
    ((2, 3), (2, 3), -1),
    ((3, 2), (3, 2), -2),
    ((3, 3), (3, 3), -1),
    ((3, 3), (3, 3), -2),
    ((2, 3), (3,), -1),
    ((3,), (2, 3), -1),
    ((4, 1, 3), (2, 3), -1),
    ((1, 3), (5, 3), -1),
    ((3, 1), (3, 5), -2),
    ((3, 4, 1), (3, 1, 2), -3),
    ((2, 3, 4), (3, 1), -2),
    ((3, 4), (2, 3, 1), -2),
    ((5, 3, 3, 3), (3, 3, 3), -3),
    ((0, 3), (3,), -1),
    ((3, 0), (3, 1), -2),
    ((1, 3), (0, 3), -1),
]


def cross_model(x: Nested, y: Nested, axis: int, dtype: str) -> Nested:
    shape = broadcast([x.shape, y.shape])
    assert shape is not None

    def at(model: Nested, index: tuple[int, ...], component: int) -> Any:
        place = list(index)
        place[axis] = component
        own = place[len(index) - len(model.shape) :]
        return model.at([i if n > 1 else 0 for i, n in zip(own, model.shape, strict=True)])

    def element(index: tuple[int, ...]) -> Any:
        a, b = (index[axis] + 1) % 3, (index[axis] + 2) % 3
        left = at(x, index, a) * at(y, index, b)
        return to_format(left - at(x, index, b) * at(y, index, a), dtype)

    return made(shape, element)


def numbers(dtype: str, shape: Shape, seed: int) -> Nested:
    return (large_numbers if dtype in INTEGERS else small_numbers)(dtype, shape, seed)


def assert_nested(out: Any, right: Nested, dtype: str) -> None:
    assert_dtype(out, dtype)
    assert out.shape == right.shape
    assert not out.size or from_array(out).values == right.values


@run_each("dtype", NUMERIC)
def test_cross_products(dtype: str) -> None:
    for left, right, axis in CASES:
        x, y = numbers(dtype, left, 1), numbers(dtype, right, 2)
        model = cross_model(x, y, axis, dtype)
        a, b = as_array(x, dtype), as_array(y, dtype)
        assert_nested(xp.linalg.cross(a, b, axis=axis), model, dtype)
        if axis == -1:
            assert_nested(xp.linalg.cross(a, b), model, dtype)


@run_each("dtype", NUMERIC)
def test_unit_vectors(dtype: str) -> None:
    e = xp.eye(3, dtype=dtype)
    for i in range(3):
        out = xp.linalg.cross(e[i], e[(i + 1) % 3])
        assert out.tolist() == e[(i + 2) % 3].tolist()
        assert not xp.any(xp.linalg.cross(e[i], e[i]))


@run_each("left", NUMERIC)
def test_cross_and_outer_promote_their_operands(left: str) -> None:
    for right in NUMERIC:
        x, y = small_numbers(left, (3,), 1), small_numbers(right, (3,), 2)
        a, b = as_array(x, left), as_array(y, right)
        if (left, right) not in PROMOTION:
            for function in (xp.linalg.cross, xp.linalg.outer):
                with pytest.raises(TypeError, match=rf"{function.__name__}\(\).*{left}.*{right}"):
                    function(a, b)
            continue
        dtype = PROMOTION[left, right]
        assert_nested(xp.linalg.cross(a, b), cross_model(x, y, -1, dtype), dtype)
        assert_nested(xp.linalg.outer(a, b), outer_model(x, y, dtype), dtype)


@pytest.mark.parametrize("name", ["cross", "outer"])
@run_each("dtype", ["int8", "uint32", "bfloat16", "float64", "complex64"])
def test_every_layout(dtype: str, name: str) -> None:
    shape = (5, 3) if name == "cross" else (7,)
    function = getattr(xp.linalg, name)
    x, y = (as_array(large_numbers(dtype, shape, seed), dtype) for seed in (1, 2))
    right = function(x, y).tobytes()
    for (layout, one), (_, other) in zip(views(x), views(y), strict=True):
        for pair in ((one, y), (x, other), (one, other)):
            before = [each.tobytes() for each in pair]
            out = function(*pair)
            assert out.tobytes() == right, layout
            assert [each.tobytes() for each in pair] == before
            assert out.is_contiguous() and not out.readonly


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_operands_with_strides_of_zero(dtype: str) -> None:
    point = xp.broadcast_to(xp.asarray([2], dtype=dtype), (3,))
    x = xp.asarray([1, 2, 3], dtype=dtype)
    assert xp.linalg.cross(point, x).tolist() == [2, -4, 2]
    assert xp.linalg.cross(x, x).tolist() == [0, 0, 0]
    assert xp.linalg.outer(point, x).tolist() == [[2, 4, 6]] * 3
    assert xp.linalg.outer(x, x).tolist() == [[1, 2, 3], [2, 4, 6], [3, 6, 9]]


def test_special_values_of_cross() -> None:
    x = xp.asarray([[nan, 0.0, 0.0], [1.0, inf, 0.0], [1.0, 2.0, 3.0]])
    y = xp.asarray([[1.0, 2.0, 3.0]] * 3)
    out = xp.linalg.cross(x, y).tolist()
    assert out[2] == [0.0, 0.0, 0.0]
    assert out[0][0] == 0 and all(math.isnan(each) for each in out[0][1:])
    assert out[1][0] == inf and out[1][1] == -3 and out[1][2] == -inf


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


def outer_model(x: Nested, y: Nested, dtype: str) -> Nested:
    shape = (len(x.values), len(y.values))
    return made(shape, lambda i: to_format(x.values[i[0]] * y.values[i[1]], dtype))


@run_each("dtype", NUMERIC)
def test_outer_products(dtype: str) -> None:
    """Complex numbers are not conjugated."""
    for m, n in ((1, 1), (3, 2), (2, 3), (1, 5), (5, 1), (17, 33), (0, 3), (3, 0), (0, 0)):
        x, y = numbers(dtype, (m,), 1), numbers(dtype, (n,), 2)
        out = xp.linalg.outer(as_array(x, dtype), as_array(y, dtype))
        assert_nested(out, outer_model(x, y, dtype), dtype)


def test_wrong_arguments_of_outer() -> None:
    for left, right in (((), ()), ((3,), ()), ((), (3,)), ((1, 3), (3,)), ((3,), (3, 1))):
        with pytest.raises(ValueError, match=r"outer\(\)") as caught:
            xp.linalg.outer(xp.ones(left), xp.ones(right))
        assert str(left) in str(caught.value) and str(right) in str(caught.value)


@pytest.mark.parametrize("name", ["cross", "outer"])
def test_other_arguments_are_refused(name: str) -> None:
    function, x = getattr(xp.linalg, name), xp.ones(3)
    for wrong in (None, "text", [1.0, 2.0, 3.0], (1.0, 2.0, 3.0), b"123"):
        for pair in ((wrong, x), (x, wrong)):
            with pytest.raises(TypeError, match=rf"{name}\(\).*{type(wrong).__name__}"):
                function(*pair)
    for dtype in ("bool", "complex32", "float8_e5m2", "float4_e2m1fn", "float32x4"):
        y = xp.zeros(3, dtype=dtype)
        for pair in ((y, x), (x, y), (y, y)):
            with pytest.raises(TypeError, match=rf"{name}\(\).*{dtype}"):
                function(*pair)
