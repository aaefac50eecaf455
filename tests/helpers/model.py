"""A model of arrays in pure Python: offset, shape and strides over a shared list of numbers."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

#: Type name: (DLPack's (code, bits, lanes), `struct` format). Small integers are exact in each.
TYPES = {
    "uint8": ((1, 8, 1), "B"),
    "int16": ((0, 16, 1), "h"),
    "int64": ((0, 64, 1), "l" if struct.calcsize("l") == 8 else "q"),
    "float32": ((2, 32, 1), "f"),
    "float64": ((2, 64, 1), "d"),
}


@dataclass(eq=False)
class Memory:
    """The elements of one allocation. For foreign memory, `is_released` says whether its producer
    has got it back."""

    values: list[int]
    is_released: Callable[[], bool] | None = None


def row_major(shape: Iterable[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(tuple(shape)):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


@dataclass(eq=False, frozen=True)
class Model:
    """A view of a Memory: immutable, like the attributes of an array; only the memory changes."""

    memory: Memory
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    readonly: bool = False

    @classmethod
    def new(cls, dtype: str, shape: Iterable[int], values: Iterable[int]) -> Model:
        shape = tuple(shape)
        return cls(Memory(list(values)), dtype, shape, row_major(shape))

    def view(self, shape: Iterable[int], strides: Iterable[int], offset: int = 0) -> Model:
        offset += self.offset
        return replace(self, shape=tuple(shape), strides=tuple(strides), offset=offset)

    def addresses(self) -> list[int]:
        return [
            self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))
            for index in itertools.product(*map(range, self.shape))
        ]

    def values(self) -> list[int]:
        return [self.memory.values[address] for address in self.addresses()]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def nested(self) -> Any:
        def build(shape: tuple[int, ...], flat: list[int]) -> Any:
            if not shape:
                return flat[0]
            step = len(flat) // shape[0] if shape[0] else 0
            return [build(shape[1:], flat[i * step : (i + 1) * step]) for i in range(shape[0])]

        return build(self.shape, self.values())

    def meaningful_strides(self) -> list[int | None]:
        """The strides, with None where a stride is never used (TENS-14)."""
        if not self.size:
            return [None] * len(self.shape)
        return [s if n > 1 else None for n, s in zip(self.shape, self.strides, strict=True)]

    def copied(self, dtype: str | None = None) -> Model:
        return Model.new(dtype or self.dtype, self.shape, self.values())

    def indexed(self, key: tuple[Any, ...]) -> Model:
        """Basic indexing: integers, slices, None and one Ellipsis, as Python defines them."""
        given = sum(1 for k in key if k is not None and k is not ...)
        at = key.index(...) if ... in key else len(key)
        rest = (slice(None),) * (len(self.shape) - given)
        axes = iter(zip(self.shape, self.strides, strict=True))
        shape, strides, offset = [], [], 0
        for k in (*key[:at], *rest, *key[at + 1 :]):
            if k is None:
                shape.append(1)
                strides.append(0)
                continue
            extent, stride = next(axes)
            if isinstance(k, int):
                offset += k % extent * stride
                continue
            start, stop, step = k.indices(extent)
            shape.append(len(range(start, stop, step)))
            strides.append(stride * step)
            offset += start * stride
        return self.view(shape, strides, offset)

    def permuted(self, axes: Iterable[int]) -> Model:
        axes = tuple(axes)
        return self.view([self.shape[a] for a in axes], [self.strides[a] for a in axes])

    def flipped(self, axes: Iterable[int]) -> Model:
        axes = set(axes)
        offset = sum((self.shape[a] - 1) * self.strides[a] for a in axes if self.shape[a])
        return self.view(
            self.shape, [-s if a in axes else s for a, s in enumerate(self.strides)], offset
        )

    def broadcast(self, shape: Iterable[int]) -> Model:
        shape = tuple(shape)
        added = len(shape) - len(self.shape)
        strides = [
            0 if own == 1 else stride for own, stride in zip(self.shape, self.strides, strict=True)
        ]
        return self.view(shape, [0] * added + strides).as_readonly()

    def reshaped(self, shape: Iterable[int]) -> Model:
        """A view if strides for the new shape exist, else a copy."""
        shape = tuple(shape)
        if not self.size:
            return self.view(shape, row_major(shape))
        addresses = self.addresses()
        steps = row_major(shape)
        strides = [
            addresses[step] - addresses[0] if n > 1 else 0
            for n, step in zip(shape, steps, strict=True)
        ]
        out = self.view(shape, strides)
        return out if out.addresses() == addresses else Model.new(self.dtype, shape, self.values())

    def as_readonly(self) -> Model:
        return replace(self, readonly=True)

    def assign(self, values: list[int]) -> None:
        for address, value in zip(self.addresses(), values, strict=True):
            self.memory.values[address] = value
