"""Strict namespaces: arguments of kinds that the standard's signatures do not have raise, and so do
values for which it defines no result; dtypes are no names and have only == and hash()."""

from __future__ import annotations

import copy
import inspect
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest
from helpers.cases import run_each

import refarray
import refarray.strict

pytestmark = pytest.mark.every_python

xp: Any = refarray.namespace(strict=True)

#: One valid call of each function that has arguments besides arrays and dtypes.
CALLS: dict[str, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "arange": lambda m: ((0, 3, 1), {}),
    "argmax": lambda m: ((m,), {"axis": 0, "keepdims": False}),
    "argsort": lambda m: ((m,), {"axis": 0, "descending": False, "stable": True}),
    "broadcast_shapes": lambda m: (((2,), (2,)), {}),
    "broadcast_to": lambda m: ((m, (2, 2)), {}),
    "concat": lambda m: (([m, m],), {"axis": 0}),
    "count_nonzero": lambda m: ((m,), {"axis": 0, "keepdims": False}),
    "cumulative_sum": lambda m: ((m,), {"axis": 0, "include_initial": False}),
    "diff": lambda m: ((m,), {"axis": 0, "n": 1}),
    "empty": lambda m: (((2,),), {}),
    "expand_dims": lambda m: ((m,), {"axis": 0}),
    "eye": lambda m: ((2, 2), {"k": 0}),
    "fft.fft": lambda m: ((m + 0j,), {"n": 2, "axis": 0}),
    "fft.fftfreq": lambda m: ((4,), {"d": 1.0}),
    "fft.fftn": lambda m: ((m + 0j,), {"s": (2,), "axes": (0,)}),
    "fft.fftshift": lambda m: ((m,), {"axes": 0}),
    "flip": lambda m: ((m,), {"axis": 0}),
    "full": lambda m: (((2,), 1.0), {}),
    "isin": lambda m: ((xp.asarray(1), xp.asarray([1])), {"invert": False}),
    "linalg.cholesky": lambda m: ((xp.eye(2),), {"upper": False}),
    "linalg.cross": lambda m: ((xp.ones(3), xp.ones(3)), {"axis": -1}),
    "linalg.diagonal": lambda m: ((m,), {"offset": 0}),
    "linalg.matrix_norm": lambda m: ((m,), {"keepdims": False, "ord": 1}),
    "linalg.matrix_power": lambda m: ((m, 2), {}),
    "linalg.matrix_rank": lambda m: ((m,), {"rtol": 0.5}),
    "linalg.svd": lambda m: ((m,), {"full_matrices": True}),
    "linalg.vector_norm": lambda m: ((m,), {"axis": 0, "keepdims": False, "ord": 2}),
    "linspace": lambda m: ((0.0, 1.0, 3), {"endpoint": True}),
    "moveaxis": lambda m: ((m, 0, 1), {}),
    "permute_dims": lambda m: ((m, (1, 0)), {}),
    "repeat": lambda m: ((m, 2), {"axis": 0}),
    "reshape": lambda m: ((m, (4,)), {}),
    "roll": lambda m: ((m, 1), {"axis": 0}),
    "sort": lambda m: ((m,), {"axis": 0, "descending": False, "stable": True}),
    "squeeze": lambda m: ((xp.ones((1, 2)),), {"axis": 0}),
    "stack": lambda m: (([m, m],), {"axis": 0}),
    "std": lambda m: ((m,), {"axis": 0, "correction": 1, "keepdims": False}),
    "sum": lambda m: ((m,), {"axis": 0, "keepdims": False}),
    "take": lambda m: ((m, xp.asarray([0])), {"axis": 0}),
    "take_along_axis": lambda m: ((m, xp.zeros((1, 2), dtype=xp.int64)), {"axis": 0}),
    "tensordot": lambda m: ((m, m), {"axes": 1}),
    "tile": lambda m: ((m, (2,)), {}),
    "tril": lambda m: ((m,), {"k": 0}),
    "unstack": lambda m: ((m,), {"axis": 0}),
    "vecdot": lambda m: ((m, m), {"axis": -1}),
}
FLAGS = ("keepdims", "descending", "stable", "include_initial", "invert", "upper", "full_matrices")
FLAGS = (*FLAGS, "endpoint")
#: Where an array of the namespace is no number by mistake, and where a bool is a value.
TAKE_ARRAYS = {
    *(("repeat", 1), ("linalg.matrix_rank", "rtol")),
    *(("linspace", 0), ("linspace", 1), ("fft.fftfreq", "d")),  # of floats, as SciPy passes them
}
TAKE_BOOLS = {("full", 1)}


def cases() -> list[Any]:
    out = []
    for name, make in CALLS.items():
        args, keywords = make(xp.ones((2, 2)))
        slots = [i for i, each in enumerate(args) if is_plain(each)] + list(keywords)
        out += [(name, slot) for slot in slots]
    return out


def is_plain(value: Any) -> bool:
    return isinstance(value, int | float) or (
        isinstance(value, tuple) and all(isinstance(each, int) for each in value)
    )


def function_of(name: str) -> Callable[..., Any]:
    return operator.attrgetter(name)(xp)  # type: ignore[no-any-return]


def with_value(name: str, slot: int | str, value: Any) -> Any:
    args, keywords = CALLS[name](xp.ones((2, 2)))
    if isinstance(slot, int):
        args = (*args[:slot], value, *args[slot + 1 :])
    else:
        keywords = {**keywords, slot: value}
    return function_of(name)(*args, **keywords)


@run_each("name", CALLS)
def test_the_calls_are_valid(name: str) -> None:
    args, keywords = CALLS[name](xp.ones((2, 2)))
    function_of(name)(*args, **keywords)
    own = inspect.signature(function_of(name)).parameters
    assert set(keywords) <= set(own)


@run_each(("name", "slot"), cases())
def test_bools_are_no_integers_and_arrays_are_no_numbers(name: str, slot: int | str) -> None:
    args, keywords = CALLS[name](xp.ones((2, 2)))
    given = args[slot] if isinstance(slot, int) else keywords[slot]
    if slot in FLAGS:
        wrong: list[Any] = [0, 1, None, "x", numpy.bool_(True), xp.asarray(True)]
    else:
        one = given[0] if isinstance(given, tuple) else given
        arrays = [xp.asarray(one), numpy.asarray(one)][(name, slot) in TAKE_ARRAYS :]
        bools = [True, numpy.bool_(True)]
        wrong = [*(() if (name, slot) in TAKE_BOOLS else bools), *arrays]
        if isinstance(given, tuple):
            wrong += [(each, *given[1:]) for each in wrong]
    for value in wrong:
        with pytest.raises(TypeError):
            with_value(name, slot, value)


@run_each(("name", "slot"), cases())
def test_integers_of_numpy_are_integers(name: str, slot: int | str) -> None:
    args, keywords = CALLS[name](xp.ones((2, 2)))
    given = args[slot] if isinstance(slot, int) else keywords[slot]
    if type(given) is int:
        with_value(name, slot, numpy.int64(given))
    elif isinstance(given, tuple):
        with_value(name, slot, tuple(map(numpy.int64, given)))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_of_several_axes_take_sequences(name: str) -> None:
    x = xp.ones((2, 2)) if name == "rfftn" else xp.ones((2, 2)) + 0j
    transform = getattr(xp.fft, name)
    assert transform(x, axes=(0,)).shape[1] == 2 and transform(x, axes=[0]).shape[1] == 2
    for wrong in ({"axes": 0}, {"s": 2, "axes": (0,)}, {"axes": xp.asarray(0)}):
        with pytest.raises(TypeError, match=rf"{name}\(\): \w+ must be a tuple of integers, not"):
            transform(x, **wrong)


def test_floating_point_arrays_are_bounds() -> None:
    """As in array-api-strict: SciPy passes them to arange() and linspace()."""
    two = xp.asarray(2.0)
    assert xp.arange(two).shape == (2,) and xp.linspace(two, 3.0, 5).shape == (5,)
    with pytest.raises(TypeError, match=r"std\(\): correction must be a number"):
        xp.std(xp.ones(3), correction=two)


def test_the_default_namespace_takes_them() -> None:
    x = refarray.ones((2, 2))
    assert refarray.sum(x, axis=True).shape == (2,) and refarray.zeros(True).shape == (1,)
    assert refarray.fft.fftn(x + 0j, axes=0).shape == (2, 2)
    assert refarray.arange(refarray.asarray(2)).shape == (2,)


# --- values


@pytest.mark.parametrize("x2", [-1, [-1, 0, 1], [[2, -5, 1]]])
def test_negative_powers_and_shifts_of_integers_have_no_result(x2: Any) -> None:
    i = xp.asarray([1, 2, 3])
    other = x2 if isinstance(x2, int) else xp.asarray(x2)
    for name in ("pow", "bitwise_left_shift", "bitwise_right_shift"):
        with pytest.raises(ValueError, match=rf"{name}\(\): x2 has a negative"):
            getattr(xp, name)(i, other)
        assert getattr(xp, name)(i, abs(other)).shape[-1] == 3
        assert getattr(xp, name)(i[:0], xp.asarray(0)).shape == (0,)
    if not isinstance(x2, int):
        with pytest.raises(ValueError, match=r"pow\(\)"):
            xp.pow(2, other)
    assert float(xp.pow(xp.asarray(2.0), -1)) == 0.5
    assert int(xp.pow(xp.asarray(2, dtype=xp.uint8), xp.asarray(3, dtype=xp.uint8))) == 8


@pytest.mark.parametrize("x2", [-1, xp.asarray([1, -1])], ids=["number", "array"])
def test_operators_refuse_negative_powers_and_shifts_too(x2: Any) -> None:
    x = xp.asarray([1, 2])
    for operate in (operator.pow, operator.lshift, operator.rshift):
        with pytest.raises(ValueError, match="strict"):
            operate(x, x2)
    for operate in (operator.ipow, operator.ilshift, operator.irshift):
        with pytest.raises(ValueError, match="strict"):
            operate(x, x2)
    assert x.__array__().tolist() == [1, 2]


@run_each("other", [[1, 2], (1, 2), "a", b"a", bytearray(b"a"), range(2)])
def test_integer_arrays_do_not_repeat_sequences(other: Any) -> None:
    z = xp.asarray(2)
    for left, right in ((z, other), (other, z)):
        with pytest.raises(TypeError):
            left * right
    with pytest.raises(TypeError):
        other += z


def test_limits_of_clip_are_in_order() -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    for low, high in ((2.0, 1.0), (x, 2.0), (2.5, x), (x + 1.0, x)):
        with pytest.raises(ValueError, match=r"clip\(\): min is above max"):
            xp.clip(x, low, high)
    assert list(map(float, xp.clip(x, 1.5, 1.5))) == [1.5] * 3
    assert list(map(float, xp.clip(x, x, x))) == [1.0, 2.0, 3.0]
    assert float(refarray.clip(refarray.asarray(1.0), 2.0, 1.0)) == 2.0


def test_literals_are_python_numbers() -> None:
    for wrong in (Fraction(1, 2), [Fraction(1, 2)], [1.0, Fraction(1, 2)]):
        for space in (xp, refarray):
            with pytest.raises(TypeError, match="Fraction"):
                space.asarray(wrong)
    assert xp.asarray([numpy.float32(1)]).shape == (1,)


# --- Dtypes: == and hash() only


SPACES: list[Any] = [
    refarray.namespace(strict=True),
    refarray.namespace(strict=True, immutable=True, api_version="2022.12"),
    refarray.namespace(strict=True, devices=[refarray.VirtualDevice("gpu")]),
    refarray.namespace(strict=True, lazy=True, boolean_indexing=True, data_dependent_shapes=True),
    refarray.strict,
]
spaces = run_each("xp", SPACES, ids=lambda xp: xp.__name__)
NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)


@spaces
@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_equals_itself_only(xp: Any, name: str) -> None:
    dtype = getattr(xp, name)
    x = xp.zeros(3, dtype=dtype)
    assert x.dtype is dtype and x.dtype == dtype and hash(x.dtype) == hash(dtype)
    for other in (name, numpy.dtype(name), getattr(numpy, name), getattr(refarray, name), float):
        assert (dtype == other) is False and (other == dtype) is False
        assert (dtype != other) is True and dtype not in [other]
    assert {dtype: 1}.get(name) is None
    assert sum(dtype == getattr(xp, each) for each in NAMES) == 1
    assert not {"kind", "name", "bits", "itemsize", "code", "lanes"} & set(dir(dtype))
    with pytest.raises(AttributeError):
        _ = dtype.kind
    with pytest.raises(AttributeError):
        dtype.x = 1
    with pytest.raises(TypeError):
        _ = dtype < dtype


def test_strict_namespaces_have_the_same_dtypes() -> None:
    for name in NAMES:
        assert len({id(getattr(xp, name)) for xp in SPACES}) == 1
        assert repr(getattr(SPACES[0], name)) == f"refarray_strict.{name}"


@spaces
def test_a_dtype_is_pickled_by_name(xp: Any) -> None:
    for name in NAMES:
        dtype = getattr(xp, name)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype
        assert copy.copy(dtype) is dtype and copy.deepcopy(dtype) is dtype
    kind = type(xp.bool)
    assert pickle.loads(pickle.dumps(kind)) is kind
    with pytest.raises(TypeError):
        kind("float64")


@spaces
def test_functions_take_their_own_dtypes_only(xp: Any) -> None:
    x = xp.ones(2)
    of_python = (float, int, bool, complex, type(None))
    for wrong in (refarray.float32, numpy.float32, numpy.dtype("f4"), "float32", "f4", *of_python):
        for use in (
            lambda wrong=wrong: xp.zeros(2, dtype=wrong),
            lambda wrong=wrong: xp.asarray([1, 2], dtype=wrong),
            lambda wrong=wrong: xp.arange(3, dtype=wrong),
            lambda wrong=wrong: xp.astype(x, wrong),
            lambda wrong=wrong: xp.sum(x, dtype=wrong),
            lambda wrong=wrong: xp.can_cast(x, wrong),
            lambda wrong=wrong: xp.isdtype(wrong, "real floating"),
            lambda wrong=wrong: xp.finfo(wrong),
            lambda wrong=wrong: xp.result_type(x, wrong),
        ):
            with pytest.raises(TypeError):
                use()
        with pytest.raises((TypeError, ValueError)):
            xp.isdtype(xp.float32, wrong)


@spaces
def test_everything_that_returns_a_dtype_returns_one_of_the_namespace(xp: Any) -> None:
    assert xp.result_type(xp.ones(1), xp.float32) is xp.float64
    assert xp.finfo(xp.complex64).dtype is xp.float32
    assert xp.iinfo(xp.ones(1, dtype=xp.int8)).max == 127
    assert xp.sum(xp.ones(2, dtype=xp.int8)).dtype is xp.int64
    assert xp.isdtype(xp.float32, (xp.bool, "real floating")) and xp.can_cast(xp.int8, xp.int16)
    if hasattr(xp, "__array_namespace_info__"):
        info = xp.__array_namespace_info__()
        assert info.dtypes() == {name: getattr(xp, name) for name in NAMES}
        assert info.dtypes(kind="bool")["bool"] is xp.bool
        assert info.default_dtypes()["real floating"] is xp.float64


def test_the_default_namespace_takes_the_dtypes() -> None:
    """As it takes those of NumPy."""
    strict = SPACES[0].float32
    assert refarray.zeros(1, dtype=strict).dtype is refarray.float32
    assert refarray.DType(strict) is refarray.float32
    device = refarray.VirtualDevice(
        "narrow", dtypes=[strict, SPACES[0].int32], default_dtypes={"integral": SPACES[0].int32}
    )
    xp: Any = refarray.namespace(strict=True, devices=[device])
    assert xp.arange(3, device=device).dtype is xp.int32
    with pytest.raises(ValueError, match=r"has no float64; it has int32, float32"):
        xp.zeros(1, dtype=xp.float64, device=device)
