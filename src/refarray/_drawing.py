"""Owns what a picture of a layout shows: which elements are drawn, where each lies in memory, and
what lies between them. Nothing of the data is read."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from refarray._describe import PADDED

if TYPE_CHECKING:
    from refarray._inspect import Inspection

MOST_ELEMENTS = 24
"""Drawn one by one; of more, each axis shows its first ones and its last."""
FEW_ELEMENTS = 15
"""As many are drawn of more."""
LONGEST_GAP = 6
"""Gaps of more elements are drawn as one cell."""

Index = tuple[int, ...]


class Kind(Enum):
    """What a piece of memory is."""

    TAKEN = 1
    GAP = 2
    """It belongs to no element."""
    LEFT_OUT = 3
    """Elements may lie there that are not drawn."""
    OFFSET = 4
    """From the data pointer to element (0, ..., 0), which is the lowest."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of memory: one element, several in the same place, or what lies between."""

    bit: int
    """Where it begins, counted from element (0, ..., 0)."""
    bits: int
    kind: Kind = Kind.TAKEN
    elements: tuple[Index, ...] = ()
    scaled: bool = True
    """Whether its length is to scale."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of more than one element, and its step."""

    number: int
    stride: int
    """In elements."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Everything that is drawn of one tensor."""

    shape: Index
    strides: Index
    bits: int
    """Of one element, as it lies in memory."""
    byte_offset: int
    kept: tuple[tuple[int, ...], ...]
    """Of each axis the indices that are drawn."""
    cells: tuple[Cell, ...]
    """From the lowest address to the highest."""
    axes: tuple[Axis, ...]
    order: dict[Index, int]
    """The place of each drawn element in the order of its index, last axis fastest."""

    @property
    def size(self) -> int:
        """Elements in all."""
        return math.prod(self.shape)

    @property
    def whole(self) -> bool:
        """Whether every element is drawn."""
        return len(self.order) == self.size

    @property
    def span(self) -> int:
        """Bytes from the first one that an element takes to the last."""
        ends = [(n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True)]
        steps = sum(abs(end) for end in ends) + 1
        return -(-steps * self.bits // 8)

    @property
    def overlap(self) -> bool:
        """Whether elements share their place."""
        return any(len(cell.elements) > 1 for cell in self.cells)

    @property
    def gaps(self) -> bool:
        """Whether something that is drawn belongs to no element."""
        return any(cell.kind is Kind.GAP for cell in self.cells)


def element_bits(dtype: tuple[int, int, int], padded: bool) -> int:
    """The bits that one element takes."""
    bits = dtype[1] * dtype[2]
    return -(-bits // 8) * 8 if padded or bits > 8 else bits


def row_major(shape: Index) -> Index:
    """What NULL strides mean."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def kept_indices(shape: Index) -> tuple[tuple[int, ...], ...]:
    """The first ones of each axis, and its last: together no more than are drawn."""
    counts = list(shape)
    while math.prod(shape) > MOST_ELEMENTS and math.prod(counts) > FEW_ELEMENTS:
        longest = max(range(len(counts)), key=lambda axis: counts[axis])
        counts[longest] = min(counts[longest] - 1, FEW_ELEMENTS)
    return tuple(
        tuple(range(n)) if count == n else (*range(count - 1), n - 1)
        for n, count in zip(shape, counts, strict=True)
    )


def is_taken(offset: int, shape: Index, strides: Index) -> bool | None:
    """Whether an element lies that many elements behind the lowest one; None where axes are so
    interleaved that only looking at every element would tell."""
    steps = sorted((abs(step), n) for n, step in zip(shape, strides, strict=True) if step and n > 1)
    reach = 0
    for step, n in steps:
        if step <= reach:
            return None
        reach += step * (n - 1)
    for step, n in reversed(steps):
        offset -= step * min(offset // step, n - 1)
    return offset == 0


def between(bit: int, end: int, drawn: Between) -> list[Cell]:
    """What lies between two elements: a cell for each that would fit, or one for all."""
    count = (end - bit) // drawn.bits
    if count == 0:
        return []
    slots = range(bit // drawn.bits - drawn.lowest, end // drawn.bits - drawn.lowest)
    free = drawn.whole or (
        count <= LONGEST_GAP
        and all(is_taken(slot, drawn.shape, drawn.strides) is False for slot in slots)
    )
    kind = Kind.GAP if free else Kind.LEFT_OUT
    if not free or count > LONGEST_GAP:
        return [Cell(bit, end - bit, kind, scaled=False)]
    return [Cell(bit + i * drawn.bits, drawn.bits, kind) for i in range(count)]


@dataclass(frozen=True, slots=True)
class Between:
    """What decides on the memory between two elements."""

    shape: Index
    strides: Index
    bits: int
    lowest: int
    """The lowest element of all, in elements from (0, ..., 0)."""
    whole: bool


def cells_of(places: dict[int, list[Index]], drawn: Between) -> tuple[Cell, ...]:
    """The memory from the lowest drawn element to the highest."""
    out: list[Cell] = []
    for bit in sorted(places):
        if out:
            out += between(out[-1].bit + out[-1].bits, bit, drawn)
        out.append(Cell(bit, drawn.bits, elements=tuple(places[bit])))
    return tuple(out)


def drawing(found: Inspection) -> Drawing | None:
    """What is drawn of an inspected tensor; None when it has no elements or cannot be read."""
    if found.shape is None or found.dtype is None or min(found.shape, default=1) < 1:
        return None
    shape = found.shape
    strides = row_major(shape) if found.strides is None else found.strides
    bits = element_bits(found.dtype, bool((found.flags or 0) & PADDED))
    if bits < 1:
        return None
    kept = kept_indices(shape)
    order: dict[Index, int] = {}
    places: dict[int, list[Index]] = {}
    for index in itertools.product(*kept):
        order[index] = len(order)
        step = sum(i * stride for i, stride in zip(index, strides, strict=True))
        places.setdefault(step * bits, []).append(index)
    lowest = sum(min(0, (n - 1) * stride) for n, stride in zip(shape, strides, strict=True))
    facts = Between(shape, strides, bits, lowest, len(order) == math.prod(shape))
    axes = [Axis(axis, strides[axis]) for axis in range(len(shape)) if shape[axis] > 1]
    offset = found.byte_offset or 0
    cells = cells_of(places, facts)
    if offset and min(places) == 0:
        cells = (Cell(-8 * offset, 8 * offset, Kind.OFFSET, scaled=False), *cells)
    return Drawing(shape, strides, bits, offset, kept, cells, tuple(axes), order)
