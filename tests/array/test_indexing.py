"""Array.__getitem__: integers, slices, Ellipsis, None and tuples, compared with NumPy."""

from __future__ import annotations

import ast
import contextlib
import itertools
import operator
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.number_likes import IntLike
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray
from refarray import Array


def pair(shape: tuple[int, ...], dtype: str = "int32") -> tuple[Array, np.ndarray[Any, Any]]:
    """A refarray and a NumPy array over the same memory."""
    theirs = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    return refarray.from_dlpack(theirs), theirs


def assert_same(ours: Any, theirs: Any) -> None:
    assert type(ours) is Array
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.tolist() == theirs.tolist()
    if theirs.size == 0:
        return
    steps = [stride // theirs.itemsize for stride in theirs.strides]
    for extent, mine, step in zip(ours.shape, ours.strides, steps, strict=True):
        assert extent == 1 or mine == step


shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)
bounds = st.none() | st.integers(-8, 8) | st.sampled_from([-(2**63), 2**63 - 1, -(2**80), 2**80])
steps = (st.integers(-3, 3) | st.sampled_from([2**62, -(2**62), 2**80, -(2**80)])).filter(bool)
slices = st.builds(slice, bounds, bounds, st.none() | steps)


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """An index valid for `shape`: a tuple, or its only entry alone."""
    used = draw(st.integers(0, len(shape)))
    split = draw(st.integers(0, used)) if draw(st.booleans()) else None
    axes = list(range(used))
    if split is not None:
        axes = [*range(split), *range(len(shape) - (used - split), len(shape))]
    entries: list[Any] = []
    for axis in axes:
        extent = shape[axis]
        whole = slices if extent == 0 else slices | st.integers(-extent, extent - 1)
        entries.append(draw(whole))
    if split is not None:
        entries.insert(split, ...)
    for _ in range(draw(st.integers(0, 2))):
        entries.insert(draw(st.integers(0, len(entries))), None)
    if len(entries) == 1 and draw(st.booleans()):
        return entries[0]
    return tuple(entries)


@settings(deadline=None)
@given(st.data(), shapes)
def test_indexing_matches_numpy(data: st.DataObject, shape: tuple[int, ...]) -> None:
    ours, theirs = pair(shape)
    for _ in range(3):  # views of views
        index = data.draw(indices(ours.shape))
        ours, theirs = ours[index], np.asarray(theirs[index])
        assert_same(ours, theirs)


@settings(deadline=None)
@given(st.data(), shapes)
def test_indexing_returns_a_view(data: st.DataObject, shape: tuple[int, ...]) -> None:
    ours, theirs = pair(shape)
    view = ours[data.draw(indices(shape))]
    theirs += 1000
    assert all(value >= 1000 for value in np.asarray(view.tolist()).ravel())


def test_every_slice_of_a_short_axis() -> None:
    ours, theirs = pair((4,))
    ends = [None, *range(-6, 7)]
    for start, stop, step in itertools.product(ends, ends, [None, -5, -2, -1, 1, 2, 5]):
        assert_same(ours[start:stop:step], theirs[start:stop:step])


class IntSubclass(int):
    pass


@run_each(
    "index",
    [1, IntSubclass(1), IntLike(1), np.int8(1), np.uint64(1), np.array(1), refarray.asarray(1)],
)
def test_integer_like_objects_are_indices(index: Any) -> None:
    ours, theirs = pair((3, 4))
    assert_same(ours[index], theirs[1])
    assert_same(ours[index, index], theirs[1, 1])
    assert_same(ours[index:], theirs[1:])
    assert_same(ours[:, ::index], theirs)
    ours[index][...] = 7
    assert theirs[1].tolist() == [7, 7, 7, 7]


def test_integers_on_all_axes_give_a_0d_array() -> None:
    ours, _ = pair((2, 3))
    element = ours[1, 2]
    assert type(element) is Array and element.shape == () and element.ndim == 0
    assert element.item() == 5 and int(element) == 5
    assert element[()].item() == 5 and element[...].shape == () and element[None].shape == (1,)
    assert element[..., None, None].shape == (1, 1)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint64"])
def test_integers_of_ndim_0_in_a_tuple(dtype: str) -> None:
    ours, theirs = pair((3, 4))
    index = (refarray.asarray(2, dtype=dtype), refarray.asarray(3, dtype=dtype))
    assert_same(ours[index], theirs[2, 3])


def test_exceptions_of_dunder_index_propagate() -> None:
    ours, _ = pair((3,))
    for error in (
        RuntimeError("mine"),
        TypeError("mine"),
        IndexError("mine"),
        KeyboardInterrupt("mine"),
    ):
        for index in (
            IntLike(error),
            (IntLike(error),),
            slice(IntLike(error), None),
            (..., IntLike(error)),
        ):
            with pytest.raises(type(error), match="mine"):
                ours[index]


@pytest.mark.computes
@pytest.mark.parametrize("error", [ValueError, TypeError])
def test_an_exception_of_dunder_index_of_a_sequence(error: type[Exception]) -> None:
    """TypeError says that it is no number, as by NumPy's arrays: it is read as a sequence."""

    class Sequence(list):  # type: ignore[type-arg]
        def __index__(self) -> int:
            raise error("mine")

    ours, theirs = pair((3,))
    if error is TypeError:
        assert ours[Sequence([2, 0])].tolist() == theirs[[2, 0]].tolist()
        return
    with pytest.raises(error, match="mine"):
        ours[Sequence([2, 0])]


def test_dunder_index_must_return_an_int() -> None:
    ours, _ = pair((3,))
    with pytest.raises(TypeError, match="__index__.* (returned non-int|must return an int)"):
        ours[IntLike("1")]


NOT_INDICES = [
    1.0, 1j, "0", b"0", bytearray(b"0"), {0}, {0: 0}, range(2), object(), NotImplemented,
    np.float64(1.0), np.array([0.0, 1.0]), np.zeros((0,)), [0.5], ["0"], refarray.asarray(1.0),
    refarray.asarray([1j]), refarray.zeros(2, dtype="int8x2"), refarray.zeros(2, dtype="boolx2"),
    (0,),
]  # fmt: skip


@run_each("wrong", NOT_INDICES, ids=[type(wrong).__name__ for wrong in NOT_INDICES])
def test_other_objects_as_index_raise(wrong: Any) -> None:
    ours, _ = pair((3, 4))
    entries = [(wrong,), (0, wrong), (..., wrong), (None, wrong, 0)]
    for index in entries if isinstance(wrong, tuple) else [wrong, *entries]:
        with pytest.raises(TypeError):
            ours[index]
        with pytest.raises(TypeError):
            ours[index] = 1


@pytest.mark.parametrize(
    "wrong", [slice(None, None, 0), slice(0.5, None), slice("a"), slice(None, [1])]
)
def test_invalid_slices_raise(wrong: slice) -> None:
    ours, _ = pair((3,))
    error = ValueError if wrong.step == 0 else TypeError
    for index in (wrong, (wrong,), (None, wrong)):
        with pytest.raises(error, match="slice"):
            ours[index]


OUT_OF_RANGE: list[tuple[tuple[int, ...], Any, str]] = [
    ((3,), 3, r"index 3 is out of range for axis 0 of extent 3; the range is \[-3, 3\)"),
    ((3,), -4, "index -4 is out of range"),
    ((3,), 2**63, f"index {2**63} is out of range"),
    ((3,), -(2**200), f"index -{str(2**200)[:20]}"),
    ((3,), 10**5000, "index an int with too many digits to print is out of range"),
    ((3,), np.uint64(2**64 - 1), f"index {2**64 - 1} is out of range"),
    ((3, 4), (0, 4), "index 4 is out of range for axis 1 of extent 4"),
    ((3, 4), (..., -5), "index -5 is out of range for axis 1"),
    ((0,), 0, r"index 0 is out of range for axis 0 of extent 0; the range is \[0, 0\)"),
    ((2, 0), (0, 0), "index 0 is out of range for axis 1 of extent 0"),
    ((), 0, "entries for 1 axes; ndim is 0"),
    ((), slice(None), "entries for 1 axes; ndim is 0"),
    ((), (0,), "entries for 1 axes; ndim is 0"),
    ((3, 4), (0, 0, 0), "entries for 3 axes; ndim is 2"),
    ((3, 4), (slice(None), ..., 0, 0), "entries for 3 axes; ndim is 2"),
    ((3, 4), (0,) * 10_000, "entries for 10000 axes; ndim is 2"),
    ((3, 4), (..., ...), "the index has 2 '...'; the limit is 1"),
    ((3, 4), (..., 0, ...), "the index has 2 '...'"),
    ((3, 4), (None,) * 63, "the result would have 65 axes; the limit is 64"),
    ((3, 4), (None,) * 100_000, "the result would have 100002 axes"),
    ((3, 4), (None,) * (2**20 + 1), "the index has 1048577 entries; the limit is 1048576"),
]


@run_each(("shape", "index", "message"), OUT_OF_RANGE, ids=range(len(OUT_OF_RANGE)))
def test_index_out_of_range_raises(shape: tuple[int, ...], index: Any, message: str) -> None:
    ours, _ = pair(shape)
    with pytest.raises(IndexError, match=message):
        ours[index]
    with pytest.raises(IndexError, match=message):
        ours[index] = 0


def test_indexing_up_to_the_maximum_ndim() -> None:
    ours, theirs = pair((3, 4))
    full = ours[(None,) * 62]
    assert full.ndim == 64 and full.size == 12
    assert_same(full[(0,) * 62], theirs)
    with pytest.raises(IndexError, match="65 axes"):
        full[None]
    with pytest.raises(IndexError, match="65 axes"):
        full[..., None]
    assert full[..., None, 0].ndim == 64


# --- Entries that run user code ---


@pytest.mark.computes
def test_entries_that_change_later_entries_select_or_raise(isolated: Any) -> None:
    outcomes = ast.literal_eval(isolated("user_code/changing_index.py"))
    assert outcomes["selected"] > 300 and outcomes["raised"] > 300


@pytest.mark.computes
@pytest.mark.parametrize("modes", [{}, {"strict": True}, {"poison_views": True}])
def test_each_entry_is_read_once(modes: dict[str, Any]) -> None:
    xp: Any = refarray.namespace(**modes)
    calls = []

    class Counted:
        def __init__(self, number: int) -> None:
            self.number = number

        def __index__(self) -> int:
            calls.append(self.number)
            return self.number

    zero, one, two = Counted(0), Counted(1), Counted(2)
    x = xp.zeros((3, 3))
    indices: list[Any] = [
        (one, two),
        (slice(zero, two, one), one),
        (one, ...),
        (two, slice(one, 9)),
    ]
    if not modes:
        indices += [one, slice(one, two), (one, [0, 1]), (one, None, [[0], [1]]), ([one, two],)]
    for index in indices:
        wanted = [entry.number for entry in flat(index) if isinstance(entry, Counted)]
        for use in (operator.getitem, lambda x, index: operator.setitem(x, index, 1.0)):
            calls.clear()
            with contextlib.suppress(IndexError):  # a strict namespace does not clip 9
                use(x, index)
            assert sorted(calls) == sorted(wanted), index


def flat(index: Any) -> list[Any]:
    if isinstance(index, slice):
        return [index.start, index.stop, index.step]
    if not isinstance(index, (tuple, list)):
        return [index]
    return [entry for each in index for entry in flat(each)]


# --- Iteration and length ---


def test_iteration_yields_views_along_the_first_axis() -> None:
    ours, theirs = pair((3, 2))
    rows = list(ours)
    assert len(ours) == len(rows) == 3
    for mine, row in zip(rows, theirs, strict=True):
        assert_same(mine, row)
    rows[1][0] = -5
    assert theirs[1, 0] == -5
    (first, second, _third) = ours
    assert first.tolist() == [0, 1] and second.tolist() == [-5, 3]
    assert [element.item() for element in ours[0]] == [0, 1]
    assert list(pair((0, 2))[0]) == [] and len(pair((0, 2))[0]) == 0
    assert [row.shape for row in pair((2, 0))[0]] == [(0,), (0,)]


def test_ndim_0_has_no_length_and_no_iterator() -> None:
    scalar = refarray.asarray(5)
    with pytest.raises(TypeError, match=r"len\(\) of an array of ndim 0"):
        len(scalar)
    with pytest.raises(TypeError, match="iteration over an array of ndim 0"):
        iter(scalar)


# --- Packed sub-byte elements: a view may start inside a byte ---

FP4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.5, -1.0, -1.5, -2.0]
FP6 = [0.0, 0.25, 0.5, 1.0, 1.25, 1.5, 2.0, 3.0, -0.25, -4.0, -5.0, 7.0]
PACKED = {
    "float4_e2m1fn": FP4,
    "float6_e3m2fn": FP6,
    "float6_e2m3fn": FP6,
    "float4_e2m1fn_padded": FP4,
    "float6_e2m3fn_padded": FP6,
}


@pytest.mark.parametrize("dtype", PACKED)
@settings(deadline=None, max_examples=60)
@given(st.data())
def test_packed_elements(dtype: str, data: st.DataObject) -> None:
    theirs = np.asarray(PACKED[dtype], dtype=np.float64).reshape(3, 4)
    ours = refarray.asarray(PACKED[dtype], dtype=dtype).reshape((3, 4))
    for _ in range(3):
        index = data.draw(indices(ours.shape))
        ours, theirs = ours[index], np.asarray(theirs[index])
        assert ours.shape == theirs.shape and ours.tolist() == theirs.tolist()
        assert ours.copy().tolist() == theirs.tolist()
