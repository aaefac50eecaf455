"""Single elements compared with NumPy and ml_dtypes: tolist, item, int(), float(), and which Python
numbers convert to which dtype."""

from __future__ import annotations

import itertools
import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.cases import refusal, run_each
from helpers.dtype_names import INTEGERS, NAMES, REAL, SMALL, SUB_BYTE
from helpers.rounding import numpy_dtype, round_to_odd
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray


def kind_order(name: str) -> int:
    return 0 if name == "bool" else 1 if name in INTEGERS else 2 if name in REAL else 3


def is_same(ours: Any, theirs: Any) -> bool:
    """Equal and of the same type; NaN equals NaN, and 0.0 differs from -0.0."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, complex):
        return is_same(ours.real, theirs.real) and is_same(ours.imag, theirs.imag)
    if isinstance(ours, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
    return bool(ours == theirs)


def test_every_scalar_dtype_is_listed() -> None:
    assert len(set(NAMES)) == 27
    assert {str(getattr(refarray, name)) for name in NAMES} == set(NAMES)


@run_each("name", [name for name in REAL if name not in ("float32", "float64")])
def test_every_bit_pattern_reads_as_in_ml_dtypes(name: str) -> None:
    dtype = numpy_dtype(name)
    codes = np.arange(1 << min(8 * dtype.itemsize, 16))
    memory = codes.astype(f"uint{8 * dtype.itemsize}")
    ours = refarray.from_buffer(memory, dtype=name + "_padded" * (name in SUB_BYTE)).tolist()
    with np.errstate(invalid="ignore"):  # signalling NaNs
        used = memory & ((1 << SUB_BYTE.get(name, 8 * dtype.itemsize)) - 1)  # others are ignored
        theirs = used.astype(memory.dtype).view(dtype).astype(np.float64).tolist()
    assert len(ours) == len(theirs)
    assert all(map(is_same, ours, theirs))


@pytest.mark.parametrize("name", SUB_BYTE)
def test_packed_elements_are_read_at_any_bit_offset(name: str) -> None:
    bits = SUB_BYTE[name]
    memory = bytes(range(1, 253, 7)) * 3
    whole = int.from_bytes(memory, "little")
    count = len(memory) * 8 // bits
    codes = np.array([whole >> (i * bits) & (1 << bits) - 1 for i in range(count)], np.uint8)
    theirs = codes.view(numpy_dtype(name)).astype(np.float64).tolist()
    x = refarray.from_buffer(memory, dtype=name)
    assert x.tolist() == theirs
    assert x[::-1].tolist() == theirs[::-1]
    assert [x[i].item() for i in range(count)] == theirs
    assert [float(x[i]) for i in range(1, count, 3)] == theirs[1::3]


@run_each("name", NAMES)
def test_nested_list_round_trip(name: str) -> None:
    values: list[Any] = [[[True], [True], [True]], [[True], [True], [True]]]
    x = refarray.asarray(values, dtype=name)
    assert x.shape == (2, 3, 1)
    assert x.dtype == name
    kind = (bool, int, float, complex)[kind_order(name)]
    assert x.tolist() == [[[kind(1)]] * 3] * 2
    assert all(type(v) is kind for row in x.tolist() for (v,) in row)
    assert refarray.asarray(x.tolist(), dtype=x.dtype).tolist() == x.tolist()


@settings(deadline=None)
@given(st.data(), st.sampled_from(REAL), st.floats())
def test_floats_round_as_in_ml_dtypes(data: st.DataObject, name: str, value: float) -> None:
    if name not in ("float32", "float64", "float16", "bfloat16") and data.draw(st.booleans()):
        value = math.ldexp(math.fmod(value, 4.0) if math.isfinite(value) else 1.1, 2)
    with np.errstate(all="ignore"):
        given_ = round_to_odd(np.array(value)) if name in SMALL else np.array([value])
        theirs = given_.astype(numpy_dtype(name)).astype(np.float64).item()
    ours = refarray.asarray(value, dtype=name).item()
    assert is_same(ours, theirs)
    assert is_same(ours, refarray.asarray([[value]], dtype=name).tolist()[0][0])
    assert is_same(ours, refarray.asarray(value).astype(name).item())


@np.errstate(all="ignore")
def neighbours(name: str) -> list[tuple[float, float]]:
    """Pairs of consecutive positive values of a type, at most about 500."""
    if name == "float32":
        values = np.random.default_rng(3).integers(1, 0x7F7FFFFE, 500, np.uint32).view(np.float32)
        return [(float(v), float(np.nextafter(v, np.float32(np.inf)))) for v in values]
    count = 1 << SUB_BYTE.get(name, 8 * numpy_dtype(name).itemsize)
    codes = np.arange(count, dtype=np.uint16 if count > 256 else np.uint8)
    every = np.unique(codes.view(numpy_dtype(name)).astype(np.float64))
    finite = every[np.isfinite(every) & (every >= 2.0**-126)]
    return list(itertools.pairwise(finite.tolist()))[:: max(1, len(finite) // 500)]


@run_each("name", [*SMALL, "float32"])
def test_numbers_next_to_a_midpoint_round_to_the_nearest(name: str) -> None:
    """Float64 and int elements and Python numbers are rounded once; exact arithmetic decides."""
    for low, high in neighbours(name):
        middle = (Fraction(low) + Fraction(high)) / 2
        for toward in (0.0, math.inf):
            value = math.nextafter(float(middle), toward)
            nearest = low if Fraction(value) < middle else high
            assert refarray.asarray(value, dtype=name).item() == nearest
            assert refarray.asarray([value]).astype(name).item() == nearest
            if name == "float16":
                parts = refarray.asarray([complex(value, -value)])
                assert parts.astype("complex32").item() == complex(nearest, -nearest)
                assert refarray.asarray([value]).astype("complex32").item() == nearest
        if middle.denominator != 1:
            continue
        for whole, nearest in ((int(middle) - 1, low), (int(middle) + 1, high)):
            if low < whole < high:
                assert refarray.asarray(whole, dtype=name).item() == nearest
                for dtype in ("int32", "uint32", "int64", "uint64"):
                    if whole < 2 ** (int(dtype[-2:]) - 1):
                        array = refarray.asarray([whole], dtype=dtype)
                        assert array.astype(name).item() == nearest


@settings(deadline=None)
@given(st.sampled_from(INTEGERS), st.integers(-(2**65), 2**65))
def test_ints_out_of_range_raise(name: str, value: int) -> None:
    info = np.iinfo(name)
    if info.min <= value <= info.max:
        assert refarray.asarray(value, dtype=name).item() == value
        return
    limits = f"{value} is out of range for {name}, which holds {info.min} to {info.max}"
    with pytest.raises(OverflowError, match=limits):
        refarray.asarray([0, value], dtype=name)


@run_each("name", INTEGERS)
def test_integer_limits_are_exact(name: str) -> None:
    info = np.iinfo(name)
    low, high = int(info.min), int(info.max)
    assert refarray.asarray([low, high], dtype=name).tolist() == [low, high]
    for value in (low - 1, high + 1):
        with pytest.raises(OverflowError, match=name):
            refarray.asarray(value, dtype=name)


@run_each(
    ("name", "largest", "beyond"),
    [
        ("float16", 65519, 65520),
        ("float8_e4m3fn", 464, 465),
        ("float8_e5m2", 61439, 61440),
        ("float6_e2m3fn", 7, 8),
        ("float4_e2m1fn", 6, 7),
        ("bfloat16", 2**128 - 2**120, 2**128 - 2**119),
        ("float64", int(1.7976931348623157e308), 2**1024),
        ("float8_e8m0fnu", 2**127, 0),
        ("float8_e8m0fnu", 1, -1),
        ("complex64", 2**127, 2**128),
    ],
)
def test_int_too_large_for_a_float_dtype_raises(name: str, largest: int, beyond: int) -> None:
    assert math.isfinite(abs(refarray.asarray(largest, dtype=name).item()))
    with pytest.raises(OverflowError, match=f"out of range for {name}, which holds"):
        refarray.asarray(beyond, dtype=name)


def test_float_out_of_range_saturates_or_becomes_infinite() -> None:
    assert refarray.asarray(1e300, dtype="float32").item() == math.inf
    assert refarray.asarray(-100.0, dtype="float4_e2m1fn").item() == -6.0
    assert math.isnan(refarray.asarray(0.0, dtype="float8_e8m0fnu").item())


def test_error_message_abbreviates_a_huge_int() -> None:
    with pytest.raises(OverflowError) as caught:
        refarray.asarray(10**100_000)
    assert "int64" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", NAMES)
@run_each("value", [True, 1, 1.0, 1.5, math.nan, 1j])
def test_numbers_keep_their_values(name: str, value: complex) -> None:
    """Those of a lower kind become an equal one, if asarray() is asked; full() refuses them."""
    of_value, of_dtype = (bool, int, float, complex).index(type(value)), kind_order(name)
    message = rf"\({type(value).__name__}\) cannot become an element of dtype {name}"
    if of_value <= of_dtype or value == 1:
        kept = refarray.asarray([value], dtype=name).tolist()[0]
        assert kept == value or math.isnan(abs(value)) or value == 1.5
    else:
        for given in (value, [value], [True, value]):
            with pytest.raises(TypeError, match=message):
                refarray.asarray(given, dtype=name)
    if of_value > of_dtype:
        with pytest.raises(TypeError, match=message):
            refarray.full(2, value, dtype=name)


@run_each("name", [*INTEGERS, "bool"])
def test_numbers_of_equal_value_convert(name: str) -> None:
    make = refarray.asarray
    assert make([0, 1, True, 1.0, -0.0], dtype=name).tolist() == [0, 1, 1, 1, 0]
    for value in (2.0, 2) if name == "bool" else (math.inf, 0.5, -math.inf, 1 + 0j):
        with pytest.raises(TypeError, match=f"cannot become an element of dtype {name}"):
            make([value], dtype=name)
    if name != "bool":
        limits = refarray.iinfo(name)
        if limits.bits < 54:
            assert make(float(limits.max), dtype=name).tolist() == limits.max
        with pytest.raises(OverflowError, match=f"out of range for {name}"):
            make(float(limits.max) * 2 + 2, dtype=name)
        with pytest.raises(OverflowError, match=f"out of range for {name}"):
            make([1e300], dtype=name)


def test_values_are_converted_by_asarray_only() -> None:
    x = refarray.zeros(2, dtype="int8")
    for assign in (lambda: x.__setitem__(0, 1.0), lambda: x.__setitem__(slice(None), [1.0, 2.0])):
        with pytest.raises(TypeError, match="cannot become an element of dtype int8"):
            assign()


def test_vector_elements_are_tuples() -> None:
    x = refarray.asarray([[1, 2, 3, 4], [5, 6, 7, 8]], dtype="int16x4")
    assert x.shape == (2,)
    assert x.tolist() == [(1, 2, 3, 4), (5, 6, 7, 8)]
    assert refarray.asarray(x.tolist(), dtype=x.dtype).tolist() == x.tolist()
    assert x[1].item() == (5, 6, 7, 8)
    packed = refarray.asarray([[1, 2, 3], [4, 6, 0]], dtype="float4_e2m1fnx3")
    assert packed.tolist() == [(1.0, 2.0, 3.0), (4.0, 6.0, 0.0)]
    padded = refarray.asarray([[1, 2, 3], [4, 6, 0]], dtype="float4_e2m1fnx3_padded")
    assert padded.tolist() == packed.tolist()
    assert (packed.nbytes, padded.nbytes) == (3, 4)
    assert refarray.ones((2,), dtype="float32x3").tolist() == [(1.0, 1.0, 1.0)] * 2
    assert refarray.asarray(7, dtype="int8x2").item() == (7, 7)
    for shape in ((0,), (2, 0), (2, 3, 0)):
        empty = refarray.zeros(shape, dtype="int16x4")
        again = refarray.asarray(empty.tolist(), dtype=empty.dtype)
        assert (again.shape, again.dtype, again.tolist()) == (shape, empty.dtype, empty.tolist())
    with pytest.raises(ValueError, match="length 0; an element of int16x4 has 4 lanes"):
        refarray.asarray([refarray.zeros((1, 0))], dtype="int16x4")
    with pytest.raises(ValueError, match="length 3; an element of int16x4 has 4 lanes"):
        refarray.asarray([1, 2, 3], dtype="int16x4")
    for convert in (bool, int, float, complex, operator.index):
        with pytest.raises(TypeError):
            convert(x[0])


@run_each("value", [False, True, 0, -3, 2**63 - 1, 0.0, -2.75, 1e300, 0j, 2 - 3j])
def test_0d_arrays_convert_like_python_numbers(value: Any) -> None:
    x = refarray.asarray(value)
    assert x.shape == ()
    assert type(x.item()) is type(value)
    assert x.item() == x.tolist() == value
    assert bool(x) is bool(value)
    assert complex(x) == complex(value)
    for convert in (int, float):
        if isinstance(value, complex):
            with pytest.raises(TypeError, match="complex"):
                convert(x)
        else:
            assert convert(x) == convert(value)
            assert type(convert(x)) is convert
    if type(value) is int:
        assert operator.index(x) == value
        assert range(10)[: refarray.asarray(3)] == range(3)
    else:
        with pytest.raises(TypeError, match=f"integer dtype.*{x.dtype}"):
            operator.index(x)


def test_int_of_non_integral_values() -> None:
    with pytest.raises(OverflowError):
        int(refarray.asarray(math.inf))
    with pytest.raises(ValueError):
        int(refarray.asarray(math.nan))
    assert int(refarray.asarray(-2.9, dtype="float32")) == -2
    assert bool(refarray.asarray(math.nan)) is True
    assert operator.index(refarray.asarray(2**64 - 1, dtype="uint64")) == 2**64 - 1


@run_each("convert", [bool, int, float, complex, operator.index])
@run_each("shape", [(1,), (1, 1), (2,), (0,), (3, 4)])
def test_conversion_to_a_number_requires_ndim_0(convert: Any, shape: tuple[int, ...]) -> None:
    x = refarray.zeros(shape, dtype="int32")
    with refusal(TypeError, "ndim 0", f"and {math.prod(shape)} elements", shape):
        convert(x)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_item_accepts_any_ndim(shape: tuple[int, ...]) -> None:
    assert refarray.full(shape, 7).item() == 7


@pytest.mark.parametrize("shape", [(0,), (2,), (1, 3), (4, 0)])
def test_item_needs_one_element(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"exactly 1 element; this one has {math.prod(shape)}"):
        refarray.zeros(shape).item()


@pytest.mark.parametrize("method", ["tolist", "item", "__complex__"])
def test_methods_without_parameters_reject_arguments(method: str) -> None:
    with pytest.raises(TypeError):
        getattr(refarray.asarray(1), method)(0)


def strided(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    steps = st.tuples(*[st.sampled_from([1, 2, -1, -2]) for _ in shape])
    return steps.map(lambda s: tuple(slice(None, None, step) for step in s))


@settings(deadline=None)
@given(st.data(), st.lists(st.integers(0, 4), max_size=5).map(tuple), st.sampled_from(NAMES))
def test_tolist_of_strided_views(data: st.DataObject, shape: tuple[int, ...], name: str) -> None:
    theirs = np.arange(math.prod(shape)).reshape(shape) % 2
    kind = (bool, int, float, complex)[kind_order(name)]
    if name == "float8_e8m0fnu":
        theirs = theirs + 1
    theirs = theirs.astype(kind)
    ours = refarray.asarray(theirs).astype(name)
    axes = data.draw(st.permutations(range(len(shape))))
    index = data.draw(strided(shape))
    theirs = theirs[index].transpose(axes)
    ours = refarray.permute_dims(ours[index], tuple(axes))
    assert ours.tolist() == theirs.tolist()


def test_tolist_of_a_broadcast_array() -> None:
    x = refarray.broadcast_to(refarray.asarray([[1], [2]]), (2, 3))
    assert x.tolist() == [[1, 1, 1], [2, 2, 2]]
    with pytest.raises(MemoryError, match=f"a list of {2**56} items"):
        refarray.broadcast_to(refarray.asarray(1), (2**56,)).tolist()
