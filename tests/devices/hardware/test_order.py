"""Exchanges with a partner on non-default streams: a long kernel delays the write, so that a reader
that does not wait sees the old value.

Values are compared as counts: if CI is set, pytest prints the full diff of two long lists, which
takes minutes when every element differs."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from devices.hardware.conftest import Busy, Delay, begin_write
from devices.hardware.gpu_partners import (
    COUNT,
    DEVICE,
    NEW,
    OLD,
    Driver,
    Jax,
    Memory,
    Partner,
    data_of,
    full,
)

import refarray as ra

pytestmark = pytest.mark.hardware


def theirs_being_written(partner: Partner, delay: Delay, is_busy: Busy) -> tuple[Any, Any]:
    """A partner's array whose last write is unfinished, and the stream of that write."""
    stream = partner.stream()
    if isinstance(partner, Jax):
        return partner.slowly(NEW), stream
    array = partner.full(OLD, stream)
    if partner.has_streams:
        partner.fill(array, OLD, stream)  # compiles and loads the kernel before the delay
    ra.synchronize(DEVICE)
    if partner.has_streams:
        delay(partner.handle(stream))
        partner.fill(array, NEW, stream)
        assert is_busy(partner.handle(stream))
    return array, stream


def expected(partner: Partner) -> float:
    return NEW if partner.has_streams or isinstance(partner, Jax) else OLD


@pytest.mark.needs("dlpack")
def test_we_wait_for_what_they_write(partner: Partner, delay: Delay, is_busy: Busy) -> None:
    array, stream = theirs_being_written(partner, delay, is_busy)
    with partner.on(stream), ra.use_stream(ra.Stream(DEVICE)):
        ours = ra.from_dlpack(array)
        copy = ours.copy()
        assert Counter(copy.to_device("cpu").tolist()) == {expected(partner): COUNT}


@pytest.mark.needs("import-dlpack")
def test_they_wait_for_what_we_write(partner: Partner, delay: Delay, is_busy: Busy) -> None:
    array, _ = begin_write(DEVICE, delay, is_busy)
    stream = partner.stream()
    with partner.on(stream):
        theirs = partner.take(array)
        assert Counter(partner.values(partner.copied(theirs, stream), stream)) == {NEW: COUNT}


@pytest.mark.needs("interface")
def test_we_wait_for_the_stream_of_their_interface(
    partner: Partner, delay: Delay, is_busy: Busy
) -> None:
    array, stream = theirs_being_written(partner, delay, is_busy)

    class OnlyInterface:
        """The interface without DLPack, which refarray would prefer."""

        __cuda_array_interface__ = None

        def __init__(self, interface: Any) -> None:
            self.__cuda_array_interface__ = interface
            self.kept = array

    with partner.on(stream):
        interface = array.__cuda_array_interface__
    with ra.use_stream(ra.Stream(DEVICE)):
        copy = ra.asarray(OnlyInterface(interface)).copy()
        assert Counter(copy.to_device("cpu").tolist()) == {expected(partner): COUNT}


@pytest.mark.needs("import-interface")
def test_they_wait_for_the_stream_of_our_interface(
    partner: Partner, delay: Delay, is_busy: Busy
) -> None:
    array, ours = begin_write(DEVICE, delay, is_busy)
    stream = partner.stream()
    with ra.use_stream(ours), partner.on(stream):
        theirs = partner.take_interface(array)
    with partner.on(stream):
        assert Counter(partner.values(partner.copied(theirs, stream), stream)) == {NEW: COUNT}


def check_memory_outlives(
    partner: Partner, delay: Delay, take: Callable[[ra.Array], Any], array: ra.Array
) -> None:
    stream = partner.stream()
    with partner.on(stream):
        theirs = take(array)
        partner.values(partner.copied(theirs, stream), stream)  # compiles before the delay
        if partner.has_streams:
            delay(partner.handle(stream))
        copy = partner.copied(theirs, stream)
    del theirs, array
    gc.collect()
    later = [full(OLD) for _ in range(8)]
    ra.current_stream(DEVICE).synchronize()
    with partner.on(stream):
        assert Counter(partner.values(copy, stream)) == {NEW: COUNT}
    del later


@pytest.mark.needs("import-dlpack")
def test_memory_outlives_their_queued_read(partner: Partner, delay: Delay) -> None:
    """The partner drops the array while its read is queued: the memory must not be reused yet."""
    array = full(NEW)
    ra.synchronize(DEVICE)
    held = [array]
    del array
    check_memory_outlives(partner, delay, partner.take, held.pop())


@pytest.mark.needs("driver")
def test_a_copy_is_made_in_their_stream(partner: Driver, delay: Delay, is_busy: Busy) -> None:
    """copy=True with a stream: the host does not wait, and the copy has the new value."""
    array, ours = begin_write(DEVICE, delay, is_busy)
    stream = partner.stream()
    capsule = array.__dlpack__(stream=stream, copy=True, max_version=(1, 3))
    assert is_busy(ours.handle)
    taken = Memory(partner.driver, data_of(capsule), 0, kept=capsule)
    assert Counter(partner.values(taken, stream)) == {NEW: COUNT}


@pytest.mark.needs("refarray")
def test_pinned_memory_is_ready_for_the_cpu(partner: Partner, delay: Delay, is_busy: Busy) -> None:
    """stream=None for host-accessible memory: the host waits."""
    pinned, _ = begin_write("cuda_host", delay, is_busy)
    ready = ra.from_capsule(pinned.__dlpack__(stream=None, max_version=(1, 3)))
    assert Counter(memoryview(ready).tolist()) == {NEW: COUNT}


@pytest.mark.needs("refarray")
def test_managed_memory_is_ready_for_the_cpu(partner: Partner, delay: Delay, is_busy: Busy) -> None:
    array, _ = begin_write("cuda_managed:0", delay, is_busy)
    assert Counter(ra.from_dlpack(array, device="cpu").tolist()) == {NEW: COUNT}
