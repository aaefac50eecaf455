"""fftshift and ifftshift: odd and even extents, axes, dtypes, and arguments that they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import run_each
from oracles import direct_sums as sums
from oracles.checks import assert_equal

import refarray

xp: Any = refarray
names = pytest.mark.parametrize("name", sums.SHIFTS)


def test_expected_shifts() -> None:
    for given, there in (
        ([0, 1, 2, -3, -2, -1], [-3, -2, -1, 0, 1, 2]),
        ([0, 1, 2, -2, -1], [-2, -1, 0, 1, 2]),
        ([0, -1], [-1, 0]),
        ([0, 1, -1], [-1, 0, 1]),
        ([7], [7]),
    ):
        x, y = (xp.asarray(each, dtype="float32") for each in (given, there))
        assert_equal(xp.fft.fftshift(x), y)
        assert_equal(xp.fft.ifftshift(y), x)


@run_each("dtype", ["bool", "int8", "int64", "uint16", "float8_e5m2", "complex32"])
@names
def test_shifts_of_other_dtypes_are_refused(name: str, dtype: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\).*{dtype}"):
        getattr(xp.fft, name)(xp.zeros(4, dtype=dtype))


WRONG_AXES: dict[str, tuple[Any, type[Exception]]] = {
    "2": (2, IndexError),
    "-3": (-3, IndexError),
    "(0, 2)": ((0, 2), IndexError),
    "far": (2**62, IndexError),
    "too far": (2**64, OverflowError),
    "float": (1.0, TypeError),
    "text": ("0", TypeError),
    "floats": ((0.0,), TypeError),
    "nested": (((0,),), TypeError),
    "complex": (1j, TypeError),
}


@run_each("kind", WRONG_AXES)
@names
def test_wrong_axes_of_shifts_are_refused(name: str, kind: str) -> None:
    axes, error = WRONG_AXES[kind]
    with pytest.raises(error):
        getattr(xp.fft, name)(xp.zeros((2, 3)), axes=axes)


@names
def test_other_objects_are_not_shifted(name: str) -> None:
    for wrong in (None, 1.5, [1.0, 2.0], "text", b"x"):
        with pytest.raises(TypeError, match=rf"{name}\(\).*{type(wrong).__name__}"):
            getattr(xp.fft, name)(wrong)
    x = xp.zeros(3)
    with pytest.raises(TypeError, match="positional"):
        getattr(xp.fft, name)(x, 0)
    for keywords in ({"axis": 0}, {"x": x}):
        with pytest.raises(TypeError):
            getattr(xp.fft, name)(x, **keywords)
    with pytest.raises(IndexError, match="0"):
        getattr(xp.fft, name)(xp.asarray(1.0), axes=0)
