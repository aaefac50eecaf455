"""tobytes(), view(), sys.getsizeof(), format() and round() of arrays."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from hypothesis import given
from hypothesis import strategies as st

import refarray

OBJECT = 48 + object.__basicsize__  # of an array without axes; the header is larger without a GIL
AXIS = 16


# --- tobytes


def layouts() -> list[refarray.Array]:
    base = refarray.reshape(refarray.arange(24, dtype="int16"), (2, 3, 4))
    return [
        base,
        base[:, ::2, 1:],
        refarray.flip(base),
        refarray.permute_dims(base, (2, 0, 1)),
        refarray.permute_dims(base, (2, 1, 0)),
        refarray.broadcast_to(base[0, 0], (3, 4)),
        base[0, 0, 0],
        base[:0],
    ]


@run_each("order", ["C", "F", "A", None])
@run_each("index", range(8))
def test_tobytes_gives_the_bytes_that_numpy_gives(index: int, order: Any) -> None:
    x = layouts()[index]
    expected = np.asarray(x).tobytes(order="C" if order is None else order)
    assert type(x.tobytes(order)) is bytes
    assert x.tobytes(order) == x.tobytes(order=order) == expected


def test_tobytes_defaults_to_row_major_order() -> None:
    x = refarray.asarray([[1, 2], [3, 4]], dtype="uint8")
    assert x.tobytes() == b"\1\2\3\4"
    assert x.T.tobytes() == b"\1\3\2\4" and x.T.tobytes("A") == b"\1\2\3\4"


def test_tobytes_of_packed_elements_clears_the_unused_bits() -> None:
    x = refarray.asarray([1.0, 2.0, 6.0], dtype="float4_e2m1fn")
    assert x.tobytes() == b"\x42\x07"
    assert refarray.flip(x).tobytes() == b"\x47\x02"
    assert x[1:].tobytes() == b"\x74"


def test_tobytes_of_a_large_array_is_a_copy() -> None:
    x = refarray.ones(100_000, dtype="uint8")
    data = x[::-1].tobytes()
    x[:] = 0
    assert data == b"\1" * 100_000


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        ("K", ValueError, "order is 'K'; it must be 'C', 'F', 'A' or None"),
        ("c", ValueError, "order is 'c'"),
        ("", ValueError, "order is ''"),
        (1, TypeError, "order must be 'C', 'F', 'A' or None, not int"),
    ],
)
def test_tobytes_refuses_other_orders(order: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        refarray.zeros(2).tobytes(order)


def test_tobytes_of_more_bytes_than_there_can_be_raises() -> None:
    huge = refarray.broadcast_to(refarray.zeros(1), (2**56,))
    with pytest.raises(MemoryError, match="no memory for 576460752303423488 bytes"):
        huge.tobytes()
    with pytest.raises(OverflowError):
        refarray.broadcast_to(refarray.zeros(1, dtype="float32"), (2**59,)).tobytes()


# --- view


@given(st.data())
def test_view_is_numpys_view(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), max_size=3).map(tuple))
    dtypes = st.sampled_from(["int8", "uint16", "float32", "int64", "complex128", "bool"])
    theirs = np.arange(math.prod(shape)).reshape(shape).astype(data.draw(dtypes))
    step = data.draw(st.sampled_from([slice(None), slice(None, None, 2), slice(None, None, -1)]))
    if shape:
        theirs = theirs[step]
    ours, dtype = refarray.from_dlpack(theirs), data.draw(dtypes)
    try:
        expected = theirs.view(dtype)
    except ValueError:
        with pytest.raises(ValueError, match="cannot view"):
            ours.view(dtype)
        return
    axes = zip(expected.strides, expected.shape, strict=True)
    if expected.size and any(stride % expected.itemsize for stride, n in axes if n > 1):
        with pytest.raises(ValueError, match="not a whole number of the new elements"):
            ours.view(dtype)  # NumPy's strides are in bytes
        return
    got = ours.view(dtype)
    assert (got.shape, got.dtype) == (expected.shape, dtype)
    assert got.tobytes() == expected.tobytes()
    if got.size:
        assert got.__array_interface__["data"][0] == theirs.__array_interface__["data"][0]


def test_view_shares_the_memory_and_keeps_it() -> None:
    x = refarray.zeros((2, 2), dtype="uint32")
    y = x.view("uint8")
    assert (y.shape, y.strides) == ((2, 8), (8, 1))
    y[1, 4] = 7
    assert x.tolist() == [[0, 0], [0, 7]]
    del x
    assert y.view(dtype=refarray.uint32).tolist() == [[0, 0], [0, 7]]


def test_view_of_a_read_only_array_is_read_only() -> None:
    x = refarray.zeros(4).as_readonly()
    assert x.view("float32").readonly and x.view("int64").readonly


def test_views_between_packed_and_whole_elements() -> None:
    x = refarray.asarray([0x42, 0x07], dtype="uint8")
    packed = x.view("float4_e2m1fn")
    assert packed.tolist() == [1.0, 2.0, 6.0, 0.0]
    assert packed.view("uint8").tolist() == [0x42, 0x07]
    assert packed.view("float4_e2m1fnx2").shape == (2,)
    with pytest.raises(ValueError, match="the first element begins at bit 4 of a byte"):
        packed[1:3].view("uint8")
    with pytest.raises(ValueError, match="the last axis has 3 elements"):
        packed[:3].view("uint8")


def test_views_between_vectors_and_their_lanes() -> None:
    x = refarray.asarray([1.0, 2.0, 3.0, 4.0], dtype="float32")
    assert x.view("float32x2").tolist() == [(1.0, 2.0), (3.0, 4.0)]
    assert x.view("float32x4").view("float32").tolist() == x.tolist()


def wide() -> refarray.Array:
    return refarray.reshape(refarray.arange(6, dtype="float32"), (2, 3))


@run_each(
    ("make", "dtype", "message"),
    [
        (wide, "float64", r"float32 \(32 bits\) as float64 \(64 bits\): the last axis has 3 elem"),
        (lambda: wide().T, "uint8", "the stride of the last axis is 3 elements; it must be 1"),
        (lambda: refarray.flip(wide()), "uint8", "the stride of the last axis is -1 elements"),
        (lambda: wide()[:, :2], "float64", r"strides\[0\] is 96 bits, not a whole number"),
        (lambda: refarray.zeros(()), "uint8", "ndim is 0; the sizes must be equal"),
        (lambda: refarray.broadcast_to(refarray.zeros(1), (3,)), "uint8", "last axis is 0 elem"),
        (lambda: refarray.zeros((0, 2**61), dtype="uint8"), "float6_e2m3fn", "the last axis has"),
    ],
)
def test_view_names_what_does_not_fit(make: Any, dtype: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make().view(dtype)


def test_view_needs_a_dtype() -> None:
    with pytest.raises(TypeError, match="dtype must be"):
        refarray.zeros(1).view(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing"):
        refarray.zeros(1).view()  # type: ignore[call-arg]


# --- sys.getsizeof


def owned(x: refarray.Array) -> int:
    """The bytes that count besides those of the object."""
    return sys.getsizeof(x) - OBJECT - AXIS * x.ndim


def test_getsizeof_counts_the_memory_of_a_new_array() -> None:
    for x in (refarray.zeros((100, 8)), refarray.arange(800), refarray.ones(800).copy()):
        assert 6400 <= owned(x) < 6400 + 512  # with the storage's header


def test_getsizeof_never_counts_twice() -> None:
    x = refarray.zeros(1000)
    views = [x[1:], x.view("uint8"), refarray.reshape(x, (10, 100)), refarray.from_dlpack(x)]
    assert [owned(view) for view in views] == [0] * 4
    assert owned(x) >= 8000


def test_getsizeof_of_the_last_view_counts_the_memory() -> None:
    x = refarray.zeros(1000)
    view = x[::500]
    assert owned(view) == 0
    del x
    assert owned(view) >= 8000


def test_getsizeof_leaves_out_borrowed_memory() -> None:
    for exporter in (np.zeros(1000), bytearray(8000)):
        assert owned(refarray.asarray(exporter)) == 0


# --- format and round


def test_format_of_a_number() -> None:
    assert f"{refarray.asarray(2.567):.2f}" == "2.57"
    assert f"{refarray.asarray(255, dtype='uint8'):#06x}" == "0x00ff"
    assert f"{refarray.asarray(1 + 2j):.1f}" == "1.0+2.0j"
    assert f"{refarray.asarray(True):d}" == "1"
    with pytest.raises(ValueError, match="Unknown format code 'x'"):
        f"{refarray.asarray(2.5):x}"


def test_an_empty_format_is_str() -> None:
    for x in (refarray.zeros(3), refarray.asarray(2.5), refarray.zeros((), dtype="int8x2")):
        assert f"{x}" == str(x) == format(x)


def test_format_of_other_arrays_raises() -> None:
    with pytest.raises(TypeError, match=r"a format specification needs an array of ndim 0; .*\(3,"):
        format(refarray.zeros(3), ".2f")
    with pytest.raises(TypeError, match="needs a scalar dtype; int8x2"):
        format(refarray.zeros((), dtype="int8x2"), "d")
    with pytest.raises(TypeError, match="must be a str, not int"):
        refarray.zeros(()).__format__(1)  # type: ignore[arg-type]


def test_round_gives_a_python_number() -> None:
    for value in (2.5, 3.5, -1.25, 7, True):
        x = refarray.asarray(value)
        assert round(x) == round(value) and type(round(x)) is int
        assert round(x, 1) == round(value, 1) and type(round(x, 1)) is type(round(value, 1))
        assert round(x, None) == round(value)


def test_round_to_any_number_of_digits_ends() -> None:
    """Python's ints compute 10 ** n for n digits before the point, whatever n is."""
    for digits in (-(2**63), -(2**31), -20, 2**31, 2**63):
        assert round(refarray.asarray(2**63, dtype="uint64"), digits) == (
            2**63 if digits > 0 else 0
        )
        assert round(refarray.asarray(1.5), digits) == (1.5 if digits > 0 else 0)
    with pytest.raises(TypeError, match="integer"):
        round(refarray.asarray(7), "1")  # type: ignore[call-overload]


def test_round_of_other_arrays_raises() -> None:
    with pytest.raises(TypeError, match=r"round\(\) needs an array of ndim 0"):
        round(refarray.zeros(3))
    with pytest.raises(TypeError, match=r"round\(\) of dtype complex128 is not defined"):
        round(refarray.asarray(1j))
    with pytest.raises(ValueError, match="cannot convert float NaN"):
        round(refarray.asarray(math.nan))
    with pytest.raises(TypeError, match="takes at most 1 argument"):
        refarray.zeros(()).__round__(1, 2)  # type: ignore[call-arg]
