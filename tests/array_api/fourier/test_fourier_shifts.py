"""fftshift and ifftshift: odd and even extents, axes, dtypes, and arguments that they refuse."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import direct_sums as sums
from oracles.checks import assert_equal
from oracles.formats import FLOATS
from oracles.nested import Shape

import refarray

xp: Any = refarray
names = pytest.mark.parametrize("name", sums.SHIFTS)
SHAPES: tuple[Shape, ...] = ((), (1,), (2,), (5,), (6,), (0,), (2, 3), (4, 5), (3, 0), (2, 3, 4, 5))


def counted(shape: Shape, dtype: str = "float64") -> Any:
    count = 1
    for extent in shape:
        count *= extent
    return xp.astype(xp.reshape(xp.arange(count, dtype="float64"), shape), dtype)


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


def test_odd_extents_are_shifted_back_by_another_number() -> None:
    x = counted((5,))
    assert xp.fft.fftshift(x).tolist() == [3, 4, 0, 1, 2]
    assert xp.fft.ifftshift(x).tolist() == [2, 3, 4, 0, 1]
    even = counted((6,))
    assert_equal(xp.fft.fftshift(even), xp.fft.ifftshift(even))


def test_two_axes_are_shifted_each() -> None:
    x = counted((3, 4))
    wanted = [[10, 11, 8, 9], [2, 3, 0, 1], [6, 7, 4, 5]]
    assert xp.fft.fftshift(x).tolist() == wanted
    assert xp.fft.fftshift(x, axes=(0, 1)).tolist() == wanted
    assert xp.fft.fftshift(x, axes=0).tolist() == [
        [8, 9, 10, 11],
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]
    assert xp.fft.ifftshift(x, axes=0).tolist() == [
        [4, 5, 6, 7],
        [8, 9, 10, 11],
        [0, 1, 2, 3],
    ]


def every_axes(ndim: int) -> list[Any]:
    found: list[Any] = [None, *range(-ndim, ndim)]
    for count in range(ndim + 1):
        found += itertools.permutations(range(ndim), count)
    return [*found[:60], list(range(ndim))]


@run_each("dtype", FLOATS)
def test_shifts_are_rolls(dtype: str) -> None:
    for shape in SHAPES:
        x = counted(shape, dtype)
        for axes in every_axes(len(shape)):
            moved = [axes] if isinstance(axes, int) else range(len(shape)) if axes is None else axes
            there = back = x
            for axis in moved:
                there = xp.roll(there, shape[axis] // 2, axis=axis)
                back = xp.roll(back, -(shape[axis] // 2), axis=axis)
            for name, wanted in (("fftshift", there), ("ifftshift", back)):
                out = getattr(xp.fft, name)(x, axes=axes)
                assert_equal(out, wanted)
                assert str(out.dtype) == dtype


def test_shifts_are_inverse_to_each_other() -> None:
    for shape in SHAPES:
        x = counted(shape, "complex64")
        for axes in every_axes(len(shape)):
            there = xp.fft.fftshift(x, axes=axes)
            assert_equal(xp.fft.ifftshift(there, axes=axes), x)
            assert_equal(xp.fft.fftshift(xp.fft.ifftshift(x, axes=axes), axes=axes), x)


def test_shifted_frequencies_are_sorted() -> None:
    for n in range(1, 30):
        out = xp.fft.fftshift(xp.fft.fftfreq(n))
        assert out.tolist() == sorted(out.tolist())
        assert float(out[n // 2]) == 0.0


@names
def test_shifts_are_new_arrays(name: str) -> None:
    for x in (counted((4,)), counted((1,)), xp.asarray(2.0), counted((3, 4))[::-1, ::2]):
        before = x.tolist()
        for keywords in ({}, {"axes": ()}):
            out = getattr(xp.fft, name)(x, **keywords)
            assert out.is_contiguous() and not out.readonly and out.shape == x.shape
            out[...] = 99
            assert x.tolist() == before
    assert getattr(xp.fft, name)(counted((4,)).as_readonly()).readonly is False


@names
def test_special_numbers_are_moved_unchanged(name: str) -> None:
    x = xp.asarray([float("nan"), -0.0, float("inf"), 5e-324])
    out = getattr(xp.fft, name)(x)
    assert repr(out.tolist()) == repr([x.tolist()[i] for i in (2, 3, 0, 1)])


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
