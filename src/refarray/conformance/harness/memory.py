"""Memory by address: reads and writes that cannot crash the process, and the values of a tensor.

Values are decoded here, from bytes, so that no library and no part of refarray has a say in them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refarray._system import system
from refarray.conformance.cases import Evidence, NotApplicable
from refarray.conformance.dlpack import HOST_READABLE, SUBBYTE_PADDED

MOST = 4096
"""The largest number of elements that is read."""
Dtype = tuple[int, int, int]

INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6  # DLDataTypeCode
IEEE, LAST_IS_NAN, NO_NEGATIVE_ZERO, FINITE = range(4)
"""What the special codes of a float mean: infinities and NaNs in the highest exponent; a NaN in the
last code only ("fn"); a NaN in the place of -0 only ("fnuz"); nothing special."""
FLOATS = {
    (FLOAT, 16): (5, 10, 15, IEEE),
    (FLOAT, 32): (8, 23, 127, IEEE),
    (FLOAT, 64): (11, 52, 1023, IEEE),
    (BFLOAT, 16): (8, 7, 127, IEEE),
    (7, 8): (3, 4, 3, IEEE),  # float8_e3m4
    (8, 8): (4, 3, 7, IEEE),  # float8_e4m3
    (9, 8): (4, 3, 11, NO_NEGATIVE_ZERO),  # float8_e4m3b11fnuz
    (10, 8): (4, 3, 7, LAST_IS_NAN),  # float8_e4m3fn
    (11, 8): (4, 3, 8, NO_NEGATIVE_ZERO),  # float8_e4m3fnuz
    (12, 8): (5, 2, 15, IEEE),  # float8_e5m2
    (13, 8): (5, 2, 16, NO_NEGATIVE_ZERO),  # float8_e5m2fnuz
    (15, 6): (2, 3, 1, FINITE),  # float6_e2m3fn
    (16, 6): (3, 2, 3, FINITE),  # float6_e3m2fn
    (17, 4): (2, 1, 1, FINITE),  # float4_e2m1fn
}
"""(code, bits) → the bits of exponent and mantissa, the bias, the special codes."""
POWERS = (14, 8)  # float8_e8m0fnu: an exponent alone


class Unreadable(Evidence):
    """The memory cannot be read or written; the message says where."""


def read(address: int, count: int) -> bytes:
    """`count` bytes from an address on. Unreadable if they are not mapped."""
    try:
        found = system.read_memory(address, count)
    except (OSError, OverflowError):
        found = b""
    if len(found) != count:
        raise Unreadable(f"{count} bytes at {address:#x} cannot be read")
    return found


def write(address: int, data: bytes) -> None:
    """Writes bytes to an address. Unreadable if it is not mapped."""
    try:
        system.write_memory(address, data)
    except (OSError, OverflowError):
        raise Unreadable(f"{len(data)} bytes at {address:#x} cannot be written") from None


def require_decodable(dtype: Dtype) -> None:
    """NotApplicable for a dtype that is not decoded."""
    code, bits, lanes = dtype
    whole = (code in {INT, UINT} and 0 < bits <= 64) or (code, bits) in {(BOOL, 8), POWERS}
    halves = code == COMPLEX and (FLOAT, bits // 2) in FLOATS
    if not lanes or not (whole or halves or (code, bits) in FLOATS):
        raise NotApplicable(f"the kit does not decode {dtype}")


def width(dtype: Dtype) -> int:
    """The bytes of one element. NotApplicable for a dtype that is not decoded, or whose elements
    are no whole bytes."""
    require_decodable(dtype)
    _, bits, lanes = dtype
    if bits % 8:
        raise NotApplicable(f"the kit does not decode {dtype} by itself: it shares bytes")
    return bits // 8 * lanes


def of_float(number: int, exponent_bits: int, mantissa_bits: int, bias: int, special: int) -> float:
    """The value of a float with these bits. A Python float holds each one exactly."""
    sign = -1.0 if number >> (exponent_bits + mantissa_bits) else 1.0
    highest = (1 << exponent_bits) - 1
    exponent, mantissa = number >> mantissa_bits & highest, number & ((1 << mantissa_bits) - 1)
    if special == IEEE and exponent == highest:
        return float("nan") if mantissa else sign * float("inf")
    last = exponent == highest and mantissa + 1 == 1 << mantissa_bits
    negative_zero = sign < 0 and not exponent and not mantissa
    if (special == LAST_IS_NAN and last) or (special == NO_NEGATIVE_ZERO and negative_zero):
        return float("nan")
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return float(sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias))


def of_bits(number: int, code: int, bits: int) -> Any:
    """The value of one lane with these bits. A bool of another byte than 0 and 1 is that number."""
    if form := FLOATS.get((code, bits)):
        return of_float(number, *form)
    if code == COMPLEX:
        half = bits // 2
        low, high = number & ((1 << half) - 1), number >> half
        parts = (low, high) if sys.byteorder == "little" else (high, low)
        return complex(*(of_bits(part, FLOAT, half) for part in parts))
    if (code, bits) == POWERS:
        return float("nan") if number == 255 else 2.0 ** (number - 127)
    return number - (1 << bits) if code == INT and number >> (bits - 1) else number


def decode(data: bytes, dtype: Dtype) -> Any:
    """The value of an element of one lane that fills whole bytes."""
    return of_bits(int.from_bytes(data, sys.byteorder), dtype[0], dtype[1])


def element(address: int, index: int, dtype: Dtype, padded: bool) -> Any:
    """The value of the element that many elements from the address; a list of those of its lanes
    if it has more than one. Lanes of less than a byte are packed, the first in the lowest bits,
    unless each is padded to a byte."""
    code, bits, lanes = dtype
    step = -(-bits // 8) * 8 if padded else bits
    out = []
    for lane in range(index * lanes, (index + 1) * lanes):
        first, shift = divmod(lane * step, 8)
        data = read(address + first, (shift + bits + 7) // 8)
        number = int.from_bytes(data, "little" if bits % 8 else sys.byteorder)
        out.append(of_bits(number >> shift & ((1 << bits) - 1), code, bits))
    return out if lanes > 1 else out[0]


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    out: list[int] = []
    step = 1
    for extent in reversed(shape):
        out.insert(0, step)
        step *= extent
    return tuple(out)


def elements(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def span(address: int, shape: Sequence[int], strides: Sequence[int], size: int) -> range:
    """The addresses of all elements of `size` bytes; empty if there are none."""
    if elements(shape) == 0:
        return range(address, address)
    reach = [(extent - 1) * stride * size for extent, stride in zip(shape, strides, strict=True)]
    low = sum(step for step in reach if step < 0)
    high = sum(step for step in reach if step > 0)
    return range(address + low, address + high + size)


def values(
    address: int, shape: Sequence[int], strides: Sequence[int], dtype: Dtype, padded: bool = False
) -> Any:
    """All elements as nested lists, like tolist(). Unreadable if some of them are not mapped."""
    require_decodable(dtype)
    if any(extent < 0 for extent in shape) or elements(shape) > MOST:
        raise Unreadable(f"shape {tuple(shape)} is not the array's")

    def part(axis: int, index: int) -> Any:
        if axis == len(shape):
            return element(address, index, dtype, padded)
        return [part(axis + 1, index + each * strides[axis]) for each in range(shape[axis])]

    return part(0, 0)


def tensor_values(fields: Mapping[str, Any]) -> Any:
    """The values of the tensor with these fields (_adversary.fields). Unreadable if it describes no
    memory; NotApplicable if the host cannot read its device."""
    shape, strides = fields.get("shape"), fields.get("strides")
    if shape is None:
        raise Unreadable(f"it has no shape: ndim {fields.get('ndim')}")
    if fields["device"][0] not in HOST_READABLE:
        raise NotApplicable(f"the host cannot read the device {fields['device']}")
    return values(
        fields["data"] + fields["byte_offset"],
        shape,
        row_major(shape) if strides is None else strides,
        fields["dtype"],
        bool((fields["flags"] or 0) & SUBBYTE_PADDED),
    )


def flat(nested: Any) -> Iterator[Any]:
    """The elements of nested lists, in order."""
    if not isinstance(nested, list):
        yield nested
        return
    for each in nested:
        yield from flat(each)


def extents(nested: Any) -> tuple[int, ...]:
    """The shape of nested lists."""
    out: list[int] = []
    while isinstance(nested, list):
        out.append(len(nested))
        nested = nested[0] if nested else None
    return tuple(out)


def brief(nested: Any) -> str:
    """Nested lists as reports show them: the first values only."""
    shown = str(nested)
    return shown if len(shown) <= 120 else f"{shown[:120]}…"
