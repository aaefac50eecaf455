"""Elements read and written by index, compared with a model: slices, None, "...", integers, arrays
of integers and masks, mixed at random."""

from __future__ import annotations

import random
from typing import Any

import pytest
from helpers.index_model import positions_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.checks import flat, same
from oracles.formats import ALL, INTEGERS
from oracles.nested import Nested, indices, size_of

from properties.arrays import (
    Draw,
    any_element,
    array,
    broadcastable,
    examples,
    scattered,
    shapes,
    xp,
)

many = settings(deadline=None, max_examples=examples(2))
bounds = st.none() | st.integers(-7, 7)
slices = st.builds(slice, bounds, bounds, st.none() | st.integers(-3, 3).filter(bool))
blocks = st.sampled_from(((2,), (1,), (2, 3), (0,), ()))


def integer_array(draw: Draw, block: tuple[int, ...], extent: int) -> Any:
    """Indices of an axis, of a shape that broadcasts to the block."""
    shape = broadcastable(draw, block) if extent else (0,)
    rng = random.Random(draw(st.integers(0, 2**16)))
    values = [rng.randrange(-extent, extent) for _ in range(size_of(shape))]
    if any(v < 0 for v in values):
        dtype = draw(st.sampled_from([name for name in INTEGERS if name[0] == "i"]))
    else:
        dtype = draw(st.sampled_from(INTEGERS))
    return scattered(Nested(values, shape), dtype, rng)


def entry(draw: Draw, shape: tuple[int, ...], axis: int, block: tuple[int, ...]) -> tuple[Any, int]:
    """An entry of an index, and how many axes it uses up."""
    extent = shape[axis]
    kind = draw(st.sampled_from(("slice", "slice", "int", "array", "mask", "none")))
    if kind == "none":
        return None, 0
    if kind == "int" and extent:
        return draw(st.integers(-extent, extent - 1)), 1
    if kind == "array" and (extent or 0 in block):
        return integer_array(draw, block, extent), 1
    if kind == "mask":
        count = min(draw(st.integers(0, 2)), len(shape) - axis)
        return array(draw, "bool", shape[axis : axis + count]).array, count
    return draw(slices), 1


def drawn_index(draw: Draw, shape: tuple[int, ...]) -> tuple[list[Any], list[Any]]:
    """An index, and the same one without "..."."""
    block = draw(blocks)
    given: list[Any] = []
    axis = 0
    stop = draw(st.integers(0, len(shape)))
    while axis < stop and len(given) < 6:
        each, used = entry(draw, shape, axis, block)
        given.append(each)
        axis += used
    plain = list(given)
    if draw(st.booleans()):
        given.append(...)
        if draw(st.booleans()):
            given.append(None)
            plain += [slice(None)] * (len(shape) - axis) + [None]
    return given, plain


@many
@given(data=st.data())
def test_get_and_set(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(ALL))
    shape = data.draw(shapes)
    rng = random.Random(data.draw(st.integers(0, 2**16)))
    model = Nested([any_element(dtype)(rng) for _ in range(size_of(shape))], shape)
    x = scattered(model, dtype, rng)
    index, plain = drawn_index(data.draw, shape)
    key = index[0] if len(index) == 1 and data.draw(st.booleans()) else tuple(index)
    try:
        wanted_shape, positions = positions_of(shape, tuple(plain))
    except ValueError:  # the masks and arrays do not broadcast
        with pytest.raises(IndexError):
            x[key]
        return
    out = x[key]
    assert (out.shape, out.dtype) == (wanted_shape, x.dtype)
    wanted = [model.at(position) for position in positions]
    assert all(same(*pair) for pair in zip(flat(out), wanted, strict=True)), (out, wanted)
    if not x.readonly:
        check_set(data.draw, x, key, model, wanted_shape, positions, dtype)


def check_set(
    draw: Draw,
    x: Any,
    key: Any,
    model: Nested,
    shape: tuple[int, ...],
    positions: list[tuple[int, ...]],
    dtype: str,
) -> None:
    """Writes a broadcast array; all other elements of the memory stay. The last of equal places
    wins."""
    value = array(draw, dtype, broadcastable(draw, shape))
    stretched = xp.broadcast_to(value.array, shape)
    x[key] = value.array
    written = dict(zip(positions, flat(stretched), strict=True))
    after = [written.get(at, model.at(at)) for at in indices(model.shape)]
    assert all(same(*pair) for pair in zip(flat(x), after, strict=True)), (x, after)


@settings(deadline=None, max_examples=examples(0.5))
@given(data=st.data())
def test_what_fails_writes_nothing(data: st.DataObject) -> None:
    """Refused operands, shapes, indices and values leave the target as it was."""
    x = array(data.draw, data.draw(st.sampled_from(("int8", "uint8", "float32"))), min_ndim=1)
    target = xp.copy(x.array)
    extent = target.shape[0]
    wrong = xp.zeros((*target.shape[:-1], target.shape[-1] + 2), dtype=target.dtype)
    last = [0] * max(extent - 1, 0)

    def assign(key: Any, value: Any) -> Any:
        return lambda: target.__setitem__(key, value)

    failing: list[Any] = [
        lambda: target.__iadd__(wrong),
        lambda: target.__imul__(xp.zeros((2, *target.shape), dtype=target.dtype)),
        lambda: target.__iadd__(xp.ones(target.shape, dtype=xp.complex128)),
        assign(..., wrong),
        assign(extent, 1),
        assign([*last, extent], 1),
        assign(xp.ones(extent + 1, dtype=xp.bool), 1),
        assign((slice(None), ..., slice(None), ...), 1),
        assign(..., 1j),
        assign(..., "text"),
    ]
    if x.dtype != "float32":
        failing += [assign(..., 1000), lambda: target.__iadd__(1000), lambda: target.__iadd__(1.5)]
        failing += [assign((slice(None), *[0] * (target.ndim - 1)), [*last, 1000])]
    for fails in failing:
        with pytest.raises((TypeError, ValueError, IndexError, OverflowError)):
            fails()
        assert flat(target) == flat(x.array) or x.dtype == "float32"
        assert repr(target.tolist()) == repr(x.array.tolist())
