"""Random sequences of array operations, checked after every step against a model.

Values, strides, read-only flags, sharing and ownership of memory must match
(tests/helpers/model.py)."""

from __future__ import annotations

import gc
import math
import struct
from collections.abc import Callable
from typing import Any

import pytest
from helpers.model import TYPES, Memory, Model, row_major
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import refarray

MAX_ARRAYS = 8  # few arrays alive at once, so that sharing is frequent
PICK = st.integers(0, 10**6)
NUMBER = st.integers(0, 100)
DTYPE = st.sampled_from(sorted(TYPES))
SHAPE = st.lists(st.integers(0, 4), max_size=3).map(tuple)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index valid for `shape`."""
    edge = st.none() | st.integers(-6, 6)
    step = st.sampled_from([None, 1, 2, -1, -2, 5])
    key: list[Any] = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        if extent and draw(st.booleans()):
            key.append(draw(st.integers(-extent, extent - 1)))
        else:
            key.append(slice(draw(edge), draw(edge), draw(step)))
    for extra in (None, ...):
        if draw(st.integers(0, 3)) == 0:
            # After an Ellipsis, entries count from the end, where only slices are always valid.
            at = len(key) if extra is ... else draw(st.integers(0, len(key)))
            key.insert(at, extra)
    return tuple(key)


def on_an_array(**drawn: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """A rule for one of the arrays, if there is any."""
    has_arrays = precondition(lambda self: self.arrays)
    return lambda method: has_arrays(rule(number=PICK, **drawn)(method))


class Arrays(RuleBasedStateMachine):
    """Pairs of an array and its model, and other objects that keep memory alive."""

    adversary: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.arrays: list[tuple[refarray.Array, Model]] = []
        self.holders: list[tuple[Any, Model]] = []  # capsules, managed tensors, memoryviews
        self.foreign: list[Memory] = []

    def keep(self, array: refarray.Array, model: Model) -> None:
        self.arrays.append((array, model))
        if len(self.arrays) > MAX_ARRAYS:
            self.arrays.pop(0)

    def pick(self, number: int) -> tuple[refarray.Array, Model]:
        return self.arrays[number % len(self.arrays)]

    def pick_held(self, kind: type, number: int) -> tuple[Any, Model] | None:
        """Remove and return one holder of the given type, if there is any."""
        found = [held for held in self.holders if type(held[0]) is kind]
        if not found:
            return None
        chosen = found[number % len(found)]
        # Not remove(), which compares with ==: two empty memoryviews are equal.
        self.holders = [held for held in self.holders if held is not chosen]
        return chosen

    # --- New memory ---

    @rule(dtype=DTYPE, shape=SHAPE, number=NUMBER)
    def full(self, dtype: str, shape: tuple[int, ...], number: int) -> None:
        values = [number] * math.prod(shape)
        self.keep(refarray.full(shape, number, dtype=dtype), Model.new(dtype, shape, values))

    @rule(dtype=DTYPE, count=st.integers(0, 24))
    def arange(self, dtype: str, count: int) -> None:
        self.keep(refarray.arange(count, dtype=dtype), Model.new(dtype, (count,), range(count)))

    @rule(
        dtype=DTYPE, shape=SHAPE, flipped=st.booleans(), readonly=st.booleans(), new=st.booleans()
    )
    def import_tensor(
        self, dtype: str, shape: tuple[int, ...], flipped: bool, readonly: bool, new: bool
    ) -> None:
        """Import a foreign tensor, in row-major or column-major order."""
        triple, letter = TYPES[dtype]
        size = math.prod(shape)
        strides = row_major(shape[::-1])[::-1] if flipped else row_major(shape)
        tensor = self.adversary.make(
            shape=shape,
            strides=strides,
            dtype=triple,
            versioned=new,
            flags=int(readonly and new),
            data=struct.pack(f"{size}{letter}", *range(size)) or None,
        )
        memory = Memory(list(range(size)), lambda: tensor.deleter_calls == 1)
        self.foreign.append(memory)
        model = Model(memory, dtype, shape, strides, readonly=readonly and new)
        self.keep(refarray.from_dlpack(tensor), model)

    @rule(dtype=DTYPE, count=st.integers(0, 12), writable=st.booleans())
    def import_buffer(self, dtype: str, count: int, writable: bool) -> None:
        source = bytearray(struct.pack(f"{count}{TYPES[dtype][1]}", *range(count)))
        view = memoryview(source).cast(TYPES[dtype][1])
        memory = Memory(list(range(count)), lambda: is_resizable(source))
        self.foreign.append(memory)
        model = Model(memory, dtype, (count,), (1,), readonly=not writable)
        self.keep(refarray.from_buffer(view if writable else view.toreadonly()), model)

    # --- Views and copies ---

    @on_an_array(data=st.data())
    def index(self, number: int, data: st.DataObject) -> None:
        array, model = self.pick(number)
        key = data.draw(keys(model.shape))
        self.keep(array[key], model.indexed(key))

    @on_an_array(data=st.data())
    def reshape(self, number: int, data: st.DataObject) -> None:
        array, model = self.pick(number)
        shape = [1] * data.draw(st.integers(0, 1))
        rest = model.size
        for factor in data.draw(st.permutations([2, 3, 2, 1])):
            if rest and rest % factor == 0:
                shape.append(factor)
                rest //= factor
        shape.append(rest)
        self.keep(array.reshape(tuple(shape)), model.reshaped(shape))

    @on_an_array(data=st.data())
    def permute(self, number: int, data: st.DataObject) -> None:
        array, model = self.pick(number)
        axes = data.draw(st.permutations(range(len(model.shape))))
        self.keep(refarray.permute_dims(array, tuple(axes)), model.permuted(axes))

    @on_an_array(data=st.data())
    def flip(self, number: int, data: st.DataObject) -> None:
        array, model = self.pick(number)
        axes = [axis for axis in range(len(model.shape)) if data.draw(st.booleans())]
        self.keep(refarray.flip(array, axis=tuple(axes)), model.flipped(axes))

    @on_an_array(added=st.lists(st.integers(1, 3), max_size=1), stretched=st.integers(0, 3))
    def broadcast(self, number: int, added: list[int], stretched: int) -> None:
        array, model = self.pick(number)
        shape = (*added, *(stretched if extent == 1 else extent for extent in model.shape))
        self.keep(refarray.broadcast_to(array, shape), model.broadcast(shape))

    @on_an_array(dtype=DTYPE, copy=st.booleans())
    def astype(self, number: int, dtype: str, copy: bool) -> None:
        array, model = self.pick(number)
        same = dtype == model.dtype and not copy
        self.keep(array.astype(dtype, copy=copy), model if same else model.copied(dtype))

    @on_an_array()
    def copy(self, number: int) -> None:
        array, model = self.pick(number)
        self.keep(array.copy(), model.copied())

    @on_an_array()
    def as_readonly(self, number: int) -> None:
        array, model = self.pick(number)
        self.keep(array.as_readonly(), model.as_readonly())

    @on_an_array()
    def drop(self, number: int) -> None:
        self.arrays.pop(number % len(self.arrays))

    # --- Writing ---

    @on_an_array(value=NUMBER, data=st.data())
    def assign_number(self, number: int, value: int, data: st.DataObject) -> None:
        array, model = self.pick(number)
        key = data.draw(keys(model.shape))
        self.write(array, model, key, value, [value] * model.indexed(key).size)

    @on_an_array(other=PICK, data=st.data())
    def assign_array(self, number: int, other: int, data: st.DataObject) -> None:
        """Assign an array that may share memory, as if it had been copied first."""
        array, model = self.pick(number)
        source, from_model = self.pick(other)
        key = data.draw(keys(model.shape))
        target = model.indexed(key)
        if from_model.shape != target.shape:  # stretch one element instead
            if not from_model.size or len(from_model.shape) > len(target.shape):
                return
            one = (0,) * len(from_model.shape)
            source, from_model = source[one], from_model.indexed(one)
        if "uif".index(from_model.dtype[0]) > "uif".index(model.dtype[0]):
            with pytest.raises((TypeError, ValueError), match="convert in this order|read-only"):
                array[key] = source
            return
        values = from_model.broadcast(target.shape).values()
        self.write(array, model, key, source, values)

    def write(
        self, array: refarray.Array, model: Model, key: Any, value: Any, values: list[int]
    ) -> None:
        if model.readonly:
            with pytest.raises(ValueError, match="read-only"):
                array[key] = value
            return
        array[key] = value
        model.indexed(key).assign(values)

    # --- Exchange ---

    @on_an_array(version=st.sampled_from([None, (1, 0), (1, 3)]), copy=st.booleans())
    def export(self, number: int, version: Any, copy: bool) -> None:
        array, model = self.pick(number)
        if model.readonly and version is None and not copy:
            with pytest.raises(BufferError, match="read-only"):
                array.__dlpack__(max_version=version)
            return
        capsule = array.__dlpack__(max_version=version, copy=True if copy else None)
        self.holders.append((capsule, model.copied() if copy else model))

    @rule(number=PICK)
    def import_capsule(self, number: int) -> None:
        if held := self.pick_held(type(refarray.Array.__dlpack_c_exchange_api__), number):
            self.keep(refarray.from_capsule(held[0]), held[1])

    @rule(number=PICK)
    def take_capsule(self, number: int) -> None:
        """A consumer takes the managed tensor."""
        if held := self.pick_held(type(refarray.Array.__dlpack_c_exchange_api__), number):
            self.holders.append((self.adversary.take(held[0]), held[1]))

    @on_an_array(copy=st.sampled_from([None, True, False]))
    def from_dlpack(self, number: int, copy: bool | None) -> None:
        array, model = self.pick(number)
        out = refarray.from_dlpack(array, copy=copy)
        self.keep(out, model.copied() if copy else model)

    @on_an_array()
    def buffer(self, number: int) -> None:
        array, model = self.pick(number)
        self.holders.append((memoryview(array), model))

    @rule(number=PICK, value=NUMBER)
    def write_buffer(self, number: int, value: int) -> None:
        held = self.pick_held(memoryview, number)
        if held is None:
            return
        self.holders.append(held)
        view, model = held
        assert (view.readonly, view.shape) == (model.readonly, model.shape)
        if model.size and not model.readonly:
            first = (0,) * len(model.shape)
            view[first if first else ()] = value
            model.indexed(first).assign([value])

    @rule(number=PICK)
    def release(self, number: int) -> None:
        if self.holders:
            holder, _ = self.holders.pop(number % len(self.holders))
            release(holder)

    # --- Invariants ---

    @invariant()
    def arrays_match_their_models(self) -> None:
        for array, model in self.arrays:
            assert array.shape == model.shape
            assert array.dtype.name == model.dtype
            assert array.readonly == model.readonly
            strides = model.meaningful_strides()
            assert [
                s if meant is not None else None
                for s, meant in zip(array.strides, strides, strict=True)
            ] == strides
            assert array.tolist() == model.nested()

    @invariant()
    def memoryviews_match_their_models(self) -> None:
        for holder, model in self.holders:
            if type(holder) is memoryview:
                assert holder.tolist() == model.nested()

    @invariant()
    def memory_lives_exactly_as_long_as_its_holders(self) -> None:
        used = {id(model.memory) for _, model in (*self.arrays, *self.holders)}
        for memory in self.foreign:
            assert memory.is_released is not None
            # An empty array needs no memory, and may release it at once.
            if memory.values:
                assert memory.is_released() == (id(memory) not in used)

    def teardown(self) -> None:
        for holder, _ in self.holders:
            release(holder)
        self.arrays.clear()
        self.holders.clear()  # the ledger fixture then checks that every tensor was deleted


def release(holder: Any) -> None:
    if type(holder) is memoryview:
        holder.release()
    elif hasattr(holder, "drop"):
        holder.drop()


def is_resizable(source: bytearray) -> bool:
    """Whether no buffer of `source` is exported."""
    try:
        source.append(0)
    except BufferError:
        return False
    source.pop()
    return True


def test_arrays_match_their_models_after_every_step(adv: Any) -> None:
    machine = type("Arrays", (Arrays,), {"adversary": adv})
    examples = 2 * settings().max_examples  # 200, and more in `make gate G=test-long`
    run_state_machine_as_test(
        machine, settings=settings(deadline=None, max_examples=examples, stateful_step_count=40)
    )
    gc.collect()
