"""The well-formed tensors that consumers import, of every layout and dtype, and their values."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refarray.conformance.harness import memory
from refarray.conformance.suite.producer.dtypes import TRIPLES

NEGATIVE = ("reversed", "reversed-rows")
"""The layouts with negative strides."""
COUNT = 37  # elements of each tensor's memory
FLOAT = (2, 32, 1)


@dataclass(frozen=True)
class Sent:
    """A tensor of the kit: the fields for give(), the name of its dtype, its values."""

    fields: dict[str, Any]
    values: Any
    dtype: str = "float32"

    @property
    def triple(self) -> memory.Dtype:
        _, code, bits = TRIPLES[self.dtype]
        return (code, bits, 1)

    @property
    def offset(self) -> bool:
        """Whether its first element is not where `data` points."""
        return bool(self.fields.get("byte_offset"))


# kind: (shape, strides, offset in elements)
LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "plain": ((6,), (1,), 0),
    "odd": ((COUNT,), (1,), 0),
    "strided": ((3,), (2,), 0),
    "reversed": ((6,), (-1,), 5),
    "transposed": ((3, 2), (1, 3), 0),
    "reversed-rows": ((3, 2), (-2, 1), 4),
    "broadcast": ((3,), (0,), 0),
    "broadcast-rows": ((2, 3), (0, 1), 0),
    "scalar": ((), (), 0),
    "scalar-offset": ((), (), 3),
    "offset": ((3,), (1,), 2),
    "offset-strided": ((3,), (2,), 1),
    "inner": ((2, 2), (4, 1), 1),
    "permuted": ((2, 4, 3), (12, 1, 4), 0),
    "empty": ((0,), (1,), 0),
    "empty2": ((2, 0), (1, 1), 0),
    "one": ((1, 1), (1, 1), 0),
}
"""The layouts in which tensors are sent, within COUNT elements."""


def encode(dtype: str) -> bytes:
    """COUNT elements of a dtype: distinct where it has enough values, with sign bits set."""
    _, code, bits = TRIPLES[dtype]
    if code == 6:
        return bytes(each * each % 3 % 2 for each in range(COUNT))
    if code == 4:  # bits of small numbers, here and below: no NaN and no infinity
        return b"".join(struct.pack("=H", 0x3F80 + 8 * each) for each in range(COUNT))
    if code > 6:
        return bytes(0x30 + each for each in range(COUNT))
    power = bits.bit_length() - 4 - (code == 5)  # of the bytes of a number
    text = {0: "bhiq", 1: "BHIQ"}.get(code, "-efd")[power]
    if code == 5:
        return b"".join(struct.pack(f"={text}{text}", each + 1, -each - 2) for each in range(COUNT))
    top = 2**bits - 1 if code == 1 else -1
    return b"".join(struct.pack(f"={text}", top - each) for each in range(COUNT))


def pick(data: bytes, triple: memory.Dtype, shape: Sequence[int], places: Sequence[int]) -> Any:
    """The elements of `data` at the places that the layout reaches, as nested lists."""
    size = memory.width(triple)
    if not shape:
        start = places[0] * size
        value = memory.decode(data[start : start + size], triple)
        return bool(value) if triple[0] == 6 else value
    step = places[1]
    return [
        pick(data, triple, shape[1:], (places[0] + index * step, *places[2:]))
        for index in range(shape[0])
    ]


def make_tensor(layout: str, dtype: str = "float32", **more: Any) -> Sent:
    """The tensor of a layout and dtype; `more` are further fields."""
    shape, strides, offset = LAYOUTS[layout]
    _, code, bits = TRIPLES[dtype]
    triple = (code, bits, 1)
    data = encode(dtype)
    fields: dict[str, Any] = {"shape": shape, "strides": strides, "data": data, **more}
    if dtype != "float32":
        fields["dtype"] = triple
    if offset:
        fields["byte_offset"] = offset * bits // 8
    return Sent(fields, pick(data, triple, shape, (offset, *strides)), dtype)


TENSORS = {
    **{layout: make_tensor(layout) for layout in LAYOUTS},
    **{dtype: make_tensor("odd", dtype) for dtype in TRIPLES if dtype != "float32"},
}
"""One tensor of each layout, in float32, and one of each other dtype."""
