"""Indexing by masks and integer arrays compared with a model in plain Python."""

from __future__ import annotations

import contextlib
import random
import threading
from math import prod
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.index_model import DTYPES, INDEX_DTYPES, LAYOUTS, at, nested, numbered, positions_of

import refarray as xp


def random_index(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index with at least one array."""
    block = rng.choice([(3,), (1,), (2, 3), (0,), (2, 1)])
    out: list[Any] = []
    axis = 0
    while axis < len(shape):
        kind = rng.choice(["array", "array", "int", "slice", "none", "mask"])
        extent = shape[axis]
        if kind == "array":
            of = rng.choice([block, block[1:], (1,) * len(block)])
            values = [rng.randrange(-extent, extent) for _ in range(prod(of))]
            out.append(xp.reshape(xp.asarray(values, dtype="int64"), of))
            out[-1] = xp.astype(out[-1], rng.choice(["int8", "int32", "int64"]))
        elif kind == "mask":
            of = shape[axis : axis + rng.choice([0, 1, 1, 2])]
            out.append(
                xp.reshape(
                    xp.asarray([rng.random() < 0.4 for _ in range(prod(of))], dtype="bool"), of
                )
            )
            axis += len(of) - 1
        elif kind == "int":
            out.append(rng.randrange(-extent, extent))
        elif kind == "slice":
            out.append(slice(None, None, rng.choice([1, 2, -1])))
        else:
            out.append(None)
            axis -= 1
        axis += 1
    if all(entry is None or isinstance(entry, int | slice) for entry in out):
        return random_index(rng, shape)
    return tuple(out)


@run_each("layout", LAYOUTS)
@run_each("seed", range(60))
def test_mixed_indices_select_and_assign(seed: int, layout: Any) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randrange(1, 5)))
    x = layout(numbered(shape, rng.choice(DTYPES)))
    index = random_index(rng, shape)
    try:
        result_shape, positions = positions_of(shape, index)
    except ValueError:
        with pytest.raises(IndexError, match="broadcast"):
            x[index]
        return
    values = x.tolist()
    assert x[index].shape == result_shape
    assert x[index].dtype == x.dtype
    assert x[index].tolist() == nested(result_shape, [at(values, p) for p in positions])
    if x.readonly:
        with pytest.raises(ValueError, match="read-only"):
            x[index] = 1
        return
    new = numbered(result_shape, "bool" if x.dtype == xp.bool else "uint8")
    x[index] = new
    flat = xp.reshape(xp.astype(new, x.dtype), -1).tolist()
    for position, value in zip(positions, flat, strict=True):  # the last of equal places wins
        holder = at(values, position[:-1])
        holder[position[-1]] = value
    assert x.tolist() == values


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


@run_each("dtype", INDEX_DTYPES)
def test_every_integer_dtype_indexes(dtype: str) -> None:
    x = numbered((100,))
    index = xp.asarray([0, 99, 5, 5], dtype=dtype)
    assert x[index].tolist() == xp.take(x, index).tolist() == [0, 99, 5, 5]
    if not dtype.startswith("u"):
        assert x[xp.asarray([-1, -100], dtype=dtype)].tolist() == [99, 0]


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


def test_unsigned_indices_beyond_int64_are_out_of_range() -> None:
    with pytest.raises(IndexError, match=f"index {2**64 - 1} .* the range is \\[0, 3\\)"):
        numbered((3,))[xp.asarray([2**64 - 1], dtype="uint64")]


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
