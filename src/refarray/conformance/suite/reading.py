"""Judges each part of an exported tensor by itself against the library's own statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refarray.conformance.harness import memory
from refarray.conformance.harness.memory import Dtype, Unreadable
from refarray.conformance.harness.statement import Statement

Verdict = tuple[bool, str]
"""Whether a part is right, and the observation."""


@dataclass(frozen=True)
class Reading:
    """An export's fields beside what they should describe.

    Values are read with the strides that the library states, not with the exported ones: a wrong
    stride is then a finding about strides, and wrong data one about data.
    """

    fields: Mapping[str, Any]
    said: Statement
    dtype: Dtype
    """The array's dtype, whatever the struct says."""

    @property
    def address(self) -> int:
        """Address of element (0, ..., 0)."""
        return int(self.fields["data"] or 0) + int(self.fields["byte_offset"] or 0)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.fields["shape"] or ())

    @property
    def strides(self) -> tuple[int, ...]:
        """The exported strides; NULL means row-major."""
        given = self.fields["strides"]
        return memory.row_major(self.shape) if given is None else tuple(given)

    @property
    def right_strides(self) -> tuple[int, ...] | None:
        """The strides of the array: as the library states them; otherwise the exported ones if they
        reach the right values, or some usual ones that do. None if none do."""
        if self.said.strides is not None:
            return self.said.strides
        shape = self.said.shape
        for strides in (self.strides, *usual_strides(shape)):
            if len(strides) == len(shape) and self.reads(strides):
                return strides
        return None

    @property
    def found_strides(self) -> tuple[int, ...]:
        """The right strides; if none are found the exported ones, or row-major ones if those are
        for another number of axes."""
        right = self.right_strides
        if right is not None:
            return right
        same = len(self.strides) == len(self.said.shape)
        return self.strides if same else memory.row_major(self.said.shape)

    def reads(self, strides: Sequence[int]) -> bool:
        """Whether the values are right when read with these strides."""
        try:
            return self.said.agrees(self.read(strides))
        except Unreadable:
            return False

    def read(self, strides: Sequence[int]) -> Any:
        """The values in memory."""
        return memory.values(self.address, self.said.shape, strides, self.dtype)

    def judge_values(self) -> Verdict:
        """Whether every element has the library's value."""
        try:
            found = self.read(self.found_strides)
        except Unreadable as error:
            return False, f"{error}"
        said = memory.brief(self.said.values)
        if self.said.agrees(found):
            return True, f"{said}"
        return False, f"the library reads {said}, the memory holds {memory.brief(found)}"

    def judge_layout(self) -> Verdict:
        """Whether shape and strides are the array's. Strides of axes shorter than 2 mean nothing,
        and NULL strides are judged by TENS-06."""
        observed = f"shape {self.shape}, strides {self.fields['strides']}"
        if self.shape != self.said.shape:
            return False, f"{observed}; the library says shape {self.said.shape}"
        right = self.right_strides
        if memory.elements(self.shape) == 0 or right is None:
            return True, observed
        pairs = zip(self.shape, self.strides, right, strict=True)
        held = all(extent < 2 or found == wanted for extent, found, wanted in pairs)
        return held, observed if held else f"{observed}; the array's strides are {right}"

    def judge_dtype(self) -> Verdict:
        found = tuple(self.fields["dtype"])
        return found == self.dtype, f"{found}"

    def first_differs(self) -> bytes:
        """Bytes of an element that differ from those of the first one, to write there."""
        size = memory.width(self.dtype)
        first = memory.read(self.address, size)
        zeros = bytes(size)
        one = memory.read(self.last, size)
        return next(data for data in (one, zeros, b"\1" + zeros[1:]) if data != first)

    @property
    def last(self) -> int:
        """Address of the last element."""
        size = memory.width(self.dtype)
        pairs = zip(self.said.shape, self.found_strides, strict=True)
        return self.address + size * sum((extent - 1) * stride for extent, stride in pairs)

    def span(self) -> range:
        """The addresses of the array's elements."""
        size = memory.width(self.dtype)
        return memory.span(self.address, self.said.shape, self.found_strides, size)


def usual_strides(shape: Sequence[int]) -> list[tuple[int, ...]]:
    """Strides that an array of this shape often has: row-major, column-major, reversed, every
    second, broadcast."""
    rows = memory.row_major(shape)
    columns = tuple(reversed(memory.row_major(tuple(reversed(shape)))))
    return [
        rows,
        columns,
        tuple(-step for step in rows),
        tuple(2 * step for step in rows),
        (0,) * len(shape),
    ]


def overlap(first: range, second: range) -> bool:
    """Whether two spans of addresses share a byte."""
    return first.start < second.stop and second.start < first.stop
