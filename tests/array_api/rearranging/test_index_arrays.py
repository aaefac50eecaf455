"""Masks and integer arrays as indices, take and take_along_axis, against loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype, flat, same
from oracles.formats import ALL, INTEGERS
from oracles.layouts import gapless, layouts, misaligned, text
from oracles.nested import Nested, from_array, indices, made
from oracles.samples import samples

import refarray

xp: Any = refarray
SHAPE = (3, 4, 5)


def numbered(dtype: str = "int64", shape: tuple[int, ...] = SHAPE) -> Any:
    count = 1
    for extent in shape:
        count *= extent
    if dtype == "bool":
        return xp.asarray([i % 3 == 1 for i in range(count)]).reshape(shape)
    return xp.asarray([i % 120 for i in range(count)], dtype=dtype).reshape(shape)


def pattern(shape: tuple[int, ...], step: int = 3) -> Any:
    count = 1
    for extent in shape:
        count *= extent
    return xp.asarray([i % step == 1 or i == 0 for i in range(count)], dtype=xp.bool).reshape(shape)


def masked(model: Nested, mask: Nested) -> Nested:
    """The definition: the rows at the mask's true elements, in row-major order."""
    places = [index for index in indices(mask.shape) if mask.at(index)]
    rest = model.shape[len(mask.shape) :]
    return made((len(places), *rest), lambda i: model.at((*places[i[0]], *i[1:])))


def agrees(out: Any, wanted: Nested) -> bool:
    return bool(out.shape == wanted.shape) and repr(flat(out) if out.size else []) == repr(
        wanted.values
    )


@run_each("dtype", ALL)
def test_masks_select(dtype: str) -> None:
    x = numbered(dtype)
    model = from_array(x)
    for ndim in (1, 2, 3):
        for mask in (
            pattern(SHAPE[:ndim]),
            xp.zeros(SHAPE[:ndim], dtype=xp.bool),
            xp.ones(SHAPE[:ndim], dtype=xp.bool),
        ):
            out = x[mask]
            assert_dtype(out, dtype)
            assert agrees(out, masked(model, from_array(mask))), ndim
            assert text(out) == text(x[xp.nonzero(mask)]) == text(x[(mask,)])
    for flag in (True, False):
        for key in (xp.asarray(flag), flag):
            assert x[key].shape == (int(flag), *SHAPE)
    assert x[xp.asarray(True)].tolist() == [x.tolist()]


def test_masks_and_arrays_in_every_layout() -> None:
    for dtype in ALL:
        values = samples(dtype)
        truths = [i % 3 != 1 for i in range(len(values))]
        expected = text(gapless(values, dtype)[gapless(truths, "bool")])
        for (layout, x), (_, mask) in zip(
            layouts(values, dtype), layouts(truths, "bool"), strict=True
        ):
            assert text(x[mask]) == expected, (dtype, layout)
            if not x.readonly:
                work = x
                work[mask] = xp.ones((), dtype=dtype)
                for got, value, truth in zip(flat(work), values, truths, strict=True):
                    assert got == 1 if truth else same(got, value), (dtype, layout)


def test_masks_of_the_wrong_shape_raise() -> None:
    x = numbered()
    for shape in ((4,), (3, 3), (3, 4, 5, 1), (2,), (1,), (1, 4), (3, 4, 6)):
        mask = xp.ones(shape, dtype=xp.bool)
        with pytest.raises(IndexError) as caught:
            x[mask]
        if len(shape) > len(SHAPE):
            assert "4" in str(caught.value) and "3" in str(caught.value)
        else:
            assert str(shape) in str(caught.value) and str(SHAPE) in str(caught.value)
        with pytest.raises(IndexError):
            x[mask] = 0
    assert text(x) == text(numbered())
    with pytest.raises(IndexError):
        xp.asarray(1)[xp.asarray([True])]


def test_masks_of_extent_zero_select_nothing() -> None:
    """The standard: an extent of the mask equals the array's or is 0."""
    x = numbered()
    for shape, wanted in (((0,), (0, 4, 5)), ((0, 4), (0, 5)), ((3, 0), (0, 5))):
        try:
            out = x[xp.zeros(shape, dtype=xp.bool)]
        except IndexError:
            pytest.fail(f"a mask of shape {shape} is refused")
        assert out.shape == wanted


@run_each("dtype", ALL)
def test_masks_assign(dtype: str) -> None:
    mask = pattern(SHAPE)
    places = [index for index in indices(SHAPE) if mask[index].item()]
    fresh = numbered(dtype)
    source = xp.flip(xp.reshape(numbered(dtype), (60,)))[: len(places)]
    one: Any = True if dtype == "bool" else 7
    for value in (one, xp.asarray(one, dtype=dtype), source, xp.asarray([one], dtype=dtype)):
        x = numbered(dtype)
        x[mask] = value
        given = value.tolist() if isinstance(value, refarray.Array) and value.ndim else None
        for index in indices(SHAPE):
            if index in places:
                rank = places.index(index)
                wanted = one if given is None or len(given) == 1 else given[rank]
                assert x[index].item() == wanted
            else:
                assert x[index].item() == fresh[index].item()
    rows = pattern((3,))
    x = numbered(dtype)
    x[rows] = xp.ones((2, 4, 5), dtype=dtype)
    x[rows] = xp.ones((5,), dtype=dtype)
    assert x[1].tolist() == xp.ones((4, 5), dtype=dtype).tolist()
    assert x[2].tolist() == fresh[2].tolist()
    x[xp.zeros(SHAPE, dtype=xp.bool)] = one
    with pytest.raises(ValueError, match="3"):
        x[mask] = xp.ones(3, dtype=dtype)


def zipped(model: Nested, keys: list[Any]) -> Nested:
    """The definition: indices broadcast, then the elements at the zipped coordinates."""
    shape = xp.broadcast_shapes(*[key.shape for key in keys])
    wide = [from_array(xp.broadcast_to(key, shape)) for key in keys]
    return made(
        shape,
        lambda i: model.at([w.at(i) % n for w, n in zip(wide, model.shape, strict=True)]),
    )


def ints(values: Any, dtype: str = "int64") -> Any:
    return xp.asarray(values, dtype=dtype)


KEYS: list[list[Any]] = [
    [[0, 2, 1], [3, 3, 0], [4, 0, 2]],
    [[0, -1, 1], [-4, 3, 0], [4, -5, 2]],
    [[[0], [2]], [1, 3, 2], [4]],
    [2, [1, 3, 2], [4]],
    [[[[1]]], [[0], [3]], [4, 0]],
    [[], [], []],
    [[], 1, [2]],
    [1, 2, 3],
    [0, [0, 0, 0, 0], -1],
]


@run_each("dtype", ["bool", "int8", "int64", "float32", "complex128", "bfloat16"])
def test_integer_arrays_select(dtype: str) -> None:
    x = numbered(dtype)
    model = from_array(x)
    for keys in KEYS:
        arrays = [ints(key) for key in keys]
        out = x[tuple(arrays)]
        assert_dtype(out, dtype)
        assert agrees(out, zipped(model, arrays)), keys
        mixed = tuple(key if isinstance(key, int) else ints(key) for key in keys)
        assert text(x[mixed]) == text(out), keys


def test_integer_arrays_of_every_dtype_and_layout() -> None:
    x = numbered("float64", (20, 4))
    rows, columns = [i * 7 % 20 for i in range(40)], [i % 4 for i in range(40)]
    expected = text(x[gapless(rows, "int64"), gapless(columns, "int64")])
    for dtype in INTEGERS:
        for (layout, i), (_, j) in zip(layouts(rows, dtype), layouts(columns, dtype), strict=True):
            assert text(x[i, j]) == expected, (dtype, layout)
            assert text(misaligned(x)[i, j]) == text(x.T[j, i]) == expected, (dtype, layout)


def test_fewer_integer_arrays_than_axes_select_rows() -> None:
    """Beyond the standard, as NumPy: the axes that no index names stay whole."""
    x = numbered()
    assert x[ints([2, 0])].tolist() == [x[2].tolist(), x[0].tolist()]
    assert x[ints([2, 0]), ints([1, 1])].tolist() == [x[2, 1].tolist(), x[0, 1].tolist()]
    assert x[ints([[2], [0]])].shape == (2, 1, 4, 5)
    assert x[ints(1)].tolist() == x[1].tolist()
    assert x[:, ints([3, 1])].shape == (3, 2, 5)
    assert x[:, ints([3, 1])].tolist() == [[r[3], r[1]] for r in x.tolist()]
    assert x[..., ints([0])].shape == (3, 4, 1)


def test_integer_arrays_out_of_range_raise() -> None:
    x = numbered()
    for axis, bad in ((0, 3), (0, -4), (1, 4), (2, -6), (2, 2**62), (0, -(2**63))):
        keys = [ints([0, 0]), ints([0, 0]), ints([0, 0])]
        keys[axis] = ints([0, bad])
        work: Callable[..., Any]
        for work in (lambda k: x[k], lambda k: x.__setitem__(k, 5)):
            with pytest.raises(IndexError) as caught:
                work(tuple(keys))
            assert str(bad) in str(caught.value), (axis, bad)
    with pytest.raises(IndexError, match="18446744073709551615"):
        x[xp.asarray([2**64 - 1], dtype="uint64"), ints([0]), ints([0])]
    assert text(x) == text(numbered())  # nothing was written
    with pytest.raises(IndexError):
        x[ints([0]), ints([0]), ints([0]), ints([0])]
    for work in (lambda k: x[k], lambda k: x.__setitem__(k, 5)):
        with pytest.raises((IndexError, ValueError), match=r"\(2,\).*\(3,\)"):
            work((ints([0, 1]), ints([0, 1, 2]), ints([0])))
        with pytest.raises((IndexError, TypeError), match="float64"):
            work(xp.asarray([1.0]))


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex64"])
def test_integer_arrays_assign(dtype: str) -> None:
    for keys in KEYS:
        arrays = tuple(ints(key) for key in keys)
        shape = xp.broadcast_shapes(*[key.shape for key in arrays])
        x, fresh = numbered(dtype), numbered(dtype)
        places = zipped(made(SHAPE, lambda i: i), list(arrays))
        source = xp.flip(xp.reshape(numbered(dtype), (60,)))[: max(len(places.values), 1)]
        x[arrays] = source.reshape(shape) if len(places.values) else source[:0].reshape(shape)
        written = dict(zip(places.values, source.tolist(), strict=False))
        for index in indices(SHAPE):
            candidates = [
                s for p, s in zip(places.values, source.tolist(), strict=False) if p == index
            ]
            if index in written:
                assert x[index].item() in candidates
            else:
                assert x[index].item() == fresh[index].item()
        x[arrays] = xp.ones((), dtype=dtype)
        if len(places.values):
            assert flat(x[arrays]) == [1] * len(places.values)
    with pytest.raises(ValueError, match=r"\(4,\)"):
        x[ints([0, 1]), ints([0, 1]), ints([0, 1])] = xp.ones(4, dtype=dtype)


def test_index_assignment_reads_an_overlapping_source_first() -> None:
    x = xp.arange(50)
    expected = xp.flip(x).tolist()
    x[xp.arange(50)] = xp.flip(x)
    assert x.tolist() == expected
    x = xp.arange(50)
    x[xp.ones(50, dtype=xp.bool)] = xp.flip(x)
    assert x.tolist() == expected
    x = xp.arange(50)
    order = xp.flip(x)
    x[order] = x[10]
    assert x.tolist() == [10] * 50
    x = xp.arange(5)
    x[x] = xp.asarray([4, 3, 2, 1, 0])  # the index is the target
    assert x.tolist() == [4, 3, 2, 1, 0]
    x = xp.arange(5)
    x[x] = xp.flip(x)
    assert x.tolist() == [4, 3, 2, 1, 0]


def test_results_of_index_arrays_are_copies() -> None:
    x = numbered()
    out = x[ints([0, 1])]
    out[...] = -1
    rows = x[xp.ones(3, dtype=xp.bool)]
    rows[...] = -1
    assert text(x) == text(numbered())
    frozen = x.as_readonly()
    assert not frozen[ints([0])].readonly
    for key in (ints([0]), pattern(SHAPE), (ints([0]), ints([0]), ints([0]))):
        with pytest.raises(ValueError, match="read-only"):
            frozen[key] = 0
