"""Shape manipulation functions compared with NumPy: views, copies, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from hypothesis import given, settings
from hypothesis import strategies as st
from test_indexing import PACKED, assert_same, indices, pair, shapes

import refarray
from refarray import Array

FUNCTIONS = [
    *("reshape", "permute_dims", "flip", "broadcast_to", "squeeze", "expand_dims", "moveaxis"),
    *("astype", "copy", "to_device"),
]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Array, Any]:
    """A view of an array, in refarray and in NumPy."""
    ours, theirs = pair(draw(shapes))
    index = draw(indices(ours.shape))
    return ours[index], np.asarray(theirs[index])


def signed(axis: int, ndim: int, draw: Any) -> int:
    return axis - ndim if draw(st.booleans()) else axis


@settings(deadline=None)
@given(pairs(), st.data())
def test_permute_dims(arrays: tuple[Array, Any], data: st.DataObject) -> None:
    ours, theirs = arrays
    axes = [
        signed(axis, ours.ndim, data.draw) for axis in data.draw(st.permutations(range(ours.ndim)))
    ]
    assert_same(refarray.permute_dims(ours, tuple(axes)), theirs.transpose(axes))
    assert_same(refarray.permute_dims(ours, axes=axes), theirs.transpose(axes))


@settings(deadline=None)
@given(pairs(), st.data())
def test_flip(arrays: tuple[Array, Any], data: st.DataObject) -> None:
    ours, theirs = arrays
    assert_same(refarray.flip(ours), np.flip(theirs))
    assert_same(refarray.flip(ours, axis=None), np.flip(theirs))
    chosen = [axis for axis in range(ours.ndim) if data.draw(st.booleans())]
    axes = tuple(signed(axis, ours.ndim, data.draw) for axis in chosen)
    assert_same(refarray.flip(ours, axis=axes), np.flip(theirs, axes))
    for axis in axes:
        assert_same(refarray.flip(ours, axis=axis), np.flip(theirs, axis))


@settings(deadline=None)
@given(pairs(), st.data())
def test_moveaxis(arrays: tuple[Array, Any], data: st.DataObject) -> None:
    ours, theirs = arrays
    count = data.draw(st.integers(0, ours.ndim))
    source = [
        signed(axis, ours.ndim, data.draw) for axis in data.draw(st.permutations(range(ours.ndim)))
    ]
    target = [
        signed(axis, ours.ndim, data.draw) for axis in data.draw(st.permutations(range(ours.ndim)))
    ]
    moved = np.moveaxis(theirs, source[:count], target[:count])
    assert_same(refarray.moveaxis(ours, source[:count], tuple(target[:count])), moved)
    if ours.ndim:
        assert_same(
            refarray.moveaxis(ours, source[0], target[0]), np.moveaxis(theirs, source[0], target[0])
        )


@settings(deadline=None)
@given(pairs(), st.data())
def test_expand_dims_and_squeeze(arrays: tuple[Array, Any], data: st.DataObject) -> None:
    ours, theirs = arrays
    ndim = ours.ndim + data.draw(st.integers(0, 3))
    places = data.draw(st.permutations(range(ndim)))[: ndim - ours.ndim]
    axes = tuple(signed(axis, ndim, data.draw) for axis in places)
    expanded = refarray.expand_dims(ours, axis=axes)
    assert_same(expanded, np.expand_dims(theirs, axes))
    assert_same(refarray.squeeze(expanded, axes), theirs)
    assert_same(refarray.expand_dims(ours, axes), np.expand_dims(theirs, axes))
    assert_same(refarray.squeeze(refarray.expand_dims(ours, axis=-1), -1), theirs)
    ones = [axis for axis in range(ours.ndim) if ours.shape[axis] == 1]
    assert_same(refarray.squeeze(ours, axis=ones), np.squeeze(theirs, tuple(ones)))


@settings(deadline=None)
@given(pairs(), st.data())
def test_broadcast_to(arrays: tuple[Array, Any], data: st.DataObject) -> None:
    ours, theirs = arrays
    leading = data.draw(st.lists(st.integers(0, 3), max_size=3))
    stretched = [data.draw(st.integers(0, 4)) if extent == 1 else extent for extent in ours.shape]
    shape = (*leading, *stretched)
    out = refarray.broadcast_to(ours, shape)
    assert_same(out, np.broadcast_to(theirs, shape))
    assert out.readonly


@settings(deadline=None, max_examples=2 * settings().max_examples)
@given(pairs(), st.data())
def test_reshape(arrays: tuple[Array, Any], data: st.DataObject) -> None:
    ours, theirs = arrays
    left, shape = ours.size, list[int]()
    while left > 1 and len(shape) < 4:
        shape.append(data.draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0])))
        left //= shape[-1]
    if left != 1 or data.draw(st.booleans()):
        shape.insert(data.draw(st.integers(0, len(shape))), left)
    if shape and 0 not in shape and data.draw(st.booleans()):
        shape[data.draw(st.integers(0, len(shape) - 1))] = -1
    expected = theirs.reshape(shape).copy()
    for out in (
        refarray.reshape(ours, tuple(shape)),
        ours.reshape(shape),
        ours.reshape(shape, copy=None),
    ):
        assert out.shape == expected.shape and out.tolist() == expected.tolist()
    fresh = ours.reshape(shape, copy=True)
    assert_same(fresh, expected.copy())
    assert fresh.is_contiguous() and not fresh.readonly
    can_view = True
    try:
        view = ours.reshape(shape, copy=False)
    except refarray.NoCopyError:
        can_view = False
    if theirs.size > 1:
        try:
            np.reshape(theirs, shape, copy=False)
        except ValueError:
            assert not can_view
        else:
            assert can_view
    if can_view:
        ours[...] = -1
        assert (np.asarray(view.tolist()) == -1).all()
        assert fresh.tolist() == expected.tolist()


def test_reshape_copies_only_if_needed_and_allowed() -> None:
    x = refarray.arange(6).reshape((2, 3))
    view = x.reshape((3, 2))
    view[0, 0] = 70
    assert x[0, 0].item() == 70
    copied = refarray.permute_dims(x, (1, 0)).reshape((6,))
    copied[0] = 80
    assert x[0, 0].item() == 70
    for error in (refarray.NoCopyError, BufferError, ValueError):
        with pytest.raises(
            error, match=r"copy=False, but shape \(3, 2\) with strides \(1, 3\) cannot be viewed as"
        ):
            refarray.reshape(x.T, (6,), copy=False)
    fixed = x.as_readonly()
    assert fixed.reshape((6,)).readonly and not fixed.reshape((6,), copy=True).readonly
    assert not fixed.T.reshape((6,)).readonly  # a copy is writable


@pytest.mark.parametrize("dtype", PACKED)
@settings(deadline=None, max_examples=40)
@given(st.data())
def test_packed_elements(dtype: str, data: st.DataObject) -> None:
    ours = refarray.asarray(PACKED[dtype], dtype=dtype).reshape((3, 4))
    theirs = np.asarray(PACKED[dtype]).reshape(3, 4)
    index = data.draw(indices((3, 4)))
    ours, theirs = ours[index], np.asarray(theirs[index])
    for mine, other in (
        (refarray.flip(ours), np.flip(theirs)),
        (refarray.permute_dims(ours, range(ours.ndim)[::-1]), theirs.T),
        (ours.reshape((-1,)) if ours.size else ours, theirs.reshape(-1) if theirs.size else theirs),
        (refarray.flip(ours).reshape((1, ours.size)), np.flip(theirs).reshape(1, theirs.size)),
        (ours.astype("float32"), theirs),
        (ours.copy(), theirs),
        (
            refarray.broadcast_to(ours, (2, *ours.shape)),
            np.broadcast_to(theirs, (2, *theirs.shape)),
        ),
    ):
        assert mine.shape == other.shape and mine.tolist() == other.tolist()


# --- Docstrings, invalid arguments ---


@run_each("name", FUNCTIONS)
def test_docstrings_name_the_errors(name: str) -> None:
    doc = getattr(refarray, name).__doc__
    assert "Raises" in doc and ("array API" in doc or "Array API" in doc)


@pytest.mark.parametrize("name", FUNCTIONS)
@run_each("wrong", [None, 1, [1, 2], np.zeros(3), refarray.int8, Array])
def test_non_arrays_raise(name: str, wrong: Any) -> None:
    rest = {"moveaxis": (0, 0), "flip": (), "expand_dims": (0,), "copy": ()}.get(name, ("cpu",))
    with pytest.raises(
        TypeError, match=rf"{name}\(\) takes a refarray.Array, not {type(wrong).__name__}"
    ):
        getattr(refarray, name)(wrong, *rest)


INVALID_CALLS = [
    ("reshape", ((7,),), {}, ValueError, r"cannot reshape \(2, 3\) into \(7,\): 6 elements and 7"),
    ("reshape", ((-1, 4),), {}, ValueError, r"cannot reshape 6 elements into \(-1, 4\)"),
    ("reshape", ((-1, 0),), {}, ValueError, "no extent can replace -1"),
    ("reshape", ((-1, -1),), {}, ValueError, r"shape is \(-1, -1\); extents are 0 or more"),
    ("reshape", ((-2, 3),), {}, ValueError, r"shape is \(-2, 3\)"),
    ("reshape", ((1,) * 65,), {}, ValueError, "shape has 65 entries; the limit is 64"),
    ("reshape", ((2**62, 4),), {}, OverflowError, "too many"),
    ("reshape", ((-1, 2**62, 4),), {}, OverflowError, "too many"),
    ("reshape", ((2**63,),), {}, OverflowError, f"shape is {2**63}; the range is int64"),
    ("reshape", ((6.0,),), {}, TypeError, r"shape\[0\] must be an integer, not float"),
    ("reshape", ("6",), {}, TypeError, "shape must be an integer or a sequence of .* not str"),
    ("reshape", (b"\x06",), {}, TypeError, "not bytes"),
    ("reshape", (None,), {}, TypeError, "not NoneType"),
    ("reshape", ({6: 0},), {}, TypeError, "not dict"),
    ("reshape", (((6,),),), {}, TypeError, r"shape\[0\] must be an integer, not tuple"),
    ("reshape", ((6,),), {"copy": 1}, TypeError, "copy must be True, False or None, not "),
    ("reshape", ((6,),), {"copy": "no"}, TypeError, "copy must be True, False or None"),
    ("reshape", ((6,), True), {}, TypeError, "at most 2 positional arguments"),
    ("reshape", (), {}, TypeError, "missing required argument 'shape'"),
    ("reshape", ((6,),), {"order": "C"}, TypeError, "unexpected keyword argument 'order'"),
    ("reshape", ((6,),), {"shape": (6,)}, TypeError, "multiple values for argument 'shape'"),
    ("permute_dims", ((0,),), {}, ValueError, r"axes is \(0,\), which has 1 entries; ndim is 2"),
    ("permute_dims", ((0, 1, 2),), {}, ValueError, "3 entries; ndim is 2"),
    ("permute_dims", ((0, 0),), {}, ValueError, r"axes is \(0, 0\), which has axis 0 of .* more"),
    ("permute_dims", ((1, -1),), {}, ValueError, "axis 1 of ndim 2 more than once"),
    ("permute_dims", ((0, 2),), {}, IndexError, r"axis 2 is out of .* the range is \[-2, 2\)"),
    ("permute_dims", ((0, "1"),), {}, TypeError, r"axes\[1\] must be an integer, not str"),
    ("flip", (), {"axis": 2}, IndexError, "axis 2 is out of range for ndim 2"),
    ("flip", (), {"axis": -3}, IndexError, "axis -3 is out of range"),
    ("flip", (), {"axis": (0, -2)}, ValueError, "axis 0 of ndim 2 more than once"),
    ("flip", (), {"axis": 0.0}, TypeError, "axis must be an integer or .*, not float"),
    ("flip", (0,), {}, TypeError, "at most 1 positional argument "),
    ("broadcast_to", ((3, 2),), {}, ValueError, r"shape \(2, 3\) does not broadcast to \(3, 2\)"),
    ("broadcast_to", ((3,),), {}, ValueError, "does not broadcast"),
    ("broadcast_to", ((-1, 3),), {}, ValueError, "the extent of axis 0 is -1; the minimum is 0"),
    ("broadcast_to", ((1,) * 65,), {}, ValueError, "shape has 65 entries; the limit is 64"),
    ("broadcast_to", ((2**62, 2, 3),), {}, OverflowError, "too many"),
    ("broadcast_to", (2.5,), {}, TypeError, "not float"),
    ("squeeze", (0,), {}, ValueError, r"axis 0 of shape \(2, 3\) has extent 2; only"),
    ("squeeze", ((),), {"axis": 0}, TypeError, "multiple values for argument 'axis'"),
    ("squeeze", (2,), {}, IndexError, "axis 2 is out of range"),
    ("squeeze", (None,), {}, TypeError, "not NoneType"),
    ("squeeze", (), {}, TypeError, "missing required argument 'axis'"),
    ("expand_dims", (), {"axis": 3}, IndexError, "axis 3 is out of range for ndim 3"),
    ("expand_dims", (), {"axis": -4}, IndexError, "axis -4 is out of range"),
    ("expand_dims", (), {"axis": (0, 0)}, ValueError, "axis 0 of ndim 4 more than once"),
    ("expand_dims", (), {"axis": tuple(range(63))}, ValueError, "ndim 65; the limit is 64"),
    ("expand_dims", (), {"axis": None}, TypeError, "not NoneType"),
    ("expand_dims", (), {}, TypeError, "missing required argument 'axis'"),
    ("expand_dims", (0, 1), {}, TypeError, "at most 2 positional arguments "),
    ("moveaxis", (0, 2), {}, IndexError, "axis 2 is out of range"),
    ("moveaxis", ((0, 1), 0), {}, ValueError, "source has 2 axes, destination has 1"),
    ("moveaxis", ((0, 0), (0, 1)), {}, ValueError, "source is .* axis 0 of ndim 2 more than once"),
    ("moveaxis", ((0, 1), (0, -2)), {}, ValueError, "destination is .* axis 0"),
    ("moveaxis", (0,), {"destination": 1}, TypeError, "unexpected keyword argument 'destination'"),
    ("astype", ("float31",), {}, ValueError, "no dtype is named 'float31'"),
    ("astype", (None,), {}, TypeError, "dtype must be .*, not NoneType"),
    ("astype", ("int8",), {"copy": None}, TypeError, "copy must be True or False, not None"),
    ("astype", ("int8",), {"copy": 1}, TypeError, "copy must be True or False, not int"),
    ("astype", ("int8",), {"device": "gpu"}, ValueError, "no device is named 'gpu'"),
    ("astype", ("int8",), {"device": 0}, TypeError, "device must be .*, not int"),
    ("astype", (), {"dtype": "int8"}, TypeError, "unexpected keyword argument 'dtype'"),
    ("copy", (), {"deep": True}, TypeError, "unexpected keyword argument 'deep'"),
]  # fmt: skip


@run_each(("name", "args", "keywords", "error", "message"), INVALID_CALLS)
def test_invalid_arguments_raise(
    name: str, args: Any, keywords: Any, error: type[Exception], message: str
) -> None:
    x = refarray.zeros((2, 3))
    with pytest.raises(error, match=message):
        getattr(refarray, name)(x, *args, **keywords)
