"""Arrays of every dtype, and what a process says of an array that reached it."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.dtype_names import NAMES
from partners.grid import address

import refarray as ra

#: Every scalar dtype, an unpacked one, and two with lanes.
DTYPES = (*NAMES, "float4_e2m1fn_padded", "float32x4", "float4_e2m1fnx3")
#: A multiple of the size of each dtype, and more than what engines put into their messages.
NBYTES = 384 * 1024


def bytes_of(x: ra.Array) -> ra.Array:
    """The bytes of a contiguous array of any dtype, in the same memory."""
    return ra.from_buffer(x, dtype="uint8")


def sample(dtype: str, nbytes: int = NBYTES) -> ra.Array:
    """A matrix over bytes that take all values, NaNs and padding bits included."""
    top = 2 if dtype == "bool" else 251
    pattern = bytes(index * 37 % top for index in range(top))
    memory = bytearray((pattern * (nbytes // top + 1))[:nbytes])
    return ra.from_buffer(memory, dtype=dtype).reshape((2, -1))


@dataclass(frozen=True)
class Facts:
    """An array as a process sees it; `address` is that of its first element, on the CPU."""

    dtype: str
    shape: tuple[int, ...]
    values: bytes
    readonly: bool
    address: int
    device: str = "cpu"


def facts(x: ra.Array) -> Facts:
    at = address(x) if str(x.device) == "cpu" else 0
    return Facts(str(x.dtype), x.shape, x.tobytes(), x.readonly, at, str(x.device))


def assert_same(got: Facts, x: ra.Array) -> None:
    assert (got.dtype, got.shape) == (str(x.dtype), x.shape)
    assert got.values == x.tobytes()
