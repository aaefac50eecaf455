"""Array attributes: shape, strides, sizes, read-only flag; and layouts only a producer can make."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from hypothesis import given, settings
from hypothesis import strategies as st
from test_indexing import FP4, PACKED, assert_same, indices, pair, shapes

import refarray
from refarray import Array

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


@settings(deadline=None)
@given(st.data(), shapes)
def test_attributes(data: st.DataObject, shape: tuple[int, ...]) -> None:
    ours, theirs = pair(shape, "int16")
    index = data.draw(indices(shape))
    ours, theirs = ours[index], np.asarray(theirs[index])
    assert (ours.shape, ours.ndim, ours.size) == (theirs.shape, theirs.ndim, theirs.size)
    assert (ours.itemsize, ours.nbytes) == (2, theirs.nbytes)
    assert ours.dtype is refarray.int16 and ours.device == "cpu" and ours.readonly is False
    assert ours.is_contiguous() is theirs.flags.c_contiguous
    for value in (*ours.shape, *ours.strides, ours.ndim, ours.size, ours.nbytes, ours.itemsize):
        assert type(value) is int
    assert type(ours.shape) is type(ours.strides) is tuple


@run_each("shape", [(), (0,), (1,), (5,), (2, 3), (3, 0, 2), (1, 4, 1, 2), (1,) * 64])
def test_a_new_array_is_row_major(shape: tuple[int, ...]) -> None:
    for array in (refarray.zeros(shape), refarray.empty(shape), refarray.ones(shape).copy()):
        assert array.shape == shape and array.is_contiguous() and not array.readonly
        expected = [int(np.prod([max(n, 1) for n in shape[i + 1 :]])) for i in range(len(shape))]
        assert list(array.strides) == expected


@pytest.mark.req("DTYPE-16")
@run_each(
    ("dtype", "itemsize", "nbytes"),
    [
        ("float4_e2m1fn", 1, [0, 1, 1, 2, 2, 3]),
        ("float6_e2m3fn", 1, [0, 1, 2, 3, 3, 4]),
        ("float4_e2m1fn_padded", 1, [0, 1, 2, 3, 4, 5]),
        ("float4_e2m1fnx3", 2, [0, 2, 3, 5, 6, 8]),
        ("float4_e2m1fnx2", 1, [0, 1, 2, 3, 4, 5]),
        ("complex128", 16, [0, 16, 32, 48, 64, 80]),
        ("bool", 1, [0, 1, 2, 3, 4, 5]),
        ("float32x3", 12, [0, 12, 24, 36, 48, 60]),
    ],
)
def test_nbytes_rounds_up_the_total_number_of_bits(
    dtype: str, itemsize: int, nbytes: list[int]
) -> None:
    for count, expected in enumerate(nbytes):
        array = refarray.zeros((count,), dtype=dtype)
        assert (array.itemsize, array.nbytes, array.size) == (itemsize, expected, count)


def test_nbytes_of_a_huge_broadcast_array() -> None:
    x = refarray.zeros((1,), dtype="float64")
    assert refarray.broadcast_to(x, (2**56,)).nbytes == 2**59
    assert refarray.broadcast_to(x, (2**56,))[2**56 - 1].item() == 0.0
    with pytest.raises(OverflowError, match="too many bits"):
        refarray.broadcast_to(x, (2**62,))


def test_an_axis_may_be_longer_than_a_sequence_of_python() -> None:
    """Where addresses have 32 bits: such an axis is read by indices, and is never cut."""
    x = refarray.broadcast_to(refarray.ones(1), (2**40,))
    assert x[2**40 - 1] == 1
    if sys.maxsize > 2**40:
        assert (len(x), x[1:].shape, memoryview(x).shape) == (2**40, (2**40 - 1,), (2**40,))
        return
    for call in (len, lambda x: x[1:]):
        with pytest.raises(OverflowError, match="1099511627776 items"):
            call(x)
    with pytest.raises(BufferError, match="the limit of a buffer"):
        memoryview(x)


def test_arrays_have_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        refarray.zeros(()).mine = 1  # type: ignore[attr-defined]


# --- T and mT ---


@settings(deadline=None)
@given(st.data(), shapes)
def test_transposes(data: st.DataObject, shape: tuple[int, ...]) -> None:
    ours, theirs = pair(shape)
    index = data.draw(indices(shape))
    ours, theirs = ours[index], np.asarray(theirs[index])
    if ours.ndim == 2:
        assert_same(ours.T, theirs.T)
        assert_same(ours.T.T, theirs)
    else:
        with pytest.raises(ValueError, match=f"ndim is {ours.ndim}; T is for ndim 2 only"):
            _ = ours.T
    if ours.ndim >= 2:
        assert_same(ours.mT, theirs.mT)
    else:
        with pytest.raises(ValueError, match=f"ndim is {ours.ndim}; mT is for ndim 2 or more"):
            _ = ours.mT


def test_transposes_share_memory() -> None:
    x = refarray.arange(6).reshape((2, 3))
    x.T[2, 0] = 20
    x.mT[0, 1] = 30
    assert x.tolist() == [[0, 1, 20], [30, 4, 5]]
    assert not x.T.is_contiguous() and x.T.T.is_contiguous()


# --- Read-only arrays ---

VIEWS = {
    "index": lambda x: x[0],
    "slice": lambda x: x[:, ::2],
    "element": lambda x: x[0, 0],
    "empty": lambda x: x[:0],
    "ellipsis": lambda x: x[...],
    "tuple": lambda x: x[()],
    "iteration": lambda x: next(iter(x)),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "reshape": lambda x: x.reshape((6,)),
    "permute_dims": lambda x: refarray.permute_dims(x, (1, 0)),
    "flip": refarray.flip,
    "moveaxis": lambda x: refarray.moveaxis(x, 0, 1),
    "expand_dims": lambda x: refarray.expand_dims(x, 0),
    "squeeze": lambda x: refarray.squeeze(x[None], 0),
    "to_device": lambda x: x.to_device("cpu"),
    "astype": lambda x: x.astype(x.dtype, copy=False),
    "as_readonly": lambda x: x.as_readonly(),
}


@run_each("name", VIEWS)
def test_views_of_a_read_only_array_are_read_only(name: str) -> None:
    x = refarray.zeros((2, 3))
    fixed = x.as_readonly()
    assert fixed.readonly and not x.readonly and fixed is not x
    view = VIEWS[name](fixed)
    assert view.readonly
    with pytest.raises(ValueError, match="read-only"):
        view[...] = 1
    assert VIEWS[name](x).readonly is (name == "as_readonly")


def test_read_only_view_shows_writes_through_other_views() -> None:
    x = refarray.zeros((2,))
    fixed = x.as_readonly()
    x[0] = 5
    assert fixed.tolist() == [5.0, 0.0]


# --- Layouts that only a foreign producer makes ---


def imported(adv: Any, **fields: Any) -> Array:
    fields.setdefault("data", np.arange(16, dtype=np.float32).tobytes())
    return refarray.from_capsule(adv.make(**fields).capsule())


@pytest.mark.req("TENS-13")
def test_zero_strides_keep_the_producers_read_only_flag(adv: Any) -> None:
    writable = imported(adv, shape=(3, 2), strides=(0, 1))
    assert not writable.readonly and writable.strides == (0, 1)
    writable[1, 0] = 9.0
    assert writable.tolist() == [[9.0, 1.0]] * 3
    fixed = imported(adv, shape=(3, 2), strides=(0, 1), flags=1)
    assert fixed.readonly


@pytest.mark.req("TENS-14")
@run_each("stride", [INT64_MIN, INT64_MAX, INT64_MIN + 1, 0, -1])
def test_stride_of_an_axis_of_extent_1_is_ignored(adv: Any, stride: int) -> None:
    x = imported(adv, shape=(2, 1, 3), strides=(3, stride, 1))
    expected = [[[0.0, 1.0, 2.0]], [[3.0, 4.0, 5.0]]]
    assert x.tolist() == expected and x.is_contiguous() and x.strides == (3, stride, 1)
    for index in (
        0,
        -1,
        slice(None, None, -1),
        slice(0, 1, 5),
        slice(None, None, INT64_MIN),
        slice(-1, None),
    ):
        assert x[:, index].tolist() == np.asarray(expected)[:, index].tolist()
    assert x[:, 5:].shape == (2, 0, 3)
    assert refarray.flip(x).tolist() == np.flip(expected).tolist()
    assert x.reshape((6,)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert x.reshape((6,), copy=False).strides == (1,)
    assert x.mT.tolist() == np.asarray(expected).swapaxes(1, 2).tolist()
    assert refarray.squeeze(x, 1).shape == (2, 3)
    assert refarray.broadcast_to(x, (2, 4, 3)).strides == (3, 0, 1)
    assert x.copy().tolist() == x.astype("float64").tolist() == expected
    x[:, 0] = 1.0
    assert x.tolist() == [[[1.0] * 3]] * 2


@pytest.mark.req("TENS-04", "TENS-14")
@run_each("strides", [*itertools.product([INT64_MIN, INT64_MAX, 2**62 + 1], repeat=2)])
def test_strides_of_an_empty_array_are_ignored(adv: Any, strides: tuple[int, int]) -> None:
    x = imported(adv, shape=(5, 0), strides=strides)
    assert x.shape == (5, 0) and x.tolist() == [[]] * 5 and x.is_contiguous()
    for index in (
        4,
        -1,
        slice(3, None),
        slice(None, None, -2),
        (slice(1, 4, 2), slice(None, None, -1)),
    ):
        view = x[index]
        assert view.shape == np.zeros((5, 0))[index].shape and view.size == 0
        view[...] = 1.0
        view[...] = view
    assert [row.shape for row in x] == [(0,)] * 5
    assert refarray.flip(x).shape == (5, 0) and x.T.shape == (0, 5) and x.copy().shape == (5, 0)
    assert x.reshape((0, 7)).shape == (0, 7) and x.astype("int8").nbytes == 0
    assert refarray.broadcast_to(x, (2, 5, 0)).tolist() == [[[]] * 5] * 2


def test_overlapping_windows_can_be_imported(adv: Any) -> None:
    windows = imported(adv, shape=(4, 3), strides=(1, 1))
    assert windows.tolist() == [[float(i + j) for j in range(3)] for i in range(4)]
    assert windows.copy().is_contiguous() and not windows.is_contiguous()
    with pytest.raises(refarray.NoCopyError):
        windows.reshape((12,), copy=False)
    assert windows.reshape((12,)).tolist() == [float(i + j) for i in range(4) for j in range(3)]


# --- Packed sub-byte elements: offsets and strides in bits ---


@pytest.mark.parametrize("dtype", [name for name in PACKED if not name.endswith("padded")])
def test_views_of_packed_elements_start_at_any_bit(dtype: str) -> None:
    values = PACKED[dtype]
    x = refarray.asarray(values, dtype=dtype)
    for start, step in itertools.product(
        range(-len(values), len(values)), (-5, -3, -2, -1, 1, 2, 3, 5)
    ):
        view = x[start::step]
        assert view.tolist() == values[start::step]
        assert view.strides == (step,) or view.size <= 1
        assert view.copy().tolist() == values[start::step]
        assert view.is_contiguous() is (step == 1 or view.size <= 1)


def test_views_of_packed_matrices() -> None:
    x = refarray.asarray(FP4[:9], dtype="float4_e2m1fn").reshape((3, 3))
    expected = np.asarray(FP4[:9]).reshape(3, 3)
    assert x.T.tolist() == expected.T.tolist() and x.nbytes == 5 and x[1].nbytes == 2
    x[:, 1] = 6.0
    expected[:, 1] = 6.0
    assert x.tolist() == expected.tolist()
    x.T[...] = x
    expected.T[...] = expected.copy()
    assert x.tolist() == expected.tolist()
    assert (x.as_readonly()[1:, 1:]).readonly
