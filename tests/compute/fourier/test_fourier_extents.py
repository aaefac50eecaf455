"""Lengths of transforms: cut and extended axes, empty arrays, dtypes and shapes of results."""

from __future__ import annotations

from typing import Any

import pytest
from oracles import direct_sums as sums

import refarray

xp: Any = refarray
names = pytest.mark.parametrize("name", sums.ONE_AXIS)


def argument(name: str, extent: int, dtype: str, seed: int = 0) -> tuple[Any, list[sums.Pair]]:
    values = sums.sample(extent, seed)
    if name in sums.FROM_REAL:
        values = [complex(each.real) for each in values]
    given = sums.as_argument(name, values)
    return xp.asarray(given, dtype=dtype), [sums.fixed(each) for each in values]


@names
def test_elements_behind_n_are_not_read(name: str) -> None:
    x, _ = argument(name, 9, sums.dtypes(name)[1])
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
