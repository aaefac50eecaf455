"""Arguments that transforms refuse: the exception that is documented, with what was seen. Lengths
of transforms: cut axes, empty arrays, dtypes and shapes of results; several axes."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import run_each
from helpers.number_likes import IntLike
from oracles import direct_sums as sums

import refarray

xp: Any = refarray
names = pytest.mark.parametrize("name", sums.TRANSFORMS)
one_axis = pytest.mark.parametrize("name", sums.ONE_AXIS)
several = pytest.mark.parametrize("name", sums.SEVERAL_AXES)
HUGE = (2**40, 2**56, 2**57, 2**61, 2**62, 2**63 - 1)


def argument(name: str) -> Any:
    """An array that the function takes."""
    return xp.ones((2, 3), dtype=sums.dtypes(name)[0])


@run_each("norm", ["", "none", "Backward", "forwards", "ortho ", "backward\0", "é"])
@names
def test_unknown_norms_are_refused(name: str, norm: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}\(\): norm is .*'backward', 'ortho'"):
        getattr(xp.fft, name)(argument(name), norm=norm)


@run_each("kind", ["NoneType", "int", "bytes", "list", "bool"])
@names
def test_norms_of_other_types_are_refused(name: str, kind: str) -> None:
    wrong: dict[str, Any] = {"NoneType": None, "int": 1, "bytes": b"ortho", "list": ["ortho"]}
    with pytest.raises(TypeError, match=rf"{name}\(\): norm is .*{kind}"):
        getattr(xp.fft, name)(argument(name), norm=wrong.get(kind, True))


@names
def test_norms_are_compared_by_value(name: str) -> None:
    class Text(str):
        __slots__ = ()

    x = argument(name)
    for norm in sums.NORMS:
        other = Text(norm)
        wanted = getattr(xp.fft, name)(x, norm=norm)
        assert getattr(xp.fft, name)(x, norm=other).tobytes() == wanted.tobytes()


# --- n and axis


@run_each("n", [0, -1, -7, -(2**63)])
@one_axis
def test_n_less_than_one_is_refused(name: str, n: int) -> None:
    with pytest.raises(ValueError, match=rf"{name}\(\): n is {n};.*1"):
        getattr(xp.fft, name)(argument(name), n=n)


@run_each("parameter", ["n", "axis"])
@one_axis
def test_wrong_types_of_numbers_are_refused(name: str, parameter: str) -> None:
    x, function = argument(name), getattr(xp.fft, name)
    for wrong in (3.0, "3", 1j, [3], (1,), xp.ones(1), object()):
        with pytest.raises(TypeError) as caught:
            function(x, **{parameter: wrong})
        text = str(caught.value)
        assert parameter in text or "array" in text
    with pytest.raises(KeyError, match="on purpose"):
        function(x, **{parameter: IntLike(KeyError("on purpose"))})
    for number in (2**63, 2**64, -(2**63) - 1, 2**100):
        with pytest.raises((OverflowError, IndexError), match=f"{parameter} is {number}"):
            function(x, **{parameter: number})
    if parameter == "axis":
        with pytest.raises(TypeError, match="NoneType"):
            function(x, axis=None)


@run_each("axis", [2, -3, 64, 2**62, -(2**62)])
@one_axis
def test_axes_out_of_range_are_refused(name: str, axis: int) -> None:
    with pytest.raises(IndexError, match=rf"{axis} .*2"):
        getattr(xp.fft, name)(argument(name), axis=axis)


@one_axis
def test_a_point_has_no_axis(name: str) -> None:
    x = xp.ones((), dtype=sums.dtypes(name)[1])
    for keywords in ({}, {"axis": 0}, {"n": 4}):
        with pytest.raises(ValueError, match=rf"{name}\(\): .*ndim 0"):
            getattr(xp.fft, name)(x, **keywords)


@run_each("n", HUGE, ids=lambda n: f"2**{n.bit_length() - 1}")
@one_axis
def test_huge_lengths_are_refused(name: str, n: int) -> None:
    """There is no memory for them, or no number of bytes."""
    for dtype in sums.dtypes(name):
        for shape in ((2, 3), (3, 1), (1,)):
            x = xp.ones(shape, dtype=dtype)
            with pytest.raises((MemoryError, OverflowError), match=r"\d{12}"):
                getattr(xp.fft, name)(x, n=n)
            with pytest.raises((MemoryError, OverflowError)):
                getattr(xp.fft, name)(x, n=n, axis=0)
    assert getattr(xp.fft, name)(argument(name), n=4).shape[0] == 2


@one_axis
def test_huge_extents_are_refused(name: str) -> None:
    """Of arrays that have no memory of their size: their strides are 0."""
    x = xp.broadcast_to(xp.ones((1, 1), dtype=sums.dtypes(name)[0]), (2, 2**42))
    with pytest.raises((MemoryError, OverflowError)):
        getattr(xp.fft, name)(x)
    with pytest.raises((MemoryError, OverflowError)):
        getattr(xp.fft, name)(x, axis=0)
    assert getattr(xp.fft, name)(x, n=4).shape == (2, 3 if name in sums.FROM_REAL else 4)


# --- s and axes


WRONG_LENGTHS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "without axes": ({"s": (3,)}, ValueError, "axes"),
    "without axes, two": ({"s": (3, 3)}, ValueError, "axes"),
    "fewer": ({"s": (3,), "axes": (0, 1)}, ValueError, "1.*2"),
    "more": ({"s": (3, 3), "axes": (0,)}, ValueError, "2.*1"),
    "zero": ({"s": (0,), "axes": (0,)}, ValueError, "0.*1"),
    "zero, second": ({"s": (2, 0), "axes": (0, 1)}, ValueError, "0.*1"),
    "negative": ({"s": (-2,), "axes": (0,)}, ValueError, "-2.*1"),
    "least": ({"s": (2, -(2**63)), "axes": (0, 1)}, ValueError, str(-(2**63))),
    "float": ({"s": (3.0,), "axes": (0,)}, TypeError, "float"),
    "None": ({"s": (None,), "axes": (0,)}, TypeError, "NoneType"),
    "text": ({"s": "33", "axes": (0, 1)}, TypeError, "str"),
    "nested": ({"s": ((3,),), "axes": (0,)}, TypeError, "tuple"),
    "2**63": ({"s": (2**63,), "axes": (0,)}, OverflowError, str(2**63)),
    "fails": ({"s": (IntLike(KeyError("on purpose")),), "axes": (0,)}, KeyError, "on purpose"),
    "axis twice": ({"axes": (0, 0)}, ValueError, "0"),
    "axis twice, negative": ({"axes": (1, -1)}, ValueError, "1"),
    "axis twice of three": ({"axes": (0, 1, -2)}, ValueError, "0"),
    "axis twice, with s": ({"s": (2, 2), "axes": (-1, -1)}, ValueError, "1"),
    "axis 2": ({"axes": (0, 2)}, IndexError, "2"),
    "axis -3": ({"axes": (-3,)}, IndexError, "-3"),
    "far": ({"axes": (2**62,)}, IndexError, str(2**62)),
    "too far": ({"axes": (2**64,)}, OverflowError, str(2**64)),
    "axis float": ({"axes": (0.0,)}, TypeError, "float"),
    "axis text": ({"axes": "01"}, TypeError, "str"),
    "axis complex": ({"axes": 1j}, TypeError, "complex"),
    "axis fails": ({"axes": (IntLike(KeyError("on purpose")),)}, KeyError, "on purpose"),
}


@run_each("kind", WRONG_LENGTHS)
@several
def test_wrong_lengths_and_axes_are_refused(name: str, kind: str) -> None:
    keywords, error, text = WRONG_LENGTHS[kind]
    x = argument(name)
    with pytest.raises(error, match=text) as caught:
        getattr(xp.fft, name)(x, **keywords)
    if error is ValueError:
        assert f"{name}()" in str(caught.value)
    assert xp.all(x == 1)


@run_each("n", HUGE, ids=lambda n: f"2**{n.bit_length() - 1}")
@several
def test_huge_lengths_of_several_axes_are_refused(name: str, n: int) -> None:
    for s, axes in (((n,), (0,)), ((2, n), (0, 1)), ((n, 2), (0, 1)), ((n, n), (1, 0))):
        with pytest.raises((MemoryError, OverflowError)):
            getattr(xp.fft, name)(argument(name), s=s, axes=axes)
    assert getattr(xp.fft, name)(argument(name)).shape[0] == 2


@several
def test_sequences_of_lengths_and_axes(name: str) -> None:
    x, function = argument(name), getattr(xp.fft, name)
    wanted = function(x, s=(4, 5), axes=(0, 1)).tobytes()
    assert function(x, s=[4, 5], axes=[0, 1]).tobytes() == wanted
    assert function(x, s=range(4, 6), axes=range(2)).tobytes() == wanted
    assert function(x, s=(xp.asarray(4), 5), axes=(-2, xp.asarray(-1))).tobytes() == wanted


# --- Lengths: cut axes, empty arrays, dtypes and shapes of results


@one_axis
def test_elements_behind_n_are_not_read(name: str) -> None:
    x = xp.asarray(sums.as_argument(name, sums.sample(9, 0)), dtype=sums.dtypes(name)[1])
    function = getattr(xp.fft, name)
    n = 9 if name in sums.TO_REAL else 5
    wanted = function(x, n=n)
    x[5:] = xp.nan
    assert function(x, n=n).tobytes() == wanted.tobytes()
    assert xp.all(xp.isfinite(function(x, n=n)))


@one_axis
def test_stacks_without_sequences(name: str) -> None:
    dtype = sums.dtypes(name)[0]
    for shape in ((0, 4), (3, 0, 4), (0, 0, 4), (0, 3, 4)):
        out = getattr(xp.fft, name)(xp.zeros(shape, dtype=dtype), n=6)
        last = 4 if name in sums.FROM_REAL else 6
        assert out.shape == (*shape[:-1], last)
        assert str(out.dtype) == sums.result_dtype(name, dtype)
        turned = getattr(xp.fft, name)(xp.zeros(shape[::-1], dtype=dtype), n=6, axis=0)
        assert turned.shape == (last, *shape[:-1][::-1])


@one_axis
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


@one_axis
def test_objects_with_an_index(name: str) -> None:
    """n and axis may be anything with __index__: bool, too, as everywhere."""
    x = xp.ones((3, 4, 5), dtype=sums.dtypes(name)[0])
    function = getattr(xp.fft, name)
    assert function(x, n=IntLike(2)).tobytes() == function(x, n=2).tobytes()
    assert function(x, axis=IntLike(2)).tobytes() == function(x, axis=2).tobytes()
    assert function(x, n=xp.asarray(3)).tobytes() == function(x, n=3).tobytes()
    assert function(x, n=True).tobytes() == function(x, n=1).tobytes()


# --- several axes


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
