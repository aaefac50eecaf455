"""Contents of the memory layout picture: the elements drawn, their places, and the gaps between.

Computed from shape, strides and dtype; the data itself is not read.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from refarray._describe import PADDED

if TYPE_CHECKING:
    from refarray._inspect import Inspection

MAX_WHOLE = 24
"""Arrays of at most this many elements are drawn completely."""
MAX_SELECTED = 15
"""Of larger arrays about this many elements are drawn: the first ones and the last of each axis."""
MAX_GAP = 6
"""Gaps of more elements than this are drawn as one cell."""

Index = tuple[int, ...]


class Kind(Enum):
    """The content of a cell of memory."""

    ELEMENT = 1
    GAP = 2
    """Memory that belongs to no element."""
    OMITTED = 3
    """Memory that may contain elements that are not drawn."""
    OFFSET = 4
    """byte_offset: from the data pointer to element (0, ..., 0), if that has the lowest address."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A range of memory: one element, several at one address, or the range between two."""

    bit: int
    """The first bit, relative to element (0, ..., 0)."""
    bits: int
    kind: Kind = Kind.ELEMENT
    elements: tuple[Index, ...] = ()
    scaled: bool = True
    """Whether the cell is drawn to scale."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of more than one element."""

    number: int
    stride: int
    """In elements."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The contents of the picture of one tensor."""

    shape: Index
    strides: Index
    bits: int
    """The bits that an element occupies."""
    byte_offset: int
    drawn_indices: tuple[tuple[int, ...], ...]
    """For each axis, the indices that are drawn."""
    cells: tuple[Cell, ...]
    """In the order of addresses."""
    axes: tuple[Axis, ...]
    order: dict[Index, int]
    """The drawn elements, numbered in row-major order."""

    @property
    def size(self) -> int:
        """The number of elements of the tensor."""
        return math.prod(self.shape)

    @property
    def whole(self) -> bool:
        """Whether every element is drawn."""
        return len(self.order) == self.size

    @property
    def span(self) -> int:
        """The bytes from the lowest to the highest address that an element occupies."""
        ends = [(n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True)]
        steps = sum(abs(end) for end in ends) + 1
        return -(-steps * self.bits // 8)

    @property
    def overlap(self) -> bool:
        """Whether several drawn elements have one address."""
        return any(len(cell.elements) > 1 for cell in self.cells)

    @property
    def gaps(self) -> bool:
        """Whether a gap is drawn."""
        return any(cell.kind is Kind.GAP for cell in self.cells)


def element_bits(dtype: tuple[int, int, int], padded: bool) -> int:
    """Return the bits that an element occupies."""
    bits = dtype[1] * dtype[2]
    return -(-bits // 8) * 8 if padded or bits > 8 else bits


def row_major(shape: Index) -> Index:
    """Return the row-major strides, which NULL strides stand for."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def select_indices(shape: Index) -> tuple[tuple[int, ...], ...]:
    """Return the indices to draw of each axis: all, or the first ones and the last."""
    counts = list(shape)
    while math.prod(shape) > MAX_WHOLE and math.prod(counts) > MAX_SELECTED:
        longest = max(range(len(counts)), key=lambda axis: counts[axis])
        counts[longest] = min(counts[longest] - 1, MAX_SELECTED)
    return tuple(
        tuple(range(n)) if count == n else (*range(count - 1), n - 1)
        for n, count in zip(shape, counts, strict=True)
    )


def is_element(offset: int, shape: Index, strides: Index) -> bool | None:
    """Return whether an element lies `offset` elements after the one with the lowest address.

    None if the axes overlap in memory, so that only enumerating the elements would tell.
    """
    steps = sorted((abs(step), n) for n, step in zip(shape, strides, strict=True) if step and n > 1)
    reach = 0
    for step, n in steps:
        if step <= reach:
            return None
        reach += step * (n - 1)
    for step, n in reversed(steps):
        offset -= step * min(offset // step, n - 1)
    return offset == 0


def cells_between(bit: int, end: int, drawn: Geometry) -> list[Cell]:
    """Return the cells between two drawn elements: one per element that fits, or a single one."""
    count = (end - bit) // drawn.bits
    if count == 0:
        return []
    slots = range(bit // drawn.bits - drawn.lowest, end // drawn.bits - drawn.lowest)
    is_gap = drawn.whole or (
        count <= MAX_GAP
        and all(is_element(slot, drawn.shape, drawn.strides) is False for slot in slots)
    )
    kind = Kind.GAP if is_gap else Kind.OMITTED
    if not is_gap or count > MAX_GAP:
        return [Cell(bit, end - bit, kind, scaled=False)]
    return [Cell(bit + i * drawn.bits, drawn.bits, kind) for i in range(count)]


@dataclass(frozen=True, slots=True)
class Geometry:
    """The facts that decide whether memory between two drawn elements is a gap."""

    shape: Index
    strides: Index
    bits: int
    lowest: int
    """The element with the lowest address, in elements relative to (0, ..., 0)."""
    whole: bool
    """Whether every element is drawn."""


def cells_of(places: dict[int, list[Index]], drawn: Geometry) -> tuple[Cell, ...]:
    """Return the cells from the lowest to the highest drawn element."""
    out: list[Cell] = []
    for bit in sorted(places):
        if out:
            out += cells_between(out[-1].bit + out[-1].bits, bit, drawn)
        out.append(Cell(bit, drawn.bits, elements=tuple(places[bit])))
    return tuple(out)


def draw(found: Inspection) -> Drawing | None:
    """Return the drawing of a tensor, or None if it has no elements or could not be read."""
    if found.shape is None or found.dtype is None or min(found.shape, default=1) < 1:
        return None
    shape = found.shape
    strides = row_major(shape) if found.strides is None else found.strides
    bits = element_bits(found.dtype, bool((found.flags or 0) & PADDED))
    if bits < 1:
        return None
    drawn_indices = select_indices(shape)
    order: dict[Index, int] = {}
    places: dict[int, list[Index]] = {}
    for index in itertools.product(*drawn_indices):
        order[index] = len(order)
        step = sum(i * stride for i, stride in zip(index, strides, strict=True))
        places.setdefault(step * bits, []).append(index)
    lowest = sum(min(0, (n - 1) * stride) for n, stride in zip(shape, strides, strict=True))
    geometry = Geometry(shape, strides, bits, lowest, len(order) == math.prod(shape))
    axes = [Axis(axis, strides[axis]) for axis in range(len(shape)) if shape[axis] > 1]
    offset = found.byte_offset or 0
    cells = cells_of(places, geometry)
    if offset and min(places) == 0:
        cells = (Cell(-8 * offset, 8 * offset, Kind.OFFSET, scaled=False), *cells)
    return Drawing(shape, strides, bits, offset, drawn_indices, cells, tuple(axes), order)
