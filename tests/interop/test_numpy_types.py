"""NumPy's scalars are numbers with the value checks of Python's, its times are refused, and so are
masked arrays, on every way in."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.processes import printed

import refarray
from refarray import Array

Way = Callable[[Any], Any]


def into(name: str) -> Array:
    return refarray.zeros(3, dtype=name)


def assigned(name: str, value: Any) -> list[Any]:
    x = into(name)
    x[1] = value
    assert x[0].tolist() == x[2].tolist() == 0
    return [x[1].tolist()]


def filled(name: str, value: Any) -> list[Any]:
    x = into(name)
    x[...] = value
    assert x.tolist() == [x[0].tolist()] * 3 or x[0].tolist() != x[0].tolist()
    return [x[0].tolist()]


# Each takes a dtype's name and one number, and returns a list of the number stored.
STORES: dict[str, Callable[[str, Any], list[Any]]] = {
    "asarray": lambda name, value: [refarray.asarray(value, dtype=name).tolist()],
    "asarray of a list": lambda name, value: refarray.asarray([value], dtype=name).tolist(),
    "asarray of lists": lambda name, value: refarray.asarray([(value,)], dtype=name)[0].tolist(),
    "full": lambda name, value: refarray.full(1, value, dtype=name).tolist(),
    "full_like": lambda name, value: refarray.full_like(into(name), value)[:1].tolist(),
    "an element": assigned,
    "all elements": filled,
    "a list of elements": lambda name, value: assigned_list(name, value),
}


def assigned_list(name: str, value: Any) -> list[Any]:
    x = into(name)
    x[:] = [value, value, value]
    return x[:1].tolist()


def result(store: Callable[[str, Any], list[Any]], name: str, value: Any) -> Any:
    """The number stored as text, so that NaN equals itself, or the exception's type."""
    try:
        return repr(store(name, value))
    except (TypeError, OverflowError) as error:
        return type(error)


NUMBERS = [
    (np.bool_(True), True),
    (np.int8(-3), -3),
    (np.uint8(200), 200),
    (np.int16(-300), -300),
    (np.int64(300), 300),
    (np.int64(-1), -1),
    (np.uint64(2**64 - 1), 2**64 - 1),
    (np.float16(1.5), 1.5),
    (np.float32(1e30), float(np.float32(1e30))),
    (np.float32("nan"), float("nan")),
    (np.float64(0.1), 0.1),
    (np.complex64(1 + 2j), 1 + 2j),
    (np.complex128(1 + 2j), 1 + 2j),
]
NAMES = ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "bfloat16", "complex64"]


@run_each("store", STORES)
@pytest.mark.parametrize("name", NAMES)
def test_a_scalar_is_stored_like_the_python_number(store: str, name: str) -> None:
    for scalar, number in NUMBERS:
        stored = result(STORES[store], name, scalar)
        assert stored == result(STORES[store], name, number), (scalar, type(scalar))


#: Scalars that are no numbers of a dtype, for what they are refused with.
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "longdouble": (np.longdouble("1.1"), TypeError, r"longdouble has no dtype here; float\(x\)"),
    "clongdouble": (np.clongdouble(1), TypeError, r"clongdouble has no dtype here; float\(x\)"),
    "datetime64": (np.datetime64(2, "s"), TypeError, "is a time, not a number"),
    "timedelta64": (np.timedelta64(2, "s"), TypeError, "is a time, not a number"),
    "str_": (np.str_("1"), TypeError, "str_"),
    "Decimal": (Decimal(1), TypeError, "Decimal"),
    "Fraction": (Fraction(1, 2), TypeError, "Fraction"),
    # These export memory that is no number, as arrays of such dtypes do.
    "void": (np.void(b"ab"), BufferError, "is not a single number"),
    "longdouble of ndim 0": (np.asarray(np.longdouble(1)), BufferError, "longdouble"),
}
RANGES: dict[str, Callable[[str, Any], Any]] = {
    "arange": lambda name, value: refarray.arange(value),
    "arange with a step": lambda name, value: refarray.arange(0.0, 3.0, value),
    "linspace": lambda name, value: refarray.linspace(value, 3.0, 3),
    "fftfreq": lambda name, value: refarray.fft.fftfreq(3, d=value),
}


@run_each("value", REFUSED)
@run_each("store", {**STORES, **RANGES})
def test_what_would_be_rounded_is_refused(store: str, value: str) -> None:
    scalar, error, text = REFUSED[value]
    for name in ("float64", "complex128"):
        with pytest.raises(error, match=text):
            {**STORES, **RANGES}[store](name, scalar)
    # Not converted, and so no fallback: NumPy's own conversion of complex numbers warns.
    with pytest.raises((TypeError, BufferError)):
        refarray.std(into("float64"), correction=scalar)


@run_each("value", REFUSED)
def test_strict_namespaces_refuse_it_too(value: str) -> None:
    xp: Any = refarray.namespace(strict=True)
    scalar, error, text = REFUSED[value]
    for argument in (scalar, [scalar], [1.0, scalar], [[scalar]]):
        with pytest.raises(error, match=text):
            xp.asarray(argument)


@run_each("store", STORES)
def test_integers_out_of_range_are_not_wrapped(store: str) -> None:
    with pytest.raises(OverflowError, match="300 is out of range for int8, which holds -128 to"):
        STORES[store]("int8", np.int64(300))
    with pytest.raises(OverflowError, match="-1 is out of range for uint8"):
        STORES[store]("uint8", np.int8(-1))
    assert STORES[store]("uint8", np.int64(5)) == [5]


@run_each("store", STORES)
def test_fractions_do_not_become_integers(store: str) -> None:
    with pytest.raises(TypeError, match=r"1\.5 \(float\) cannot become an element of dtype int32"):
        STORES[store]("int32", np.float32(1.5))


@run_each(
    ("value", "dtype"),
    [
        (np.bool_(True), "bool"),
        (np.int8(3), "int8"),
        (np.uint64(3), "uint64"),
        (np.float16(3), "float16"),
        (np.float32(3), "float32"),
        (np.float64(3), "float64"),
        (np.complex64(3), "complex64"),
    ],
)
def test_the_scalars_dtype_is_kept(value: Any, dtype: str) -> None:
    for x in (refarray.asarray(value), refarray.full((), value)):
        assert x.dtype == dtype and x.tolist() == value
        assert not x.readonly
    assert refarray.asarray([[value, value]]).dtype == dtype
    assert refarray.full(2, value).dtype == dtype
    assert refarray.asarray([value, refarray.asarray(value)]).dtype == refarray.asarray(value).dtype


def test_scalars_of_several_dtypes_and_numbers() -> None:
    assert refarray.asarray([np.int8(1), np.int16(2)]).dtype == "int64"
    assert refarray.asarray([np.float32(1), 2]).dtype == "float64"
    assert refarray.asarray([np.float32(1), np.complex64(2)]).dtype == "complex128"
    assert refarray.asarray([np.bool_(True), 2]).tolist() == [1, 2]


def test_a_scalar_is_copied() -> None:
    scalar = np.int64(7)
    x = refarray.asarray(scalar)
    x[...] = 8
    assert scalar == 7
    with pytest.raises(refarray.NoCopyError, match="copy=False, but an object of type int64"):
        refarray.asarray(scalar, copy=False)
    assert refarray.asarray(scalar, copy=True).tolist() == 7


def test_an_array_of_ndim_0_is_not_a_scalar() -> None:
    """It exports memory, and converts as arrays do."""
    theirs = np.array(7)
    x = refarray.asarray(theirs, copy=False)
    x[...] = 8
    assert theirs == 8


def test_from_buffer_and_the_array_interface_share_a_scalars_memory() -> None:
    assert refarray.from_buffer(np.int16(5)).tolist() == 5
    x = refarray.from_array_interface(np.float32(1.5))  # NumPy makes a temporary array for it
    rest = [np.zeros((), "float32") for _ in range(100)]
    gc.collect()
    assert x.tolist() == 1.5
    del rest


def test_a_vector_takes_no_scalar_that_it_takes_no_number() -> None:
    x = refarray.zeros(2, dtype="float32x2")
    for value in (np.float32(1), 1.0):
        with pytest.raises(TypeError, match="cannot assign"):
            x[0] = value
    assert refarray.asarray(np.float32(1), dtype="float32x2").tolist() == (1.0, 1.0)


# --- ml_dtypes


def test_scalars_of_ml_dtypes_are_numbers() -> None:
    import ml_dtypes

    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"):
        scalar = getattr(ml_dtypes, name)(2)
        assert refarray.asarray(scalar).dtype == name
        assert refarray.asarray([scalar, scalar]).tolist() == [2.0, 2.0]
        for way, store in STORES.items():
            if way.startswith("asarray"):
                assert store("int8", scalar) == [2]
            else:
                with pytest.raises(TypeError, match="cannot become an element of dtype int8"):
                    store("int8", scalar)
            assert store("float32", scalar) == [2.0]
    scalar = ml_dtypes.float4_e2m1fn(1.5)
    assert refarray.asarray(scalar).dtype == "float4_e2m1fn_padded"
    assert refarray.asarray(scalar).tolist() == 1.5
    for name in ("int4", "uint4"):
        assert refarray.asarray(getattr(ml_dtypes, name)(3)).dtype == "int64"
        for store in STORES.values():
            assert store("int8", getattr(ml_dtypes, name)(3)) == [3]


# --- times

TIMES = [
    np.datetime64("2026-11-22", "s"),
    np.datetime64(5, "ns"),  # item() is an int
    np.datetime64("NaT", "s"),
    np.timedelta64(5, "s"),
]
TIME_WAYS: dict[str, Way] = {
    "asarray": refarray.asarray,
    "asarray with a dtype": lambda x: refarray.asarray(x, dtype="int64"),
    "asarray of a list": lambda x: refarray.asarray([x]),
    "asarray of lists": lambda x: refarray.asarray([[1, 2], (3, x)]),
    "full": lambda x: refarray.full(2, x),
    "full_like": lambda x: refarray.full_like(into("int64"), x),
    "an element": lambda x: assigned("int64", x),
    "all elements": lambda x: filled("uint8", x),
    "a list of elements": lambda x: assigned_list("int64", x),
    "arange": refarray.arange,
}


@run_each("way", TIME_WAYS)
@run_each("time", TIMES, ids=repr)
def test_times_are_refused(way: str, time: Any) -> None:
    with pytest.raises(TypeError, match=r"64 is a time, not a number; pass x\.astype\(.int64.\)"):
        TIME_WAYS[way](time)
    assert refarray.asarray(time.astype("int64")).dtype == "int64"


@pytest.mark.parametrize("time", TIMES, ids=repr)
def test_buffers_and_interfaces_of_times_are_refused(time: Any) -> None:
    with pytest.raises(BufferError, match="exports bytes without a format; pass dtype="):
        refarray.from_buffer(time)
    with pytest.raises(BufferError, match="typestr '<[mM]8"):
        refarray.from_array_interface(time)
    count = int(time.astype("int64"))
    assert refarray.from_buffer(time, dtype="int64").tolist() == [count]


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[ns]"])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_arrays_of_times_are_refused(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, dtype)
    for way in (
        *(refarray.asarray, refarray.from_dlpack, refarray.from_array_interface),
        *(refarray.from_numpy, refarray.from_buffer),
        lambda x: refarray.asarray([x]),
        lambda x: refarray.full(2, x),
        lambda x: into("int64").__setitem__(slice(len(shape) + 1), x),
    ):
        with pytest.raises((BufferError, TypeError, ValueError)):
            way(array)


# --- other scalars, and classes that only look like NumPy's


def test_structures_and_text_are_not_numbers() -> None:
    structure = np.zeros(1, "i4,f4")[0]
    for value in (structure, np.void(b"abc")):
        with pytest.raises(BufferError, match="is not a single number"):
            refarray.asarray(value)
    with pytest.raises(TypeError, match="of type str_"):
        refarray.asarray(np.str_("1"))
    assert refarray.asarray(np.bytes_(b"ab")).tolist() == [97, 98]


class Overridden(np.int32):
    def item(self, *args: Any) -> Any:
        return "text"


class Untyped(np.int16):
    dtype = None  # type: ignore[assignment]


def test_classes_derived_from_scalars() -> None:
    class Derived(np.int32):
        pass

    assert refarray.asarray(Derived(5)).dtype == "int32"
    with pytest.raises(OverflowError, match="300 is out of range"):
        into("int8")[0] = Derived(300)
    # The buffer says what they are.
    assert refarray.asarray(Overridden(1)).tolist() == 1
    assert refarray.asarray(Untyped(1)).dtype == "int16"


def test_numpy_is_not_imported() -> None:
    code = """
import sys, types, refarray
assert refarray.asarray([1.5, 2]).tolist() == [1.5, 2.0]
class Number:
    def __index__(self): return 2
assert refarray.asarray([Number(), 1.5]).tolist() == [2.0, 1.5]
assert refarray.asarray(b"ab").tolist() == [97, 98]
for fake in (None, types.ModuleType("numpy"), types.SimpleNamespace(generic=5, flexible=object)):
    sys.modules["numpy"] = sys.modules["numpy.ma"] = fake
    assert refarray.asarray([Number(), 1.5]).tolist() == [2.0, 1.5]
assert not any(name.startswith("numpy.") for name in sys.modules if name != "numpy.ma")
"""
    printed(code)


# --- masked arrays


class Masked(np.ma.MaskedArray):  # type: ignore[type-arg,misc]
    pass


MASKED = {
    "masked": lambda: np.ma.masked_array([1, 2, 3], [0, 1, 0]),
    "without a mask": lambda: np.ma.masked_array([1, 2, 3]),
    "two axes": lambda: np.ma.masked_array(np.eye(3), np.eye(3, dtype=bool)),
    "ndim 0": lambda: np.ma.masked_array(1, True),
    "the constant": lambda: np.ma.masked,
    "derived": lambda: Masked([1, 2, 3], [0, 1, 0]),
    "bytes": lambda: np.ma.masked_array(np.arange(3, dtype="uint8"), [0, 1, 0]),
    "bfloat16": lambda: masked_bfloat16(),
}


def masked_bfloat16() -> Any:
    import ml_dtypes

    return np.ma.masked_array(np.zeros(3, ml_dtypes.bfloat16), [0, 1, 0])


class ReturnsMasked:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ma.masked_array([1, 2, 3], [0, 1, 0])


class InADict:
    def __init__(self, data: Any) -> None:
        size = data.nbytes
        self.__array_interface__ = {"version": 3, "shape": (size,), "typestr": "|u1", "data": data}


MASKED_WAYS: dict[str, Way] = {
    "asarray": refarray.asarray,
    "asarray with a dtype": lambda x: refarray.asarray(x, dtype="float64"),
    "asarray, copied": lambda x: refarray.asarray(x, copy=True),
    "asarray, not copied": lambda x: refarray.asarray(x, copy=False),
    "asarray of a list": lambda x: refarray.asarray([x]),
    "from_dlpack": refarray.from_dlpack,
    "from_dlpack, copied": lambda x: refarray.from_dlpack(x, copy=True),
    "from_dlpack with a device": lambda x: refarray.from_dlpack(x, device="cpu"),
    "from_dlpack of a version": lambda x: refarray.from_dlpack(x, max_version=(1, 0)),
    "from_buffer": refarray.from_buffer,
    "from_buffer as bytes": lambda x: refarray.from_buffer(x, dtype="uint8"),
    "from_array_interface": refarray.from_array_interface,
    "from_numpy": refarray.from_numpy,
    "full": lambda x: refarray.full(3, x),
    "full_like": lambda x: refarray.full_like(into("float64"), x),
    "assignment": lambda x: into("float64").__setitem__(..., x),
    "assignment to an element": lambda x: into("float64").__setitem__(0, x),
    "assignment of a list": lambda x: into("float64").__setitem__(..., [x]),
    "arange": refarray.arange,
    "the memory of an interface": lambda x: refarray.from_array_interface(InADict(x)),
}


@run_each("way", MASKED_WAYS)
@run_each("kind", MASKED)
def test_masked_arrays_are_refused(way: str, kind: str) -> None:
    array = MASKED[kind]()
    before = sys.getrefcount(array)
    with pytest.raises(
        BufferError, match=r"the mask .* would be lost; pass x\.filled\(value\) .*, or x\.data"
    ):
        MASKED_WAYS[way](array)
    assert sys.getrefcount(array) == before


def test_what_the_message_says_to_pass_is_accepted() -> None:
    array = MASKED["masked"]()
    assert refarray.from_dlpack(array.data).tolist() == [1, 2, 3]
    assert refarray.asarray(array.filled(-1)).tolist() == [1, -1, 3]


def test_a_masked_array_made_by_an_object_is_refused() -> None:
    with pytest.raises(BufferError, match="mask of a masked array would be lost"):
        refarray.asarray(ReturnsMasked())


def test_other_classes_derived_from_ndarray_are_accepted() -> None:
    class Own(np.ndarray):  # type: ignore[type-arg]
        mask = None  # not the mask of numpy.ma

    array = np.arange(3).view(Own)
    for way in (refarray.asarray, refarray.from_dlpack, refarray.from_buffer, refarray.from_numpy):
        assert way(array).tolist() == [0, 1, 2]
