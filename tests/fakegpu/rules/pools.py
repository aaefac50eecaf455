"""Stream-ordered allocations and frees: they order their own memory and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import fakegpu
import pytest
from conftest import Gpu, kinds

DEFAULT, BLOCKING = 0, 0  # the legacy default stream; the flags of streams that it waits for


@pytest.fixture(autouse=True)
def pools(each: Gpu) -> None:
    fakegpu.configure(pools=True)


def pooled(each: Gpu, stream: int) -> int:
    return each.made("cuMemAllocAsync" if each.prefix == "cu" else "hipMallocAsync", 256, stream)


def free(each: Gpu, pointer: int, stream: int) -> None:
    each("cuMemFreeAsync" if each.prefix == "cu" else "hipFreeAsync", pointer, stream)


def fill_other(each: Gpu) -> None:
    each.fill(each.memory(), DEFAULT)


def free_other(each: Gpu) -> None:
    free(each, pooled(each, DEFAULT), DEFAULT)


def allocate_other(each: Gpu) -> None:
    pooled(each, DEFAULT)


@pytest.mark.parametrize(
    ("between", "told"), [(fill_other, []), (free_other, ["race"]), (allocate_other, ["race"])]
)
def test_only_work_in_the_legacy_stream_orders_blocking_streams(
    each: Gpu, between: Callable[[Gpu], None], told: list[str]
) -> None:
    """A free in the legacy stream hid a missing wait: it joined all blocking streams."""
    one, other, memory = each.stream(BLOCKING), each.stream(BLOCKING), each.memory()
    each.fill(memory, one)
    between(each)
    each.fill(memory, other)
    assert kinds() == told


@pytest.mark.parametrize("waits", [True, False])
def test_a_free_in_the_legacy_stream_waits_for_what_it_was_told_to(each: Gpu, waits: bool) -> None:
    user, memory = each.stream(BLOCKING), pooled(each, DEFAULT)
    each.after(user, DEFAULT)
    each.fill(memory, user)
    if waits:
        each.after(DEFAULT, user)
    free(each, memory, DEFAULT)
    assert kinds() == ([] if waits else ["early-free"])


def test_work_before_it_in_the_legacy_stream_is_in_order(each: Gpu) -> None:
    memory = pooled(each, DEFAULT)
    each.fill(memory, DEFAULT)
    free(each, memory, DEFAULT)
    assert not kinds()
