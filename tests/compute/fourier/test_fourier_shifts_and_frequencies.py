"""fftfreq, rfftfreq, fftshift and ifftshift: what they refuse, and spacings that are not finite."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.number_likes import IntLike
from oracles import direct_sums as sums

import refarray

xp: Any = refarray
names = pytest.mark.parametrize("name", sums.FREQUENCIES)


@names
def test_spacings_that_are_no_finite_numbers(name: str) -> None:
    out = getattr(xp.fft, name)(5, d=math.nan)
    assert xp.all(xp.isnan(out)) and out.size == (5 if name == "fftfreq" else 3)
    assert not xp.any(getattr(xp.fft, name)(5, d=math.inf))


@run_each("n", [0, -1, -(2**40)])
@names
def test_frequencies_of_no_elements_are_refused(name: str, n: int) -> None:
    with pytest.raises(ValueError, match=rf"{name}\(\).* {n}"):
        getattr(xp.fft, name)(n)


@run_each("d", [0, 0.0, -0.0, False], ids=["0", "0.0", "-0.0", "False"])
@names
def test_a_spacing_of_zero_is_refused(name: str, d: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}\(\).* d .*0"):
        getattr(xp.fft, name)(4, d=d)


WRONG_N = {"float": 4.0, "text": "4", "None": None, "list": [4], "complex": 4j}
WRONG_D = {"text": "1", "None": None, "list": [1.0], "complex": 1j, "bytes": b"1"}
WRONG_DTYPES = ("bool", "int8", "int32", "int64", "uint8", "complex64", "complex128", "float8_e5m2")


@run_each("kind", WRONG_N)
@names
def test_wrong_types_of_n_are_refused(name: str, kind: str) -> None:
    with pytest.raises(TypeError, match=f"{type(WRONG_N[kind]).__name__}"):
        getattr(xp.fft, name)(WRONG_N[kind])


@run_each("kind", WRONG_D)
@names
def test_wrong_types_of_spacings_are_refused(name: str, kind: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\).*{type(WRONG_D[kind]).__name__}"):
        getattr(xp.fft, name)(4, d=WRONG_D[kind])


@run_each("dtype", WRONG_DTYPES)
@names
def test_frequencies_of_other_dtypes_are_refused(name: str, dtype: str) -> None:
    for given in (dtype, getattr(xp, dtype)):
        with pytest.raises(TypeError, match=rf"{name}\(\).*{dtype}"):
            getattr(xp.fft, name)(4, dtype=given)


@names
def test_unknown_dtypes_and_devices_of_frequencies_are_refused(name: str) -> None:
    function = getattr(xp.fft, name)
    with pytest.raises(ValueError, match="float31"):
        function(4, dtype="float31")
    with pytest.raises(TypeError, match="int"):
        function(4, dtype=3)
    with pytest.raises(TypeError, match="int"):
        function(4, device=3)


@names
def test_too_many_frequencies_are_refused(name: str) -> None:
    for n in (2**62, 2**63, 2**64, 2**100):
        with pytest.raises(OverflowError, match=r"\d{18}"):
            getattr(xp.fft, name)(n)
    with pytest.raises(MemoryError):
        getattr(xp.fft, name)(2**56)


@names
def test_one_bool_or_object_with_an_index_is_a_number_of_frequencies(name: str) -> None:
    function = getattr(xp.fft, name)
    assert function(True).tolist() == [0.0]
    assert function(IntLike(3)).tobytes() == function(3).tobytes()
    assert function(xp.asarray(3)).tobytes() == function(3).tobytes()
    with pytest.raises(KeyError, match="on purpose"):
        function(IntLike(KeyError("on purpose")))


# --- shifts


shifts = pytest.mark.parametrize("name", sums.SHIFTS)


@run_each("dtype", ["bool", "int8", "int64", "uint16", "float8_e5m2", "complex32"])
@shifts
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
@shifts
def test_wrong_axes_of_shifts_are_refused(name: str, kind: str) -> None:
    axes, error = WRONG_AXES[kind]
    with pytest.raises(error):
        getattr(xp.fft, name)(xp.zeros((2, 3)), axes=axes)


@shifts
def test_points_have_no_axis(name: str) -> None:
    with pytest.raises(IndexError, match="0"):
        getattr(xp.fft, name)(xp.asarray(1.0), axes=0)
