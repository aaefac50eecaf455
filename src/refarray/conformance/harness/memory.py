"""Memory by address: reads and writes that cannot crash the process, and the values of a tensor.

Values are decoded here, from bytes, so that no library and no part of refarray has a say in them.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from refarray.conformance.cases import NotApplicable

MEMORY = "/proc/self/mem"
"""Reads and writes through this file raise OSError where an access would be a SIGSEGV."""
MOST = 4096
"""The largest number of elements that is read."""
Dtype = tuple[int, int, int]

FORMATS = {
    **{(0, 8 << power): letter for power, letter in enumerate("bhiq")},
    **{(1, 8 << power): letter for power, letter in enumerate("BHIQ")},
    **{(2, 16 << power): letter for power, letter in enumerate("efd")},
    **{(5, 32 << power): 2 * letter for power, letter in enumerate("efd")},
    (6, 8): "B",
}
"""(code, bits) → the format of one element in `struct`."""


class Unreadable(Exception):
    """The memory cannot be read or written; the message says where."""


def read(address: int, count: int) -> bytes:
    """`count` bytes from an address on. Unreadable if they are not mapped."""
    try:
        descriptor = os.open(MEMORY, os.O_RDONLY)
    except OSError:  # a system without /proc: the process may crash
        return ctypes.string_at(address, count)
    try:
        found = os.pread(descriptor, count, address) if count else b""
    except (OSError, OverflowError):
        found = b""
    finally:
        os.close(descriptor)
    if len(found) != count:
        raise Unreadable(f"{count} bytes at {address:#x} cannot be read")
    return found


def write(address: int, data: bytes) -> None:
    """Writes bytes to an address. Unreadable if it is not mapped."""
    try:
        descriptor = os.open(MEMORY, os.O_RDWR)
    except OSError:
        ctypes.memmove(address, data, len(data))
        return
    try:
        done = os.pwrite(descriptor, data, address)
    except (OSError, OverflowError):
        done = 0
    finally:
        os.close(descriptor)
    if done != len(data):
        raise Unreadable(f"{len(data)} bytes at {address:#x} cannot be written")


def width(dtype: Dtype) -> int:
    """The bytes of one element. NotApplicable for a dtype that is not decoded."""
    code, bits, lanes = dtype
    if lanes != 1 or ((code, bits) not in FORMATS and (code, bits) not in SMALL_FLOATS):
        raise NotApplicable(f"the kit does not decode {dtype}")
    return bits // 8


def e5m2(byte: int) -> float:
    """The value of a float8_e5m2: the upper byte of a half."""
    value: float = struct.unpack("<e", bytes([0, byte]))[0]
    return value


def e4m3fn(byte: int) -> float:
    """The value of a float8_e4m3fn: bias 7, no infinities, NaN in the last code."""
    sign = -1.0 if byte & 0x80 else 1.0
    exponent, mantissa = byte >> 3 & 15, byte & 7
    if byte & 0x7F == 0x7F:
        return float("nan")
    if exponent == 0:
        return sign * mantissa / 512
    return sign * (1 + mantissa / 8) * 2.0 ** (exponent - 7)


def bfloat16(data: bytes) -> float:
    """The value of a bfloat16: the upper half of a float32."""
    number = int.from_bytes(data, "little" if LITTLE else "big") << 16
    value: float = struct.unpack("=f", struct.pack("=I", number))[0]
    return value


LITTLE = struct.pack("=H", 1) == b"\1\0"
SMALL_FLOATS: dict[tuple[int, int], Callable[[bytes], float]] = {
    (4, 16): bfloat16,
    (10, 8): lambda data: e4m3fn(data[0]),
    (12, 8): lambda data: e5m2(data[0]),
}
"""(code, bits) → the decoder of a float that `struct` does not have."""


def decoded(data: bytes, dtype: Dtype) -> Any:
    """The value of one element. A bool of another byte than 0 and 1 is that number."""
    code, bits, _ = dtype
    if small := SMALL_FLOATS.get((code, bits)):
        return small(data)
    parts = struct.unpack(f"={FORMATS[code, bits]}", data)
    return complex(*parts) if code == 5 else parts[0]


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    out: list[int] = []
    step = 1
    for extent in reversed(shape):
        out.insert(0, step)
        step *= extent
    return tuple(out)


def elements(shape: Sequence[int]) -> int:
    """The number of elements."""
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


def values(address: int, shape: Sequence[int], strides: Sequence[int], dtype: Dtype) -> Any:
    """All elements as nested lists, like tolist(). Unreadable if some of them are not mapped."""
    size = width(dtype)
    if any(extent < 0 for extent in shape) or elements(shape) > MOST:
        raise Unreadable(f"shape {tuple(shape)} is not the array's")
    if not shape:
        return decoded(read(address, size), dtype)
    return [
        values(address + index * strides[0] * size, shape[1:], strides[1:], dtype)
        for index in range(shape[0])
    ]


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
