"""Copies, conversions and computations have the bits that are recorded in same_bits.json, on every
processor: `python tests/gates/test_same_bits.py` writes the record."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import refarray as ra

pytestmark = pytest.mark.every_python

RECORD = Path(__file__).with_name("same_bits.json")
SCALARS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
#: Views whose copies take different kernels: transposes, steps, reversals, interleaved channels.
VIEWS: dict[str, Callable[[ra.Array], ra.Array]] = {
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-1],
    "every second": lambda x: x[:, ::2],
    "every third": lambda x: x[1::3, 2::3],
    "column block": lambda x: x[:, 5:37],
    "odd offset": lambda x: x[3:, 1:],
}
FUNCTIONS = (
    *("sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "atan", "log2", "log10", "expm1", "log1p"),
    *("sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos", "floor", "round", "sign"),
)
#: In float64 these are the C library's, whose last bit depends on its version and the processor.
OF_THE_C_LIBRARY = {"hypot", "asinh", "acosh", "atanh"}
REDUCTIONS = ("sum", "prod", "mean", "std", "max", "min", "cumulative_sum")


def noise(count: int, seed: str) -> bytearray:
    """The same bytes everywhere, without a library's random numbers."""
    return bytearray(hashlib.shake_256(seed.encode()).digest(count))


def numbers(dtype: str, shape: tuple[int, ...], seed: str) -> ra.Array:
    """An array of any bits, NaN with payloads, infinities and subnormals among them."""
    count = ra.zeros(shape, dtype=dtype).nbytes
    data = noise(count, f"{seed} {dtype}")
    if dtype == "bool":
        data = bytearray(byte & 1 for byte in data)
    return ra.reshape(ra.from_buffer(data, dtype=dtype), shape)


def small(dtype: str, shape: tuple[int, ...]) -> ra.Array:
    """Numbers from -8 to 8 in steps of 2⁻¹¹."""
    integers = numbers("int16", shape, "small")
    return ra.astype(integers, dtype) / 4096


def digest(array: ra.Array) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def copies() -> Iterator[tuple[str, ra.Array]]:
    for dtype in SCALARS:
        x = numbers(dtype, (101, 67), "copies")
        for name, view in VIEWS.items():
            yield f"copy {name} {dtype}", ra.copy(view(x))


def conversions() -> Iterator[tuple[str, ra.Array]]:
    for dtype in SCALARS:
        x = numbers(dtype, (1031,), "conversions")
        for to in SCALARS:
            if "complex" not in dtype or "complex" in to:
                yield f"astype {dtype} {to}", ra.astype(x, to)


def computations() -> Iterator[tuple[str, ra.Array]]:
    for dtype in ("float32", "float64"):
        x, y = small(dtype, (997,)), numbers(dtype, (997,), "computations")
        for function in FUNCTIONS:
            if dtype == "float32" or function not in OF_THE_C_LIBRARY:
                yield f"{function} {dtype}", nan_free(getattr(ra, function)(x))
        for name in ("add", "multiply", "divide", "pow", "atan2", "hypot", "remainder"):
            if dtype == "float64" and name in OF_THE_C_LIBRARY:
                continue
            yield f"{name} {dtype}", nan_free(getattr(ra, name)(x, ra.flip(x)))
            yield f"{name} of any bits {dtype}", nan_free(getattr(ra, name)(y, ra.flip(y)))
        for name in REDUCTIONS:
            yield f"{name} {dtype}", nan_free(ra.asarray(getattr(ra, name)(x)))
        matrix = small(dtype, (37, 61))
        yield f"matmul {dtype}", matrix @ matrix.T


def nan_free(x: ra.Array) -> ra.Array:
    """The standard leaves a NaN's sign and payload open, and processors differ: all become one."""
    return ra.where(ra.isnan(x), ra.asarray(float("nan"), dtype=x.dtype), x)


PARTS = {"copies": copies, "conversions": conversions, "computations": computations}


def record() -> dict[str, dict[str, str]]:
    return {part: {name: digest(x) for name, x in make()} for part, make in PARTS.items()}


@pytest.mark.parametrize("part", PARTS)
def test_bits_are_those_of_the_record(part: str) -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))[part]
    found = {name: digest(x) for name, x in PARTS[part]()}
    assert found == recorded


def test_record_would_show_one_changed_bit() -> None:
    x = numbers("float32", (64,), "one bit")
    before = digest(x)
    data = bytearray(x.tobytes())
    data[17] ^= 1
    assert digest(ra.from_buffer(data, dtype="float32")) != before


if __name__ == "__main__":
    RECORD.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
    sys.exit(0)
