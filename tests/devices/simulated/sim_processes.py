"""Device memory and events between processes: what one does with them is ordered with what the
others do, nothing is lost when one ends, and each wrong partner is seen."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOM = tempfile.TemporaryDirectory(prefix="room-")
os.environ["FAKEGPU_ROOM"] = str(Path(ROOM.name) / "room")

import fakegpu  # noqa: E402
from capturing import (  # noqa: E402
    DEVICES,
    SETTINGS,
    address_of,
    capturing,
    host_of,
    vendor,
)
from fakegpu.driving import Driver  # noqa: E402
from sharing import UNIT, Partner, descriptors  # noqa: E402

import refarray as ra  # noqa: E402
import refarray.shared as shared  # noqa: E402

EVENT_BYTES = 88
DTYPES = ["bool", "int8", "uint64", "float16", "bfloat16", "complex128", "float8_e4m3fn"]
PACKED = ["float4_e2m1fn", "float6_e3m2fn", "float4_e2m1fn_padded", "float32x4"]


#: HIP before 6.2 exports no memory.
SHARING = DEVICES if SETTINGS.get("hip_version") != "5.2" else ["cuda:0"]


@pytest.fixture(params=SHARING)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def process(drivers: fakegpu.Drivers) -> Iterator[Partner]:
    partner = Partner()
    yield partner
    partner.end()


@pytest.fixture
def partner(process: Partner) -> Iterator[Partner]:
    """Another process with the same devices. Afterwards it has nothing left, and did no wrong."""
    yield process
    assert process.drop() == []
    assert process.violations() == []


def filled(device: str, value: float = 3, dtype: str = "float32") -> ra.Array:
    x = shared.empty(4, dtype, device=device)
    x[...] = value
    return x


def held_write(x: ra.Array, value: float) -> ra.Stream:
    """Work on the array that does not run until fakegpu.run()."""
    stream = ra.Stream(x.device)
    fakegpu.hold(stream.handle)
    with ra.use_stream(stream):
        x[...] = ra.full(x.shape, value, dtype=x.dtype, device=host_of(str(x.device)))
    return stream


# --- What arrives.


def test_an_array_arrives_as_it_is(partner: Partner, device: str) -> None:
    x = shared.zeros((4, 6), "int16", device=device)
    x[...] = 5
    assert partner.keep(x) == (device, (4, 6), "int16", (6, 1), False, True)
    assert partner.read() == [[5] * 6] * 4
    view = x[::-2, 1:4].as_readonly()
    assert partner.keep(view) == (device, (2, 3), "int16", (-12, 1), True, True)
    partner.keep(x)
    partner.write(7)
    assert x.to_device("cpu").tolist() == [[7] * 6] * 4


def test_every_dtype_arrives(partner: Partner, device: str) -> None:
    for dtype in (*DTYPES, *PACKED):
        x = shared.empty(9, dtype, device=device)
        assert partner.keep(x[1:])[1:3] == ((8,), str(x.dtype)), dtype
        given = partner.give()
        assert (given.dtype, given.shape, ra.shares_memory(given, x)) == (x.dtype, (8,), True)


def test_both_devices_of_a_vendor(partner: Partner, device: str) -> None:
    second = f"{vendor(device)}:1"
    assert partner.keep(filled(second, 4))[0] == second
    assert partner.read() == [4] * 4


def test_what_the_partner_made_comes_here(partner: Partner, device: str) -> None:
    x = partner.make(device, 8)
    assert (str(x.device), x.is_shared(), x.to_device("cpu").tolist()) == (device, True, [8] * 4)
    x[0] = 1
    ra.synchronize(device)
    assert partner.read() == [1, 8, 8, 8]


def test_one_process_maps_memory_once(partner: Partner, device: str) -> None:
    x = filled(device)
    partner.keep(x)
    assert partner.shares_memory(x[1:])  # a second handle of it
    back = partner.give()
    assert ra.shares_memory(back, x)
    assert address_of(back) == address_of(x)
    assert len([one for one in fakegpu.live("memory") if one["mapped"]]) == 1


def test_by_hand(partner: Partner, device: str) -> None:
    x = filled(device)
    handle = x.shared_handle()
    fds = handle.fds()
    message = handle.to_bytes()
    assert len(fds) == 1
    assert not os.get_inheritable(fds[0])
    assert partner.attach(message, os.getpid(), *fds)[0] == device
    os.close(fds[0])
    assert partner.read() == [3] * 4
    with pytest.raises(BufferError, match="needs its descriptor"):
        other = Partner()
        try:
            other.attach(message, os.getpid())
        finally:
            other.end()


def test_a_handle_object_goes_too(partner: Partner, device: str) -> None:
    handle = filled(device, 6).shared_handle()
    assert "float32" in repr(handle)
    partner.keep(shared.attach(handle))
    assert partner.read() == [6] * 4


def test_empty_arrays(partner: Partner, device: str) -> None:
    x = shared.zeros((0, 3), device=device)
    assert x.is_shared()
    assert partner.keep(x)[:2] == (device, (0, 3))


# --- The order of work.


def test_the_host_waits_before_a_handle_is_sent(partner: Partner, device: str) -> None:
    x = shared.zeros(4, "float32", device=device)
    stream = ra.Stream(device)
    with ra.use_stream(stream):
        x[...] = ra.full(4, 9, dtype="float32", device=host_of(device))
    partner.keep(x)
    assert stream.done
    assert partner.read() == [9] * 4


def test_a_sender_that_does_not_wait_is_seen(process: Partner, device: str) -> None:
    x = shared.zeros(4, "float32", device=device)
    ra.synchronize(device)
    stream = held_write(x, 9)
    process.raw_map(device, os.getpid(), ra._native._shared_descriptor(x))
    process.raw_fill(device)
    assert process.violations() == ["race"]
    fakegpu.run()
    stream.synchronize()
    process.raw_unmap(device)


def until(is_done: Callable[[], bool]) -> None:
    """HIP 7.0 to 7.2 are asked for an event through a stream, which arrives later."""
    latest = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < latest
        time.sleep(0.001)


def test_an_event_orders_later_work(partner: Partner, device: str) -> None:
    x = filled(device, 1)
    partner.keep(x)
    event = ra.Event(device, interprocess=True)
    partner.take_event(event)
    stream = held_write(x, 2)
    event.record(stream)
    partner.queue_copy(True)
    assert not partner.is_event_done()
    assert not event.done
    fakegpu.run()
    assert partner.copied() == [2] * 4
    until(partner.is_event_done)
    until(lambda: event.done)


def test_work_without_the_event_is_seen(process: Partner, device: str) -> None:
    x = filled(device, 1)
    process.keep(x)
    held_write(x, 2)
    process.queue_copy(False)
    fakegpu.run()
    process.copied()
    assert process.violations() == ["race"]
    assert process.drop() == []


def test_a_wait_means_the_record_before_it(process: Partner, device: str) -> None:
    """Of an event that is recorded again: the second record is not waited for."""
    x = filled(device, 1)
    process.keep(x)
    event = ra.Event(device, interprocess=True)
    process.take_event(event)
    stream = ra.Stream(device)
    event.record(stream)
    fakegpu.run()
    process.queue_copy(True)
    process.copied()
    assert process.violations() == []
    process.queue_copy(True)  # before the next record
    held_write(x, 2)
    fakegpu.run()
    process.copied()
    seen = fakegpu.violations()
    assert [one["kind"] for one in seen] == ["race"]
    assert "of process" in seen[0]["message"]
    fakegpu.reset()
    assert process.drop() == []
    process.violations()


def test_the_partner_records_and_this_process_waits(partner: Partner, device: str) -> None:
    x = filled(device, 1)
    event = ra.Event(device, interprocess=True)
    partner.keep(x)
    partner.take_event(event)
    partner.queue_write(5, True)
    stream = ra.Stream(device)
    stream.wait(event)
    with ra.use_stream(stream):
        result = ra.asarray(x, copy=True)
    assert not event.done
    partner.run()
    event.synchronize()
    until(lambda: event.done)
    assert result.to_device("cpu").tolist() == [5] * 4


def test_two_partners(partner: Partner, device: str) -> None:
    x = filled(device, 1)
    event = ra.Event(device, interprocess=True)
    third = Partner()
    try:
        for one in (partner, third):
            one.keep(x)
            one.take_event(event)
        partner.queue_write(4, True)
        third.queue_copy(True)
        partner.run()
        assert third.copied() == [4] * 4
        assert third.drop() == []
        assert third.violations() == []
    finally:
        third.end()


# --- Who ends first.


def test_memory_outlives_the_array_that_was_sent(partner: Partner, device: str) -> None:
    x = filled(device, 6)
    partner.keep(x)
    del x
    gc.collect()
    ra.synchronize(device)
    assert not fakegpu.live("allocation handle", "address range")
    assert partner.read() == [6] * 4


def test_a_free_waits_for_the_partners_own_work(partner: Partner, device: str) -> None:
    partner.keep(filled(device))
    partner.queue_write(2, False)
    assert partner.drop() == []  # and no violation of this: the fixture looks


def test_an_early_unmap_is_seen(process: Partner, device: str) -> None:
    x = filled(device)
    ra.synchronize(device)
    process.raw_map(device, os.getpid(), ra._native._shared_descriptor(x))
    process.raw_fill(device)
    process.raw_unmap(device, False)
    assert process.violations() == ["early-free"]


def test_a_use_after_the_unmap_is_seen(process: Partner, device: str) -> None:
    x = filled(device)
    ra.synchronize(device)
    process.raw_map(device, os.getpid(), ra._native._shared_descriptor(x))
    process.raw_unmap(device)
    process.raw_fill(device)
    assert process.violations() == ["use-after-free"]


def test_memory_that_no_device_may_access_is_seen(process: Partner, device: str) -> None:
    x = filled(device)
    ra.synchronize(device)
    process.raw_map(device, os.getpid(), ra._native._shared_descriptor(x), False)
    process.raw_fill(device)
    assert process.violations() == ["no-peer-access"]
    process.raw_unmap(device)


def test_a_sender_that_is_killed(device: str) -> None:
    other = Partner()
    x = other.make(device, 8)
    other.process.kill()
    other.process.join()
    assert x.to_device("cpu").tolist() == [8] * 4
    x[...] = 2
    assert x.to_device("cpu").tolist() == [2] * 4
    other.end()


def test_a_receiver_that_is_killed(device: str) -> None:
    x = filled(device)
    other = Partner()
    other.keep(x)
    other.queue_write(4, False)
    os.kill(other.process.pid, signal.SIGKILL)
    other.process.join()
    other.end()
    x[...] = 6
    assert x.to_device("cpu").tolist() == [6] * 4


def test_an_event_whose_maker_was_killed(device: str) -> None:
    """Nobody waits for ever for work of a process that has ended."""
    other = Partner()
    event = ra.Event(device, interprocess=True)
    other.keep(filled(device))
    other.take_event(event)
    other.queue_write(4, True)
    other.process.kill()
    other.process.join()
    other.end()
    event.synchronize()


def test_an_event_that_its_maker_destroys_is_seen(process: Partner, device: str) -> None:
    raw = process.raw_event(device)
    code = 2 if device.startswith("cuda") else 10
    uuid = ra.Event(device, interprocess=True).shared_handle()[8:24]
    event = shared.open_event(struct.pack("=4si", b"RED1", code) + uuid + raw)
    process.raw_destroy_event(device)
    event.synchronize()
    assert [one["kind"] for one in fakegpu.violations()] == ["bad-handle"]
    fakegpu.reset()
    process.violations()


def test_an_event_that_was_shared_is_kept(partner: Partner, device: str) -> None:
    event = ra.Event(device, interprocess=True)
    partner.take_event(event)
    del event
    gc.collect()
    partner.keep(filled(device))
    partner.queue_copy(True)
    assert partner.copied() == [3] * 4


# --- Bad input.


def test_what_is_not_shared_has_no_handle(device: str) -> None:
    x = ra.zeros(3, device=device)
    assert not x.is_shared()
    with pytest.raises(BufferError, match=r"shared\.asarray\(x\) copies it there"):
        x.shared_handle()
    y = shared.asarray(x)
    assert (str(y.device), y.is_shared(), shared.asarray(y) is y) == (device, True, True)
    pinned = shared.asarray(ra.zeros(3, device=host_of(device)))
    assert (str(pinned.device), pinned.is_shared()) == ("cpu", True)
    for kind in (host_of(device), "cuda_managed"):
        with pytest.raises(BufferError, match="no memory that other processes can map"):
            shared.zeros(3, device=kind)
    arena = shared.Arena()
    assert shared.arena_of(shared.asarray(x, arena=arena)) == arena
    with pytest.raises(ValueError, match="an arena is memory of the CPU"):
        shared.zeros(3, device=device, arena=arena)


@pytest.mark.parametrize(
    ("at", "wrong", "message"),
    [
        (4, b"\x41\0\0\0", "ndim is 65; it must be 0 to 64"),
        (8, b"\x01\0\0\0", "the type is 1; it must be 2 or 10"),
        (16, b"\x99" * 16, "device that this process does not have"),
        (48, b"\0" * 8, "nbytes is 0; it must be 1 to"),
        (48, b"\xff" * 8, "nbytes is 18446744073709551615"),
        (48, b"\x10" + b"\0" * 7, "nbytes is 16; the memory has"),
        (56, b"\xff" * 8, "first is -1"),
        (64, b"\x63", r"\(code 99, bits 32\) is not a type"),
        (72, b"\xff\xff\xff\x7f", "leave the block"),
    ],
)
def test_fields_of_a_handle(device: str, at: int, wrong: bytes, message: str) -> None:
    handle = filled(device).shared_handle()
    good = handle.to_bytes()
    assert shared.attach(good).shape == (4,)
    with pytest.raises(BufferError, match=message):
        shared.attach(good[:at] + wrong + good[at + len(wrong) :])


def test_lengths_of_a_handle(device: str) -> None:
    x = filled(device)
    good = x.shared_handle().to_bytes()
    for size in range(len(good)):
        with pytest.raises(BufferError):
            shared.attach(good[:size])
    with pytest.raises(BufferError, match="ndim 1 needs"):
        shared.attach(good + b"\0")
    with pytest.raises(ValueError, match="fds has 2 descriptors; this handle has 1"):
        shared.attach(good, fds=(0, 1))


def test_descriptors_of_something_else(device: str, tmp_path: Path) -> None:
    x = filled(device)
    good = x.shared_handle().to_bytes()
    unknown = good[:32] + b"\x07" * 16 + good[48:]  # as from another process
    large = shared.empty(UNIT + 1, "int8", device=device)
    read, write = os.pipe()
    folder = os.open(tmp_path, os.O_RDONLY)
    (tmp_path / "file").write_bytes(bytes(4 * UNIT))
    file = os.open(tmp_path / "file", os.O_RDWR)
    try:
        for fd in (read, write, folder, file, ra._native._shared_descriptor(large)):
            with pytest.raises(BufferError, match=f"descriptor {fd} is not of the handle's"):
                shared.attach(unknown, fds=(fd,))
    finally:
        for fd in (read, write, folder, file):
            os.close(fd)
    with pytest.raises(BufferError, match="is not open"):
        shared.attach(unknown, fds=(file,))


def test_a_device_that_the_receiver_lacks(device: str) -> None:
    other = Partner(cuda=1, hip=1)
    try:
        with pytest.raises(BufferError, match="device that this process does not have"):
            other.keep(filled(f"{vendor(device)}:1"))
    finally:
        other.end()


def test_nothing_is_left_of_many_arrays(partner: Partner, device: str) -> None:
    partner.keep(filled(device))
    before = descriptors(), partner.descriptors()
    for value in range(20):
        partner.keep(filled(device, value))
        assert partner.read() == [value] * 4
    gc.collect()
    ra.synchronize(device)
    after = descriptors(), partner.descriptors()
    assert after <= (before[0] + 1, before[1] + 1)


def test_sending_and_making_in_a_capture(driver: Driver, device: str, mode: int) -> None:
    x = filled(device)
    with ra.use_stream(ra.Stream(device)):
        x[...] = 2
    stream = ra.Stream(device)
    with capturing(driver, stream.handle, mode) as capture:
        with ra.use_stream(stream), pytest.raises(BufferError):
            shared.zeros(3, device=device)
        event = ra.Event(device, interprocess=True)
        with pytest.raises(BufferError, match="cannot be recorded in a graph capture"):
            event.record(stream)
        assert capture.state() == 1


def test_ledgers(device: str) -> None:
    x = filled(device)
    ra.synchronize(device)
    held = held_write(x, 2)
    with ra.Ledger(forbid=("synchronization",)), pytest.raises(ra.LedgerError):
        x.shared_handle().to_bytes()
    fakegpu.run()
    held.synchronize()


def test_out_of_memory(device: str) -> None:
    with pytest.raises(MemoryError, match="cannot allocate"):
        shared.empty(1 << 40, "int8", device=device)


def test_a_driver_without_such_memory(device: str) -> None:
    fakegpu.configure(shareable=0)
    try:
        with pytest.raises(BufferError, match="no memory that other processes can map"):
            shared.zeros(3, device=device)
    finally:
        fakegpu.configure(shareable=1)


def test_a_driver_that_is_too_old() -> None:
    for old in {*DEVICES} - {*SHARING}:
        with pytest.raises(BufferError, match="no memory that other processes can map"):
            shared.zeros(3, device=old)
        with pytest.raises(BufferError, match="no events that other processes can open"):
            ra.Event(old, interprocess=True)
        assert not ra.zeros(3, device=old).is_shared()


def calls_of(work: Any) -> int:
    fakegpu.reset()
    work()
    return fakegpu.calls()


def test_each_driver_call_fails_once(device: str) -> None:
    """Nothing of an array that could not be made is left: the fixture looks."""

    def make() -> None:
        shared.zeros(3, device=device)
        gc.collect()

    total = calls_of(make)
    failed = 0
    for k in range(1, total + 1):
        fakegpu.reset()
        fakegpu.fail("*", k, 999)
        try:
            make()
        except ra.DriverError:
            failed += 1
    fakegpu.reset()
    assert failed > 5


def test_an_attach_whose_calls_fail(partner: Partner, device: str) -> None:
    x = partner.make(device, 4)
    message = x.shared_handle().to_bytes()
    fd = os.dup(ra._native._shared_descriptor(x))
    del x
    gc.collect()
    ra.synchronize(device)
    try:
        total = calls_of(lambda: shared.attach(message, fds=(fd,)))
        for k in range(1, total + 1):
            fakegpu.reset()
            fakegpu.fail("*", k, 999)
            with contextlib.suppress(ra.DriverError):
                assert shared.attach(message, fds=(fd,)).shape == (4,)
        fakegpu.reset()
    finally:
        os.close(fd)


def test_events_that_cannot_be_shared(device: str) -> None:
    with pytest.raises(ValueError, match="timing and interprocess are both True"):
        ra.Event(device, timing=True, interprocess=True)
    with pytest.raises(BufferError, match="make it with interprocess=True"):
        ra.Event(device).shared_handle()
    good = ra.Event(device, interprocess=True).shared_handle()
    assert len(good) == EVENT_BYTES
    with pytest.raises(ra.DriverError):
        shared.open_event(good)  # in the same process
    for wrong, message in (
        (good[:-1], "has 87 bytes; that of an event has 88"),
        (b"\0" + good[1:], "this is no handle of an event"),
        (good[:4] + b"\x01" + good[5:], "the type is 1; it must be 2 or 10"),
        (good[:8] + b"\x99" * 16 + good[24:], "device that this process does not have"),
    ):
        with pytest.raises(BufferError, match=message):
            shared.open_event(wrong)
    with pytest.raises(TypeError, match="handle must be bytes, not str"):
        shared.open_event("x")  # type: ignore[arg-type]
    with pytest.raises(ra.DriverError):
        shared.open_event(good[:24] + bytes(64))


@pytest.mark.filterwarnings("ignore:.* is multi-threaded:DeprecationWarning")
def test_a_forked_child_is_refused(device: str) -> None:
    x = filled(device)
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            x.shared_handle().to_bytes()
        except Exception as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert "this process was forked" in pipe.read()
    os.wait()
