"""Transforms over several axes: the order of the axes, lengths, and repeated 1-d transforms."""

from __future__ import annotations

from typing import Any

import pytest
from oracles import direct_sums as sums

import refarray

xp: Any = refarray
names = pytest.mark.parametrize("name", sums.SEVERAL_AXES)


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
