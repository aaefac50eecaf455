"""Transforms over several axes: the order of the axes, lengths, and repeated 1-d transforms."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import direct_sums as sums
from oracles.nested import Nested, Shape, from_array

import refarray

xp: Any = refarray
names = pytest.mark.parametrize("name", sums.SEVERAL_AXES)
norms = run_each("norm", sums.NORMS)


def argument(name: str, shape: Shape, wide: bool = True) -> Any:
    values = sums.as_argument(name, sums.sample(math.prod(shape), 11))
    return xp.reshape(xp.asarray(values, dtype=sums.dtypes(name)[wide]), shape)


def default_lengths(name: str, shape: Shape, axes: Any) -> list[int]:
    s = [shape[axis] for axis in axes]
    if name in sums.TO_REAL and s:
        s[-1] = 2 * (s[-1] - 1)
    return s


def check(name: str, x: Any, s: Any, axes: Any, norm: str, /, **given: Any) -> None:
    wanted = sums.several(name, sums.pairs(from_array(x)), s, axes, norm)
    out = getattr(xp.fft, name)(x, norm=norm, **given)
    n = math.prod(max(each, 2) for each in s)
    factors = len(s) * sums.is_scaled(name, norm)
    sums.assert_close(out, wanted, sums.result_dtype(name, str(x.dtype)), n, factors)
    assert out.is_contiguous()


@norms
@names
def test_all_axes(name: str, norm: str) -> None:
    for shape in ((6,), (3, 4), (4, 3, 5), (2, 3, 2, 3), (2, 1, 3, 2, 2)):
        for wide in (False, True):
            x = argument(name, shape, wide)
            axes = tuple(range(len(shape)))
            s = default_lengths(name, shape, axes)
            check(name, x, s, axes, norm)
            check(name, x, s, axes, norm, axes=None, s=None)
            check(name, x, s, axes, norm, axes=axes)
            check(name, x, s, axes, norm, axes=list(axes), s=list(s))


@norms
@names
def test_every_choice_and_order_of_axes(name: str, norm: str) -> None:
    shape = (3, 4, 5)
    x = argument(name, shape)
    for count in (1, 2, 3):
        for axes in itertools.permutations(range(3), count):
            s = default_lengths(name, shape, axes)
            check(name, x, s, axes, norm, axes=axes)
            check(name, x, s, axes, norm, axes=[axis - 3 for axis in axes])


@norms
@names
def test_lengths_of_each_axis(name: str, norm: str) -> None:
    x = argument(name, (3, 4, 5))
    for s in ((2, 3, 4), (5, 6, 7), (1, 1, 1), (3, 9, 4), (2, 8, 5), (6, 1, 9)):
        for axes in ((0, 1, 2), (2, 0, 1), (-1, -2, -3)):
            check(name, x, s, [a % 3 for a in axes], norm, s=s, axes=axes)
    for two in ((2, 9), (7, 1)):
        for pair in ((0, 1), (2, 1), (-1, 0)):
            check(name, x, two, [a % 3 for a in pair], norm, s=list(two), axes=pair)
            check(name, x, two[:1], [pair[0] % 3], norm, s=two[:1], axes=pair[:1])


@names
def test_minus_one_is_the_extent(name: str) -> None:
    shape = (3, 4, 5)
    x = argument(name, shape)
    for axes in ((0, 1, 2), (1, 0), (2, 1), (2,)):
        default = default_lengths(name, shape, axes)
        for chosen in itertools.product((False, True), repeat=len(axes)):
            s = [d if c else d + 1 for c, d in zip(chosen, default, strict=True)]
            given = [-1 if c else n for c, n in zip(chosen, s, strict=True)]
            check(name, x, s, axes, "backward", s=given, axes=axes)


STEPS = {"fftn": "fft", "ifftn": "ifft", "rfftn": "rfft", "irfftn": "irfft"}


@norms
@names
def test_several_axes_are_one_after_the_other(name: str, norm: str) -> None:
    """rfftn() begins with the last axis, irfftn() ends with it."""
    inner = "fft" if name in sums.FORWARD else "ifft"
    for axes in ((0, 1, 2), (2, 0), (1,), (1, 2)):
        x = argument(name, (4, 6, 5))
        s = [7, 4, 6][: len(axes)]
        out = getattr(xp.fft, name)(x, s=s, axes=axes, norm=norm)
        steps = [(inner, n, axis) for n, axis in zip(s, axes, strict=True)]
        steps[-1] = (STEPS[name], *steps[-1][1:])
        if name in sums.FROM_REAL:
            steps.reverse()
        wanted = x
        for function, n, axis in steps:
            wanted = getattr(xp.fft, function)(wanted, n=n, axis=axis, norm=norm)
        assert out.shape == wanted.shape and out.dtype == wanted.dtype
        exact = Nested([sums.fixed(v) for v in from_array(wanted).values], wanted.shape)
        sums.assert_close(out, exact, str(wanted.dtype), math.prod(s), 2 * len(s))


@pytest.mark.parametrize("name", ["fftn", "ifftn"])
def test_no_axes_give_a_copy(name: str) -> None:
    for dtype in sums.dtypes(name):
        for shape in ((), (3,), (2, 3), (0, 2)):
            x = xp.ones(shape, dtype=dtype)
            given: tuple[dict[str, Any], ...] = ({"axes": ()}, {"axes": [], "s": []})
            for keywords in given:
                out = getattr(xp.fft, name)(x, **keywords)
                assert out.tobytes() == x.tobytes() and out.shape == shape
                assert str(out.dtype) == dtype
                out[...] = 3
                assert xp.all(x == 1)
        point = getattr(xp.fft, name)(xp.asarray(2 - 1j, dtype=dtype))
        assert complex(point) == 2 - 1j and point.shape == ()


@pytest.mark.parametrize("name", ["rfftn", "irfftn"])
def test_real_transforms_need_an_axis(name: str) -> None:
    dtype = sums.dtypes(name)[0]
    for x, keywords in (
        (xp.ones((), dtype=dtype), {}),
        (xp.ones((2, 3), dtype=dtype), {"axes": ()}),
        (xp.ones((2, 3), dtype=dtype), {"axes": (), "s": ()}),
    ):
        with pytest.raises(ValueError, match=name):
            getattr(xp.fft, name)(x, **keywords)


@names
def test_empty_arrays_over_several_axes(name: str) -> None:
    function = getattr(xp.fft, name)
    dtype = sums.dtypes(name)[1]
    x = xp.zeros((0, 3, 4), dtype=dtype)
    out = function(x, axes=(1, 2))
    assert out.shape == (0, 3, {"rfftn": 3, "irfftn": 6}.get(name, 4))
    with pytest.raises(ValueError, match="0"):
        function(x)
    with pytest.raises(ValueError, match="0"):
        function(x, s=(-1, 3), axes=(0, 1))
    out = function(x, s=(2, 4), axes=(0, 2))
    assert out.shape == (2, 3, 3 if name == "rfftn" else 4) and not xp.any(out)
