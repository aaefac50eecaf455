"""Lengths of transforms: cut axes, empty arrays, dtypes and shapes of results; several axes."""

from __future__ import annotations

from typing import Any

import pytest
from oracles import direct_sums as sums

import refarray

xp: Any = refarray
names = pytest.mark.parametrize("name", sums.ONE_AXIS)


@names
def test_elements_behind_n_are_not_read(name: str) -> None:
    x = xp.asarray(sums.as_argument(name, sums.sample(9, 0)), dtype=sums.dtypes(name)[1])
    function = getattr(xp.fft, name)
    n = 9 if name in sums.TO_REAL else 5
    wanted = function(x, n=n)
    x[5:] = xp.nan
    assert function(x, n=n).tobytes() == wanted.tobytes()
    assert xp.all(xp.isfinite(function(x, n=n)))


@names
def test_stacks_without_sequences(name: str) -> None:
    dtype = sums.dtypes(name)[0]
    for shape in ((0, 4), (3, 0, 4), (0, 0, 4), (0, 3, 4)):
        out = getattr(xp.fft, name)(xp.zeros(shape, dtype=dtype), n=6)
        last = 4 if name in sums.FROM_REAL else 6
        assert out.shape == (*shape[:-1], last)
        assert str(out.dtype) == sums.result_dtype(name, dtype)
        turned = getattr(xp.fft, name)(xp.zeros(shape[::-1], dtype=dtype), n=6, axis=0)
        assert turned.shape == (last, *shape[:-1][::-1])


@names
def test_sequences_without_elements(name: str) -> None:
    """Zeros, if there is an n; otherwise there is no transform."""
    function = getattr(xp.fft, name)
    for dtype in sums.dtypes(name):
        for n in (1, 2, 5, 67):
            out = function(xp.zeros((3, 0), dtype=dtype), n=n)
            assert out.shape == (3, n // 2 + 1 if name in sums.FROM_REAL else n)
            assert not xp.any(out)
        with pytest.raises(ValueError, match="0"):
            function(xp.zeros((3, 0), dtype=dtype))
    if name in sums.TO_REAL:
        with pytest.raises(ValueError, match=f"{name}.*1"):
            function(xp.ones((3, 1), dtype="complex128"))


@names
def test_objects_with_an_index(name: str) -> None:
    """n and axis may be anything with __index__: bool, too, as everywhere."""

    class Two:
        def __index__(self) -> int:
            return 2

    x = xp.ones((3, 4, 5), dtype=sums.dtypes(name)[0])
    function = getattr(xp.fft, name)
    assert function(x, n=Two()).tobytes() == function(x, n=2).tobytes()
    assert function(x, axis=Two()).tobytes() == function(x, axis=2).tobytes()
    assert function(x, n=xp.asarray(3)).tobytes() == function(x, n=3).tobytes()
    assert function(x, n=True).tobytes() == function(x, n=1).tobytes()


# --- several axes


several = pytest.mark.parametrize("name", sums.SEVERAL_AXES)


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


@several
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
