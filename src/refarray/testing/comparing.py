"""assert_array_equal(): compares arrays of any two libraries, and says where they differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import refarray as ra
from refarray import Array

SHOWN = 5
"""Differences that a message lists."""


@dataclass(frozen=True)
class Elements:
    """What is compared: an array on the CPU, or the numbers of a list that no dtype has."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any
    array: Array | None = None
    numbers: tuple[Any, ...] = ()

    def each(self) -> Iterable[Any]:
        """In row-major order."""
        if self.array is None:
            return self.numbers
        flat: list[Any] = ra.reshape(self.array, (self.array.size,)).tolist()
        return flat


def read(array: Any, name: str) -> Elements:
    """The elements of an array of any library, or of nested lists."""
    try:
        if isinstance(array, (int, list, tuple)):
            return of_list(array)
        found, device = to_host(array)
    except (TypeError, ValueError, BufferError, OverflowError) as error:
        raise TypeError(
            f"assert_array_equal(): {name} of type {type(array).__name__} is no array that can be "
            f"read: {error}"
        ) from error
    return Elements(found.shape, found.dtype, device, found)


def to_host(array: Any) -> tuple[Array, Any]:
    """The array on the CPU, shared or copied, and its device. That of a device which this process
    does not have, such as a virtual one, gives a copy itself."""
    try:
        found = ra.asarray(array)
    except BufferError:
        if not hasattr(array, "device"):
            raise
        return ra.from_dlpack(array, device="cpu"), array.device
    return ra.to_device(found, "cpu"), found.device


def of_list(items: Any) -> Elements:
    """Ints above int64 become uint64; beside negative ones they have no dtype."""
    for dtype in (None, "uint64"):
        try:
            found = ra.asarray(items, dtype=dtype)
        except OverflowError:
            continue
        return Elements(found.shape, found.dtype, found.device, found)
    shape = ra.asarray(blank(items)).shape
    return Elements(shape, "int", ra.Device("cpu"), numbers=tuple(flat(items, len(shape))))


def blank(items: Any) -> Any:
    """The same with 0 in the place of each int."""
    if isinstance(items, (list, tuple)):
        return [blank(item) for item in items]
    return 0 if isinstance(items, int) else items


def flat(items: Any, depth: int) -> Iterator[Any]:
    """The items of nested sequences."""
    if depth == 0:
        yield items
        return
    for item in items:
        yield from flat(item, depth - 1)


def with_lanes(vectors: Elements, other: Any) -> Elements:
    """Vectors beside a list: its innermost level has their lanes, as that of tolist()."""
    lanes = getattr(vectors.dtype, "lanes", 1)
    if lanes == 1 or not isinstance(other, (list, tuple)):
        return vectors
    numbers = tuple(chain.from_iterable(vectors.each()))
    return Elements((*vectors.shape, lanes), vectors.dtype, vectors.device, numbers=numbers)


def same(one: Any, other: Any) -> bool:
    """Whether two elements are equal, NaN to NaN; of complex numbers both parts, of vectors all
    lanes."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, complex) or isinstance(other, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    return bool(one == other) or (one != one and other != other)


def assert_array_equal(
    actual: Any, expected: Any, /, *, dtype: bool = True, device: bool = False
) -> None:
    """Raise AssertionError unless shape, dtype and every element are equal.

    Both may be arrays of any library, on any device, or nested lists, which need dtype=False where
    they do not give int64, float64, complex128 or bool; ints above int64 give uint64, and beside
    negative ones no dtype. A list beside vectors has their lanes as its innermost level, as that of
    tolist(). NaN equals NaN, -0.0 equals 0.0. Elements of a device, virtual ones included, are
    copied to the CPU: for a ledger a transfer.

    dtype: whether the dtypes have to be equal.
    device: whether the devices have to be equal.

    The message names the first elements that differ, with their indices. Raises TypeError for what
    is no array.
    """
    mine, theirs = read(actual, "actual"), read(expected, "expected")
    mine, theirs = with_lanes(mine, expected), with_lanes(theirs, actual)
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
    if mine.array is not None and theirs.array is not None and mine.dtype == theirs.dtype:
        is_same = mine.array.tobytes() == theirs.array.tobytes()
        if is_same:
            return
    places = product(*map(range, mine.shape))
    differing = [
        f"at {index}: {one!r} is not the expected {other!r}"
        for index, one, other in zip(places, mine.each(), theirs.each(), strict=True)
        if not same(one, other)
    ]
    if differing:
        more = [f"and {len(differing) - SHOWN} more"] if len(differing) > SHOWN else []
        raise AssertionError(
            f"{len(differing)} of {math.prod(mine.shape)} elements differ\n  "
            + "\n  ".join([*differing[:SHOWN], *more])
        )
