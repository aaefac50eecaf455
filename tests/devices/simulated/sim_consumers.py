"""Consumers' streams: handles that drivers reuse, CUDA contexts of their own, streams that capture;
and driver calls for memory that consumers used, which are made without the GIL."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import fakegpu
import pytest
from capturing import (
    MODES,
    SETTINGS,
    SIZE,
    Captures,
    Interface,
    address_of,
    capturing,
    driver_of,
    legacy_handle,
    waits,
)
from fakegpu.driving import Driver
from helpers.processes import printed

import refarray as ra
from refarray import Stream, use_stream
from refarray.conformance import _adversary as adversary


class Owned:
    """Another library's tensor over memory of refarray. `freed`: its deleter has been called."""

    def __init__(self, array: ra.Array) -> None:
        self.freed = False

        def free() -> None:
            self.freed = True
            kept.clear()

        kept = [array]
        self.tensor = adversary.make(
            device=array.device.dlpack,
            data=address_of(array),
            shape=array.shape,
            dtype=(1, 8, 1),
            deleter=free,
        )


# --- Handles


def test_a_handle_identifies_a_stream_while_its_stream_object_lives(device: str) -> None:
    """Drivers give the handle of a destroyed stream to the next one, which must wait for work in
    the old one. Only the owner of the Stream object promises that the stream is still the same."""
    driver = driver_of(device)
    raw = driver.stream()
    source = ra.ones((SIZE,), dtype="uint8", device=device)
    ra.synchronize(device)
    stream = Stream(device, raw)
    with use_stream(stream):
        array, other = source.copy(), source.copy()
        fakegpu.reset()
        array[:8] = other[:8]
        assert raw not in waits()  # the same object
    reused = Stream(device, raw)
    fakegpu.reset()
    with use_stream(reused):
        array[:8] = array[8:16]
    relays = 1 if device.startswith("rocm") else 0  # a stream that stays takes over the order
    assert raw in waits() and len(set(waits())) == 1 + relays
    fakegpu.reset()
    array.__dlpack__(stream=raw)
    assert waits() == [raw]
    ra.synchronize(device)
    del source, array, other, stream, reused
    driver.destroy(raw)


def test_reads_in_ever_new_streams_do_not_pile_up(device: str, driver: Driver) -> None:
    """A write waits for the reads that have not finished, not for every read there was."""
    raw = driver.stream()
    source = ra.ones((SIZE,), dtype="uint8", device=device)
    ra.synchronize(device)
    for _ in range(200):
        with use_stream(Stream(device, raw)):
            source.copy()
        ra.synchronize(device)
    fakegpu.reset()
    with use_stream(Stream(device)):
        source[...] = 2
    assert len(waits()) < 40
    ra.synchronize(device)
    del source
    driver.destroy(raw)


# --- CUDA contexts other than the primary one


VERSION = SETTINGS.get("cuda_version", 12080)
#: What becomes of the context once the array has been released; the last before that.
ENDS = ["works on", "destroyed", *(["destroyed first"] if VERSION >= 12050 else [])]


class OtherContext:
    """A context of cuCtxCreate() with a stream; the primary context is current again afterwards."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.handle = driver.made("cuCtxCreate_v2", 0, 0)
        self.stream = driver.stream()
        driver("cuCtxPopCurrent_v2", None)

    def copy(self, to: int, source: int) -> None:
        self.driver("cuCtxPushCurrent_v2", self.handle)
        self.driver.copy(to, source, self.stream, SIZE)
        self.driver("cuCtxPopCurrent_v2", None)

    def synchronize(self) -> None:
        self.driver("cuCtxPushCurrent_v2", self.handle)
        self.driver("cuCtxSynchronize")
        self.driver("cuCtxPopCurrent_v2", None)

    def destroy(self) -> None:
        self.driver("cuCtxDestroy_v2", self.handle)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", ["own", "imported"])
def test_memory_is_kept_for_a_consumer_in_another_context(kind: str, end: str) -> None:
    """Events and waits for a device cover its primary context only: memory that a consumer reads in
    another one is freed after that context's work, which ends with the context. Before CUDA 12.5
    the context must live until the memory is free."""
    driver = driver_of("cuda:0")
    other = OtherContext(driver)
    target = driver.memory(SIZE)
    array, is_alive = seventh(kind, driver)
    ra.synchronize("cuda:0")
    array.__dlpack__(stream=other.stream)
    fakegpu.hold(other.stream)
    other.copy(target, address_of(array))
    if end == "destroyed first":
        fakegpu.run()
        other.synchronize()
        other.destroy()
    del array
    gc.collect()
    later = [ra.full((SIZE,), 3, dtype="uint8", device="cuda:0") for _ in range(3)]
    is_ordered = VERSION >= 12050 and SETTINGS.get("pools", True)
    assert is_alive() or (kind == "own" and is_ordered) or end == "destroyed first"
    fakegpu.run()
    assert fakegpu.peek(target, SIZE) == b"\7" * SIZE
    if VERSION < 12050:
        ra.synchronize("cuda:0")
    if end == "destroyed":
        other.destroy()
    ra.synchronize("cuda:0")
    assert not is_alive()
    if end == "works on":
        other.destroy()
    del later
    driver.free(target)


@pytest.mark.skipif(SETTINGS.get("cuda_version", 12080) < 12050, reason="no green contexts")
@pytest.mark.parametrize("kind", ["own", "imported"])
def test_a_consumer_in_a_green_context_is_one_of_the_device(kind: str) -> None:
    """The device's waits and events cover it. It is not made current: it may be current to one
    thread at a time, and here it is to another one."""
    driver = driver_of("cuda:0")
    resource = (ctypes.c_int * 64)()
    driver("cuDeviceGetDevResource", 0, resource, 1)
    description = driver.made("cuDevResourceGenerateDesc", resource, 1)
    green = driver.made("cuGreenCtxCreate", description, 0, 1)
    context = driver.made("cuCtxFromGreenCtx", green)
    stream = driver.made("cuGreenCtxStreamCreate", green, 1, 0)
    ready, done = threading.Event(), threading.Event()

    def keep_current() -> None:
        driver("cuCtxPushCurrent_v2", context)
        ready.set()
        done.wait(60)
        driver("cuCtxPopCurrent_v2", None)

    thread = threading.Thread(target=keep_current)
    thread.start()
    assert ready.wait(60)
    target = driver.memory(SIZE)
    array, is_alive = seventh(kind, driver)
    ra.synchronize("cuda:0")
    array.__dlpack__(stream=stream)
    fakegpu.hold(stream)
    driver.copy(target, address_of(array), stream, SIZE)
    del array
    gc.collect()
    later = [ra.full((SIZE,), 3, dtype="uint8", device="cuda:0") for _ in range(3)]
    assert kind == "own" or is_alive()
    fakegpu.run()
    ra.synchronize("cuda:0")
    assert fakegpu.peek(target, SIZE) == b"\7" * SIZE
    with use_stream(Stream("cuda:0", stream)):  # refarray can work in it too
        assert later[0][::-1].copy().tolist() == [3] * SIZE
    assert not is_alive() and not fakegpu.trace("cuStreamGetCtx")
    done.set()
    thread.join()
    ra.synchronize("cuda:0")
    del later
    driver.free(target)
    driver.destroy(stream)
    driver("cuGreenCtxDestroy", green)


@pytest.mark.parametrize("way", ["Stream", "to_device", "copy", "interface"])
def test_work_in_another_context_is_refused_when_its_stream_is_named(way: str) -> None:
    """Our events are of the primary context: the driver would refuse them after the work."""
    driver = driver_of("cuda:0")
    other = OtherContext(driver)
    array = ra.ones((SIZE,), dtype="uint8", device="cuda:0")
    ra.synchronize("cuda:0")
    described = {**array.__cuda_array_interface__, "stream": other.stream}
    named: dict[str, Callable[[], Any]] = {
        "Stream": lambda: Stream("cuda:0", other.stream),
        "to_device": lambda: array.to_device("cuda:0", stream=other.stream),
        "copy": lambda: array.__dlpack__(stream=other.stream, copy=True, max_version=(1, 3)),
        "interface": lambda: ra.asarray(Interface(described)),
    }
    before = len(fakegpu.live("memory"))
    with pytest.raises(BufferError, match="of a context of cuCtxCreate, not of the primary"):
        named[way]()
    assert len(fakegpu.live("memory")) == before
    other.destroy()


def seventh(kind: str, driver: Driver) -> tuple[ra.Array, Callable[[], bool]]:
    """An array of sevens, and whether its memory is still allocated or not yet given back."""
    array = ra.full((SIZE,), 7, dtype="uint8", device="cuda:0")
    address = address_of(array)
    if kind == "own":
        return array, lambda: any(m["handle"] == address for m in fakegpu.live("memory"))
    owned = Owned(array)
    return ra.from_dlpack(owned.tensor), lambda: not owned.freed


# --- Captures


@pytest.mark.parametrize("way", ["stream=", "current stream"])
def test_a_free_spares_the_capture_of_a_stream_that_was_given(
    device: str, driver: Driver, captures: Captures, way: str
) -> None:
    """All work on the arrays was in that stream, so that the export has nothing to wait for."""
    consumer = driver.stream()
    source = ra.ones((SIZE,), dtype="uint8", device=device)
    with use_stream(Stream(device, consumer)):
        array = source.copy()
        imported = ra.from_dlpack(Owned(source.copy()).tensor)
    ra.synchronize(device)
    with captures(consumer):
        for x in (array, imported):
            if way == "stream=":
                x.__dlpack__(stream=consumer)
            else:
                with use_stream(Stream(device, consumer)):
                    ra._native._from_exchange_api(x)
        del x, array, imported
        gc.collect()
        free = Stream(device)
        with use_stream(free):
            ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    driver.destroy(consumer)


def test_a_free_spares_a_capture_that_began_after_the_last_work(
    device: str, driver: Driver, captures: Captures
) -> None:
    """All work on the arrays was in that stream, which has been current since before the capture:
    an export by the table has nothing to wait for. Still the capture is noticed, and so many frees
    do not make an allocation wait for the device."""
    consumer = driver.stream()
    source = ra.ones((SIZE,), dtype="uint8", device=device)
    arrays = [ra.empty((SIZE,), dtype="uint8", device=device) for _ in range(70)]
    with use_stream(Stream(device, consumer)):
        for array in arrays:
            array[...] = source
        driver.synchronize(consumer)  # HIP 7.0 keeps a stream for each event that is not done
        with captures(consumer):
            while arrays:
                ra._native._from_exchange_api(arrays[-1])
                arrays.pop()
            del array
            gc.collect()
            with use_stream(Stream(device)):
                ra.zeros((SIZE,), device=device)
    ra.synchronize(device)
    driver.destroy(consumer)


def test_a_wait_for_the_device_ends_the_caution_after_a_capture(device: str) -> None:
    """While another library's stream may capture, deferred frees do not make allocations wait for
    the device. synchronize() shows that it does not: then many of them do again."""
    driver = driver_of(device)
    consumer, others = driver.stream(), driver.stream()
    with capturing(driver, consumer, MODES["relaxed"]):
        with use_stream(Stream(device, consumer)):
            pass  # refarray sees the capture
        with use_stream(Stream(device)):
            ra.zeros((3,), device=device)
    ra.synchronize(device)
    before = len(fakegpu.live("memory"))
    for _ in range(600):
        ra.empty((3,), device=device).__dlpack__(stream=others)
    assert len(fakegpu.live("memory")) < before + 300
    ra.synchronize(device)
    driver.destroy(consumer)
    driver.destroy(others)


# --- Frees


@pytest.mark.parametrize("stream", ["the default stream", "no synchronization"])
def test_memory_is_kept_for_a_consumer_that_had_nothing_to_wait_for(
    device: str, driver: Driver, stream: str
) -> None:
    """Its work is not that of the array's own streams."""
    legacy = legacy_handle(device)
    theirs = legacy if stream == "the default stream" else driver.stream()
    source = ra.full((SIZE,), 7, dtype="uint8", device=device)
    with use_stream(Stream(device)):
        array = ra.empty((SIZE,), dtype="uint8", device=device)
    array[...] = source
    ra.synchronize(device)
    target = driver.memory(SIZE)
    address = address_of(array)
    array.__dlpack__(stream=None if theirs == legacy else -1)
    driver.copy(target, address, theirs, SIZE)
    del array
    gc.collect()
    with use_stream(Stream(device)):
        later = [ra.full((SIZE,), 3, dtype="uint8", device=device) for _ in range(3)]
    fakegpu.run()
    ra.synchronize(device)
    assert fakegpu.peek(target, SIZE) == b"\7" * SIZE
    del later
    driver.free(target)
    if theirs != legacy:
        driver.destroy(theirs)


def test_memory_is_kept_for_a_consumer_on_a_stream_of_ours_on_another_device() -> None:
    """All work on the array was in that stream: managed memory is written by the device that the
    elements come from. The consumer gives the stream's handle, and works there."""
    driver = driver_of("cuda:0")
    far = Stream("cuda:1")
    array = ra.empty((SIZE,), dtype="uint8", device="cuda_managed:0")
    address = address_of(array)
    source = ra.full((SIZE,), 7, dtype="uint8", device="cuda:1")
    with use_stream(far):
        array[...] = source
    driver.use(1)
    target = driver.memory(SIZE)
    array.__dlpack__(stream=far.handle)
    driver.copy(target, address, far.handle, SIZE)
    driver.use(0)
    del array
    gc.collect()
    ra.synchronize("cuda:0")  # frees what it can
    far.synchronize()
    assert fakegpu.peek(target, SIZE) == b"\7" * SIZE
    driver.free(target)


GIVEN_BACK = """
import gc
import fakegpu
from sim_consumers import SIZE, Owned, address_of, driver_of
import refarray as ra

fakegpu.load(**SETTINGS)
driver = driver_of("cuda:0")
consumer, busy = driver.stream(), driver.stream()
source, target = ra.full((SIZE,), 7, dtype="uint8", device="cuda:0"), driver.memory(SIZE)
owned = Owned(source)
array = ra.from_dlpack(owned.tensor)
ra.synchronize("cuda:0")
array.__dlpack__(stream=consumer)
fakegpu.hold(consumer)
driver.copy(target, address_of(source), consumer, SIZE)
del array, source
gc.collect()
ra.empty((3,), device="cuda:0")
print(owned.freed)
fakegpu.run()
driver.synchronize(consumer)
fakegpu.hold(busy)
driver.fill(target, busy, 1, SIZE)
ra.empty((3,), device="cuda:0")
print(owned.freed)
fakegpu.run()
ra.synchronize("cuda:0")
print(owned.freed, fakegpu.violations())
"""


def test_imported_memory_is_given_back_after_the_consumers_work() -> None:
    """From CUDA 12.5 on an event covers what the consumers have queued, and nothing that other
    libraries queue later. In a process of its own, in which nobody has captured a graph."""
    code = GIVEN_BACK.replace("SETTINGS", repr({"cuda": 2, **SETTINGS}))
    said = printed(code, PYTHONPATH=os.pathsep.join(sys.path))
    by_event = int(SETTINGS.get("cuda_version", 12080)) >= 12050
    assert said.split("\n")[:3] == ["False", str(by_event), "True []"]


# --- The GIL


@pytest.mark.parametrize("use", ["none", "finished", "unfinished", "exported"])
def test_the_last_reference_calls_the_driver_without_the_gil(device: str, use: str) -> None:
    """For memory of refarray's and memory of another library."""
    driver = driver_of(device)
    consumer = driver.stream()
    for foreign in (False, True):
        array = ra.ones((SIZE,), dtype="uint8", device=device)
        ra.synchronize(device)
        if foreign:
            array = ra.from_dlpack(Owned(array).tensor)
        stream = Stream(device)
        if use == "unfinished":
            fakegpu.hold(stream.handle)
        if use in ("finished", "unfinished"):
            with use_stream(stream):
                array[:8] = 3
        if use == "exported":
            array.__dlpack__(stream=consumer)
        if use != "unfinished":
            fakegpu.run()
        before = len(fakegpu.trace())
        del array
        held = [r["call"] for r in fakegpu.trace()[before:] if r["gil"]]
        assert held == [], (foreign, held)
        fakegpu.run()
    ra.synchronize(device)
    driver.destroy(consumer)


# --- The legacy default stream


def test_a_free_does_not_make_the_legacy_stream_wait() -> None:
    """It is other libraries' stream too: PyTorch works in it by default."""
    array = ra.ones((SIZE,), dtype="uint8", device="cuda:0")  # in the legacy default stream
    stream = Stream("cuda:0")
    fakegpu.hold(stream.handle)
    with use_stream(stream):
        copy = array.copy()
    before = len(fakegpu.trace())  # not reset(), which would release held work
    del array
    assert 1 not in waits(before)
    fakegpu.run()
    ra.synchronize("cuda:0")
    assert copy.tolist() == [1] * SIZE
