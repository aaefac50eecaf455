"""Indexing by masks and integer arrays: words of every size, long masks, overlap, errors."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import refusal, run_each
from helpers.index_model import DTYPES, numbered

import refarray as xp

SHAPE = (3, 4, 5)


@run_each("lanes", [1, 3, 4, 16])
@run_each("dtype", DTYPES)
def test_words_of_every_size(dtype: str, lanes: int) -> None:
    x = numbered((40 * lanes,), dtype)
    if lanes > 1:
        x = x.view(f"{dtype}x{lanes}")
    values = x.tolist()
    mask = [i % 3 != 1 for i in range(40)]
    picked = [39, 0, -1, 17, 17]
    assert x[xp.asarray(mask)].tolist() == [v for v, m in zip(values, mask, strict=True) if m]
    assert x[xp.asarray(picked)].tolist() == [values[i] for i in picked]
    y = xp.copy(x)
    y[xp.asarray([2, 1])] = x[:2]
    assert y.tolist() == [values[0], values[1], values[0], *values[3:]]


@run_each("size", [0, 1, 7, 8, 9, 63, 64, 65, 1000, 100_003])
@run_each("density", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_masks_of_any_length(size: int, density: float) -> None:
    rng = random.Random(size)
    bits = [rng.random() < density for _ in range(size)]
    x = xp.arange(size, dtype="int32")
    mask = xp.asarray(bits, dtype="bool")
    expected = [i for i, bit in enumerate(bits) if bit]
    assert x[mask].tolist() == expected
    assert xp.nonzero(mask)[0].tolist() == expected
    y = xp.copy(x)
    y[mask] = -1
    assert y.tolist() == [-1 if bit else i for i, bit in enumerate(bits)]
    y[mask] = x[mask]
    assert y.tolist() == x.tolist()


def test_masks_of_ndim_0_and_bools_add_an_axis() -> None:
    x = numbered((2, 3))
    for true, false in ((True, False), (xp.asarray(True), xp.asarray(False))):
        assert x[true].tolist() == [x.tolist()]
        assert x[false].shape == (0, 2, 3)
    assert xp.asarray(5)[True].tolist() == [5]
    x[False] = 9
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_lists_and_foreign_arrays_index_too() -> None:
    x = numbered((5,))
    assert x[[4, 0]].tolist() == [4, 0]
    assert x[[True, False, True, False, False]].tolist() == [0, 2]
    assert x[[]].tolist() == []
    numpy = pytest.importorskip("numpy")
    assert x[numpy.array([4, 0])].tolist() == [4, 0]
    assert x[numpy.arange(5) > 2].tolist() == [3, 4]


def test_pinned_arrays_index_too(adv: Any) -> None:
    x = numbered((3,))
    index = xp.from_dlpack(adv.make(data=bytes([2, 0]), dtype=(0, 8, 1), shape=(2,), device=(3, 0)))
    mask = xp.from_dlpack(
        adv.make(data=bytes([1, 0, 1]), dtype=(6, 8, 1), shape=(3,), device=(3, 0))
    )
    assert (x[index].tolist(), x[mask].tolist()) == ([2, 0], [0, 2])


def test_assignment_broadcasts_converts_and_repeats() -> None:
    x = xp.zeros((3, 4), dtype="float32")
    x[xp.asarray([0, 2])] = xp.asarray([1, 2, 3, 4], dtype="int8")
    assert x.tolist() == [[1, 2, 3, 4], [0, 0, 0, 0], [1, 2, 3, 4]]
    x[xp.asarray([1, 1]), xp.asarray([2, 2])] = [7, 8]
    assert x[1, 2].item() == 8
    x[x > 3] = 0.5
    assert x.tolist() == [[1, 2, 3, 0.5], [0, 0, 0.5, 0], [1, 2, 3, 0.5]]
    x[xp.asarray([[0], [1]]), xp.asarray([0, 1])] = xp.asarray([[5], [6]])
    assert x[:2, :2].tolist() == [[5, 5], [6, 6]]
    with pytest.raises(TypeError, match="cannot assign complex128 to elements of float32"):
        x[xp.asarray([0])] = 1j * xp.ones((4,), dtype="complex128")
    with pytest.raises(TypeError):
        x[xp.asarray([0])] = 1j


def test_source_index_and_target_may_overlap() -> None:
    for index in (xp.arange(50), xp.ones(50, dtype=xp.bool)):
        x = xp.arange(50)
        x[index] = xp.flip(x)
        assert x.tolist() == list(range(50))[::-1]
    x = xp.arange(50)
    x[xp.flip(x)] = x[10]
    assert x.tolist() == [10] * 50
    x = xp.arange(5)
    x[x] = xp.flip(x)  # the index is the target
    assert x.tolist() == [4, 3, 2, 1, 0]
    x = xp.arange(6)
    x[xp.asarray([1, 2, 3, 4, 5])] = x[:5]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    x = xp.asarray([2, 0, 1])
    x[x] = xp.asarray([10, 20, 30])
    assert x.tolist() == [20, 30, 10]
    mask = xp.asarray([True, False, True])
    mask[mask] = False
    assert mask.tolist() == [False, False, False]


# --- Errors: what was seen, and the limit; nothing is written.


def test_masks_of_the_wrong_shape_raise() -> None:
    x = numbered(SHAPE)
    for shape in ((4,), (3, 3), (2,), (1,), (1, 4), (3, 4, 6)):
        mask = xp.ones(shape, dtype=xp.bool)
        with refusal(IndexError, shape, SHAPE):
            x[mask]
        with pytest.raises(IndexError):
            x[mask] = 0
    with pytest.raises(IndexError, match=r"4.*3"):
        x[xp.ones((*SHAPE, 1), dtype=xp.bool)]
    assert x.tolist() == numbered(SHAPE).tolist()


def test_masks_of_extent_zero_select_nothing() -> None:
    """The standard: an extent of the mask equals the array's or is 0."""
    for shape, wanted in (((0,), (0, 4, 5)), ((0, 4), (0, 5)), ((3, 0), (0, 5))):
        assert numbered(SHAPE)[xp.zeros(shape, dtype=xp.bool)].shape == wanted


def test_integer_arrays_out_of_range_raise() -> None:
    x = numbered(SHAPE)
    for axis, bad in ((0, 3), (0, -4), (1, 4), (2, -6), (2, 2**62), (0, -(2**63))):
        keys = [xp.asarray([0, bad if i == axis else 0]) for i in range(3)]
        work: Callable[[Any], Any]
        for work in (lambda k: x[k], lambda k: x.__setitem__(k, 5)):
            with pytest.raises(IndexError, match=str(bad)):
                work(tuple(keys))
    assert x.tolist() == numbered(SHAPE).tolist()


def test_read_only_arrays_are_not_written() -> None:
    frozen, zero = numbered(SHAPE).as_readonly(), xp.asarray([0])
    for key in (zero, frozen > 5, (zero, zero, zero)):
        with pytest.raises(ValueError, match="read-only"):
            frozen[key] = 0


BAD = [
    ((3,), [3], IndexError, r"index 3 is out of range for axis 0 of extent 3; .*\[-3, 3\)"),
    ((3, 4), (slice(None), [0, -5]), IndexError, "index -5 is out of range for axis 1 of extent 4"),
    ((0,), [0], IndexError, "index 0 is out of range for axis 0 of extent 0"),
    ((3,), [True, False], IndexError, r"mask of shape \(2,\) .* shape \(3,\)"),
    ((2, 3), [[True] * 2] * 3, IndexError, r"mask of shape \(3, 2\) .* shape \(2, 3\)"),
    ((), [0], IndexError, "entries for 1 axes; ndim is 0"),
    ((3,), [[True]], IndexError, "entries for 2 axes; ndim is 1"),
    ((3,), ([0], [0]), IndexError, "entries for 2 axes; ndim is 1"),
    ((3, 3), ([0, 1], [0, 1, 2]), IndexError, r"\(2,\) and \(3,\) do not broadcast"),
    ((3,), (..., [0], ...), IndexError, r"2 '\.\.\.'; the limit is 1"),
    ((3,), [0.5], TypeError, "integer or bool dtype, not float64"),
]  # fmt: skip


@run_each(("shape", "index", "error", "message"), BAD)
def test_bad_indices_raise_and_write_nothing(
    shape: tuple[int, ...], index: Any, error: type[Exception], message: str
) -> None:
    x = numbered(shape)
    before = x.tolist()
    with pytest.raises(error, match=message):
        x[index]
    with pytest.raises(error, match=message):
        x[index] = 9
    assert x.tolist() == before


def test_values_that_do_not_fit_raise_and_write_nothing() -> None:
    x = numbered((4,))
    for value in ([1, 2, 3], [[1, 2]]):
        with pytest.raises(ValueError, match="does not broadcast"):
            x[xp.asarray([0, 1, 2, 3][: len(value) + 1])] = xp.asarray([value, value, value])
    assert x.tolist() == [0, 1, 2, 3]


def test_packed_elements_are_refused() -> None:
    x = xp.zeros((4,), dtype="float4_e2m1fn")
    for call in (lambda: x[[0]], lambda: xp.take(x, xp.asarray([0]))):
        with pytest.raises(TypeError, match="needs elements of whole bytes; float4_e2m1fn has 4"):
            call()


def test_results_that_are_too_large_raise() -> None:
    x = xp.broadcast_to(xp.asarray(1.0), (2**40, 2**10))
    with pytest.raises((OverflowError, ValueError, MemoryError)):
        xp.take(x, xp.broadcast_to(xp.asarray(0), (2**50,)), axis=1)


def test_an_index_array_that_changes_meanwhile_stays_in_bounds() -> None:
    x = xp.arange(1000)
    index = xp.zeros((100_000,), dtype="int64")
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            index[...] = 10**9
            index[...] = 0

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(200):
            with contextlib.suppress(IndexError):
                assert x[index].tolist()[0] == 0
    finally:
        stop.set()
        thread.join()
