"""Sorting and masks whose work threads share: the bits are those of one thread."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from helpers.cases import run_each
from helpers.signals import lateness
from oracles.switches import threads

import refarray as xp

SIZE = (1 << 20) + 7  # elements; threads share 4 MiB or more
DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


def bits(size: int, width: int, few: bool) -> xp.Array:
    """Random words; or few different ones, among them NaNs of several bits and both zeros."""
    source = random.Random(size)
    if not few:
        return xp.from_buffer(source.randbytes(size * width // 8), dtype=f"uint{width}")
    top = 1 << (width - 1)
    nan = 0x7FC00001 if width == 32 else 0x7FF8000000000001
    words = [0, top, nan, nan + 1, top | nan, 1, top | 1, 7, nan << 1 & (top - 1)]
    chosen = xp.from_buffer(source.randbytes(size), dtype="uint8")
    return xp.take(xp.asarray(words, dtype=f"uint{width}"), xp.astype(chosen, "int64") % len(words))


def results(call: Callable[[], xp.Array]) -> list[bytes]:
    found = []
    for count in (1, 2, 3, 8):
        with threads(count):
            found.append(bytes(memoryview(call()).cast("B")))
    return found


@run_each("few", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_shared_row_is_sorted_as_by_one_thread(dtype: str, few: bool) -> None:
    x = bits(SIZE, int(dtype[-2:]), few).view(dtype)
    for descending in (False, True):
        first, *others = results(lambda d=descending: xp.sort(x, descending=d))
        assert all(other == first for other in others)
    first, *others = results(lambda: xp.unique_values(x))
    assert all(other == first for other in others)


@run_each("dtype", ["uint8", "float32"])
def test_shared_rows_are_sorted_as_by_one_thread(dtype: str) -> None:
    x = bits(1030 * 4100, 8 if dtype == "uint8" else 32, False).view(dtype)
    for shape, axis in (((1030, 4100), 1), ((4100, 1030), 0), ((4, 1030 * 1025), 1)):
        for call in (xp.sort, xp.argsort):
            first, *others = results(lambda c=call, s=shape, a=axis: c(xp.reshape(x, s), axis=a))
            assert all(other == first for other in others)


@run_each("dtype", ["uint8", "float32", "complex128"])
def test_shared_masks_select_as_by_one_thread(dtype: str) -> None:
    for size in ((1 << 22), (1 << 22) + 7):
        mask = bits(size, 8, False) < xp.asarray(77, dtype="uint8")
        x = xp.astype(xp.arange(size), dtype)
        first, *others = results(lambda x=x, mask=mask: x[mask])
        assert all(other == first for other in others)
        assert first == bytes(memoryview(xp.take(x, xp.nonzero(mask)[0])).cast("B"))


def test_a_signal_handler_interrupts_shared_sorting() -> None:
    x = bits(1 << 23, 64, False)
    with threads(2):
        assert 0 < lateness(lambda: xp.sort(x), after=0.03) < 0.3
