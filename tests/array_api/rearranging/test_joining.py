"""concat, stack, unstack, repeat, roll, tile and the broadcasting functions, against loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype, flat
from oracles.formats import ALL, INTEGERS
from oracles.layouts import gapless, layouts, text
from oracles.nested import Nested, from_array, indices, made
from oracles.samples import samples

import refarray

xp: Any = refarray
SHAPE = (2, 3, 4)
AXES = (0, 1, 2, -1, -2, -3)


def numbered(dtype: str = "int64", shape: tuple[int, ...] = SHAPE, start: int = 0) -> Any:
    values: list[Any] = [(start + i * 3) % 100 for i in range(math.prod(shape))]
    if dtype == "bool":
        values = [v % 2 == 0 for v in values]
    return xp.asarray(values, dtype=dtype).reshape(shape)


def agrees(out: Any, wanted: Nested) -> bool:
    same = repr(flat(out) if out.size else []) == repr(wanted.values)
    return bool(out.shape == wanted.shape) and same


def joined(parts: list[Nested], axis: int) -> Nested:
    axis %= len(parts[0].shape)
    lengths = [part.shape[axis] for part in parts]
    shape = list(parts[0].shape)
    shape[axis] = sum(lengths)

    def pick(index: tuple[int, ...]) -> Any:
        place, which = index[axis], 0
        while place >= lengths[which]:
            place, which = place - lengths[which], which + 1
        return parts[which].at((*index[:axis], place, *index[axis + 1 :]))

    return made(tuple(shape), pick)


@run_each("dtype", ALL)
def test_concat(dtype: str) -> None:
    for axis in AXES:
        shapes = []
        for extent in (3, 0, 1, 5):
            shape = list(SHAPE)
            shape[axis] = extent
            shapes.append(tuple(shape))
        parts = [numbered(dtype, shape, start=i) for i, shape in enumerate(shapes)]
        wanted = joined([from_array(part) for part in parts if part.size], axis)
        for given in (parts, tuple(parts)):
            out = xp.concat(given, axis=axis)
            assert_dtype(out, dtype)
            assert agrees(out, wanted), axis
        assert text(xp.concat(parts[:1], axis=axis)) == text(parts[0])
    mixed = [numbered(dtype), numbered(dtype, (5,)), numbered(dtype, ())]
    flattened = xp.concat(mixed, axis=None)
    assert flattened.tolist() == [v for part in mixed for v in from_array(part).values]
    rows = xp.concat([numbered(dtype), numbered(dtype)])
    assert rows.shape == (4, 3, 4)


@run_each("dtype", ALL)
def test_stack_and_unstack(dtype: str) -> None:
    parts = [numbered(dtype, SHAPE, start=i) for i in range(3)]
    models = [from_array(part) for part in parts]
    for axis in (0, 1, 2, 3, -1, -4):
        out = xp.stack(parts, axis=axis)
        assert_dtype(out, dtype)
        place = axis % 4
        shape = (*SHAPE[:place], 3, *SHAPE[place:])
        wanted = made(
            shape,
            lambda i, place=place: models[i[place]].at((*i[:place], *i[place + 1 :])),  # type: ignore[misc]
        )
        assert agrees(out, wanted), axis
        back = xp.unstack(out, axis=axis)
        assert type(back) is tuple and [text(b) for b in back] == [text(p) for p in parts]
    assert text(xp.stack(tuple(parts))) == text(xp.stack(parts, axis=0))
    assert [p.shape for p in xp.unstack(parts[0])] == [(3, 4)] * 2
    assert xp.unstack(xp.zeros((0, 3), dtype=dtype)) == ()
    points = xp.unstack(numbered(dtype, (3,)))
    assert [p.shape for p in points] == [()] * 3


@run_each("dtype", ALL)
def test_joining_reads_every_layout(dtype: str) -> None:
    values = samples(dtype)
    x = gapless(values, dtype)
    work: Callable[..., Any]
    for work in (
        lambda a: xp.concat([a, x], axis=0),
        lambda a: xp.concat([x, a], axis=1),
        lambda a: xp.concat([a, a], axis=None),
        lambda a: xp.stack([a, x], axis=1),
        lambda a: xp.repeat(a, 2, axis=1),
        lambda a: xp.repeat(a, 3),
        lambda a: xp.roll(a, 3),
        lambda a: xp.roll(a, -1, axis=1),
        lambda a: xp.tile(a, (2, 3)),
        lambda a: xp.tril(a, k=1),
        lambda a: xp.stack(xp.unstack(a, axis=1)),
        lambda a: xp.broadcast_arrays(a, x[:1])[0],
    ):
        expected = text(work(x))
        for layout, y in layouts(values, dtype):
            assert text(work(y)) == expected, layout


@run_each("dtype", ALL)
def test_repeat(dtype: str) -> None:
    x = numbered(dtype)
    model = from_array(x)
    for count in (0, 1, 3):
        assert xp.repeat(x, count).tolist() == [v for v in model.values for _ in range(count)]
    counts = [i % 4 for i in range(24)]
    wanted = [v for v, n in zip(model.values, counts, strict=True) for _ in range(n)]
    for index_dtype in INTEGERS:
        repeats = xp.asarray(counts, dtype=index_dtype)
        assert xp.repeat(x, repeats).tolist() == wanted
    for axis in AXES:
        extent = SHAPE[axis]
        for given in (2, [3], list(range(extent)), [0] * extent):
            counts = [given] * extent if isinstance(given, int) else (given * extent)[:extent]
            repeats = given if isinstance(given, int) else xp.asarray(given, dtype=xp.int64)
            out = xp.repeat(x, repeats, axis=axis)
            assert_dtype(out, dtype)
            source = [i for i, n in enumerate(counts) for _ in range(n)]
            place = axis % 3
            shape = (*SHAPE[:place], len(source), *SHAPE[place + 1 :])
            wanted_part = [
                model.at((*i[:place], source[i[place]], *i[place + 1 :])) for i in indices(shape)
            ]
            assert agrees(out, Nested(wanted_part, shape)), (axis, given)


def test_repeat_refuses_bad_arguments() -> None:
    x = numbered()
    with pytest.raises(ValueError, match="-1"):
        xp.repeat(x, -1)
    with pytest.raises(ValueError, match="-2"):
        xp.repeat(x, xp.asarray([1, -2]), axis=0)
    for shape in ((3,), (2, 1), (5,)):
        with pytest.raises(ValueError):
            xp.repeat(x, xp.ones(shape, dtype=xp.int64), axis=0)
    for wrong in (1.5, "2", None, xp.ones(2), xp.asarray([True, True])):
        with pytest.raises(TypeError):
            xp.repeat(x, wrong, axis=0)
    for bad in (3, -4):
        with pytest.raises(IndexError, match=str(bad)):
            xp.repeat(x, 2, axis=bad)
    with pytest.raises((OverflowError, MemoryError, ValueError)):
        xp.repeat(x, 2**62)
    with pytest.raises((OverflowError, MemoryError, ValueError)):
        xp.repeat(x, xp.asarray([2**62, 2**62]), axis=0)


@run_each("dtype", ALL)
def test_roll(dtype: str) -> None:
    x = numbered(dtype)
    model = from_array(x)
    for shift in (0, 1, -1, 5, -7, 24, 25, 1000, -1000, 2**40):
        out = xp.roll(x, shift)
        assert_dtype(out, dtype)
        values = [model.values[(i - shift) % 24] for i in range(24)]
        assert agrees(out, Nested(values, SHAPE)), shift
        for axis in AXES:
            wanted = shifted(model, {axis % 3: shift})
            assert agrees(xp.roll(x, shift, axis=axis), wanted), (shift, axis)
    assert agrees(xp.roll(x, (1, -2), axis=(0, 2)), shifted(model, {0: 1, 2: -2}))
    assert agrees(xp.roll(x, (5, 1, 3), axis=(-1, 0, 1)), shifted(model, {2: 5, 0: 1, 1: 3}))
    assert agrees(xp.roll(x, 2, axis=(1, 2)), shifted(model, {1: 2, 2: 2}))
    assert xp.roll(xp.zeros((0, 3), dtype=dtype), 2, axis=0).shape == (0, 3)
    assert xp.roll(xp.zeros((), dtype=dtype), 2).shape == ()


def shifted(model: Nested, shifts: dict[int, int]) -> Nested:
    return made(
        model.shape,
        lambda i: model.at([(v - shifts.get(a, 0)) % model.shape[a] for a, v in enumerate(i)]),
    )


def test_roll_refuses_bad_arguments() -> None:
    x = numbered()
    for shift, axis in (((1, 2), (0,)), ((1, 2, 3), (0, 1)), ((1, 2), None), ((1, 2), 0)):
        with pytest.raises((ValueError, TypeError)):
            xp.roll(x, shift, axis=axis)
    for bad in (3, -4, (0, 3)):
        with pytest.raises(IndexError):
            xp.roll(x, 1, axis=bad)
    for wrong in (1.5, "1", None):
        with pytest.raises(TypeError):
            xp.roll(x, wrong)


@run_each("dtype", ALL)
def test_tile(dtype: str) -> None:
    x = numbered(dtype)
    model = from_array(x)
    for repetitions in ((2,), (1, 3), (2, 1, 3), (2, 2, 1, 1, 2), (), (0,), (2, 0, 1), (1, 1, 1)):
        out = xp.tile(x, repetitions)
        assert_dtype(out, dtype)
        ndim = max(3, len(repetitions))
        shape = (*[1] * (ndim - 3), *SHAPE)
        counts = (*[1] * (ndim - len(repetitions)), *repetitions)
        source = Nested(model.values, shape)
        wanted = made(
            tuple(n * r for n, r in zip(shape, counts, strict=True)),
            lambda i, s=source: s.at([v % n for v, n in zip(i, s.shape, strict=True)]),  # type: ignore[misc]
        )
        assert agrees(out, wanted), repetitions
    assert xp.tile(xp.asarray(samples(dtype)[0], dtype=dtype), (2, 3)).shape == (2, 3)
    with pytest.raises(ValueError, match="-1"):
        xp.tile(x, (-1,))
    for wrong in ((1.5,), "2", None):
        with pytest.raises(TypeError):
            xp.tile(x, wrong)
    with pytest.raises((OverflowError, MemoryError, ValueError)):
        xp.tile(x, (2**40, 2**40))


SHAPES: list[tuple[list[tuple[int, ...]], tuple[int, ...]]] = [
    ([], ()),
    ([(3,)], (3,)),
    ([(), (2, 3)], (2, 3)),
    ([(8, 1, 6, 1), (7, 1, 5)], (8, 7, 6, 5)),
    ([(5, 4), (1,)], (5, 4)),
    ([(5, 4), (4,)], (5, 4)),
    ([(15, 3, 5), (15, 1, 5)], (15, 3, 5)),
    ([(8, 4, 1, 1), (1, 2, 5)], (8, 4, 2, 5)),
    ([(0,), (1,)], (0,)),
    ([(3, 0), (1, 1), (1,)], (3, 0)),
]


def test_broadcast_shapes() -> None:
    for shapes, wanted in SHAPES:
        for order in itertools.permutations(shapes):
            out = xp.broadcast_shapes(*order)
            assert type(out) is tuple and out == wanted
    assert xp.broadcast_shapes([3, 1], (4,)) == (3, 4)
    for bad in ([(3,), (4,)], [(2, 1), (8, 4, 3), (5, 5)], [(0,), (2,)]):
        with pytest.raises(ValueError) as caught:
            xp.broadcast_shapes(*bad)
        assert str(bad[0]) in str(caught.value)
    with pytest.raises(ValueError, match="-1"):
        xp.broadcast_shapes((-1,), (1,))
    for wrong in ((1.5,), "3", None):
        with pytest.raises(TypeError):
            xp.broadcast_shapes(wrong)


def test_broadcast_arrays() -> None:
    x, y = numbered("int8", (3, 1)), numbered("float32", (4,))
    out = xp.broadcast_arrays(x, y)
    assert type(out) is tuple and [str(a.dtype) for a in out] == ["int8", "float32"]
    for mine, source in zip(out, (x, y), strict=True):
        assert text(mine) == text(xp.broadcast_to(source, (3, 4)))
    assert xp.broadcast_arrays() == ()
    assert text(xp.broadcast_arrays(x)[0]) == text(x)
    with pytest.raises(ValueError, match=r"\(3, 1\)"):
        xp.broadcast_arrays(x, numbered("int8", (2, 1)))
    for wrong in (1, [1], None):
        with pytest.raises(TypeError):
            xp.broadcast_arrays(x, wrong)


def test_joining_refuses_bad_arguments() -> None:
    x = numbered()
    for work in (xp.concat, xp.stack):
        for axis in (4, -5, 100):
            with pytest.raises(IndexError, match=str(axis)):
                work([x, x], axis=axis)
        with pytest.raises(ValueError):
            work([])
        with pytest.raises(ValueError) as caught:
            work([x, numbered("int64", (2, 3, 5))], axis=0)
        assert "(2, 3, 4)" in str(caught.value) and "(2, 3, 5)" in str(caught.value)
        for wrong in (None, 1, [1, 2], [x, 1], [x, [1]]):
            with pytest.raises(TypeError):
                work(wrong)
        with pytest.raises(TypeError):
            work([x, x], axis=0.5)
    with pytest.raises(ValueError):
        xp.concat([x, numbered("int64", (2, 3))])
    with pytest.raises((ValueError, IndexError)):
        xp.concat([numbered("int64", ()), numbered("int64", ())])
    for axis in (3, -4):
        with pytest.raises(IndexError, match=str(axis)):
            xp.unstack(x, axis=axis)
    with pytest.raises((ValueError, IndexError)):
        xp.unstack(numbered("int64", ()))


def test_results_do_not_share_memory_that_they_write() -> None:
    x = numbered("int64", (3, 4))
    for out in (
        xp.concat([x]),
        xp.stack([x]),
        xp.repeat(x, 1),
        xp.roll(x, 0),
        xp.tile(x, (1, 1)),
        xp.tril(x),
        xp.sort(x),
        xp.flip(xp.concat([x, x])),
    ):
        out[...] = -1
        assert x[0, 1].item() == 3
