"""assert_array_equal(): compares arrays of any two libraries, and says where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import refarray as ra
from refarray import Array

SHOWN = 5
"""Differences that a message lists."""


def read(array: Any, name: str) -> Array:
    """The array of refarray that shares or copies the elements; Python ints above int64 become
    uint64."""
    try:
        try:
            return ra.asarray(array)
        except OverflowError:
            return ra.asarray(array, dtype="uint64")
    except (TypeError, ValueError, BufferError, OverflowError) as error:
        raise TypeError(
            f"assert_array_equal(): {name} of type {type(array).__name__} is no array that can be "
            f"read: {error}"
        ) from error


def same(one: Any, other: Any) -> bool:
    """Whether two elements are equal, NaN to NaN; of complex numbers both parts, of vectors all
    lanes."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, complex) or isinstance(other, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    return bool(one == other) or (one != one and other != other)


def elements(array: Array) -> Iterator[tuple[tuple[int, ...], Any]]:
    """(index, element) in row-major order."""
    flat = ra.reshape(array, (array.size,)).tolist()
    return zip(product(*map(range, array.shape)), flat, strict=True)


def assert_array_equal(
    actual: Any, expected: Any, /, *, dtype: bool = True, device: bool = False
) -> None:
    """Raise AssertionError unless shape, dtype and every element are equal.

    Both may be arrays of any library, on any device, or nested lists, which need dtype=False where
    they do not give int64, float64, complex128 or bool; ints above int64 give uint64. NaN equals
    NaN, -0.0 equals 0.0.

    dtype: whether the dtypes have to be equal.
    device: whether the devices have to be equal.

    The message names the first elements that differ, with their indices. Raises TypeError for what
    is no array.
    """
    mine, theirs = read(actual, "actual"), read(expected, "expected")
    facts: list[tuple[str, object, object]] = [("shape", mine.shape, theirs.shape)]
    if dtype:
        facts.append(("dtype", mine.dtype, theirs.dtype))
    if device:
        facts.append(("device", mine.device, theirs.device))
    wrong = [
        f"{name}: {seen} is not the expected {wanted}"
        for name, seen, wanted in facts
        if seen != wanted
    ]
    if wrong:
        raise AssertionError("arrays differ in " + "\n  and ".join(wrong))
    mine, theirs = ra.to_device(mine, "cpu"), ra.to_device(theirs, "cpu")
    if mine.dtype == theirs.dtype and mine.tobytes() == theirs.tobytes():
        return
    differing = [
        f"at {index}: {one!r} is not the expected {other!r}"
        for (index, one), (_, other) in zip(elements(mine), elements(theirs), strict=True)
        if not same(one, other)
    ]
    if differing:
        more = [f"and {len(differing) - SHOWN} more"] if len(differing) > SHOWN else []
        raise AssertionError(
            f"{len(differing)} of {mine.size} elements differ\n  "
            + "\n  ".join([*differing[:SHOWN], *more])
        )
