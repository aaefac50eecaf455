"""Memory: valid accesses, allocation and free."""

from __future__ import annotations

import ctypes
import signal

import fakegpu
import pytest
from conftest import kinds, script
from fakegpu.driving import Cuda, DriverError, Hip, Number


def attributes(cuda: Cuda, pointer: int) -> tuple[int, int, int]:
    """(memory type, is managed, device ordinal)"""
    kind, managed, device = ctypes.c_uint(77), ctypes.c_uint(77), ctypes.c_int(77)
    wanted = (ctypes.c_int * 3)(2, 8, 9)
    data = (ctypes.c_void_p * 3)(*(ctypes.addressof(out) for out in (kind, managed, device)))
    cuda("cuPointerGetAttributes", 3, wanted, data, pointer)
    return kind.value, managed.value, device.value


@pytest.mark.parametrize("access", ["string_at({}, 1)", "memset({}, 0, 1)"])
def test_a_host_access_to_a_device_address_crashes(access: str) -> None:
    body = f"ctypes.{access.format('Cuda(drivers.cuda).memory()')}\n"
    assert script(body).returncode == -signal.SIGSEGV


def test_the_host_can_access_pinned_and_managed_memory(cuda: Cuda) -> None:
    for pointer in (cuda.pinned(), cuda.managed()):
        ctypes.memset(pointer, 3, 256)
        assert ctypes.string_at(pointer, 256) == b"\3" * 256


def test_new_memory_is_cd_and_freed_memory_dd(cuda: Cuda) -> None:
    memory = cuda.memory()
    assert fakegpu.peek(memory, 256) == b"\xcd" * 256
    cuda("cuMemFree_v2", memory)
    assert fakegpu.peek(memory, 256) == b"\xdd" * 256


def test_pooled_memory_is_filled_and_poisoned_in_the_streams_order(cuda: Cuda) -> None:
    stream = cuda.stream()
    fakegpu.hold(stream)
    memory = cuda.pooled(stream)
    cuda.fill(memory, stream, 6)
    cuda("cuMemFreeAsync", memory, stream)
    fakegpu.step(stream, 1)
    assert fakegpu.peek(memory, 2) == b"\xcd\xcd"
    fakegpu.step(stream, 1)
    assert fakegpu.peek(memory, 2) == b"\6\6"
    fakegpu.step(stream, 1)
    assert fakegpu.peek(memory, 2) == b"\xdd\xdd"
    assert not kinds()


def test_addresses_are_aligned_and_end_near_a_page_that_traps(cuda: Cuda) -> None:
    for size in (1, 255, 256, 257, 5000):
        memory = cuda.memory(size)
        assert memory % 256 == 0
        assert 4096 - (memory + size) % 4096 < 256 or (memory + size) % 4096 == 0


def test_an_access_past_the_end_is_reported(cuda: Cuda) -> None:
    stream, memory = cuda.stream(), cuda.memory(100)
    cuda.fill(memory, stream, size=101)
    assert kinds() == ["out-of-bounds"]
    fakegpu.run()


@pytest.mark.parametrize("waits", [False, True])
def test_a_free_before_a_pending_use_is_early(cuda: Cuda, waits: bool) -> None:
    owner, user = cuda.stream(), cuda.stream()
    memory = cuda.pooled(owner)
    cuda.after(user, owner)
    cuda.fill(memory, user)
    if waits:
        cuda.after(owner, user)
    cuda("cuMemFreeAsync", memory, owner)
    told = [(v["kind"], v["first"]["call"], v["second"]["call"]) for v in fakegpu.violations()]
    assert told == ([] if waits else [("early-free", "cuMemsetD8Async", "cuMemFreeAsync")])


def test_pooled_memory_must_not_be_used_before_its_allocation(cuda: Cuda) -> None:
    owner, user = cuda.stream(), cuda.stream()
    memory = cuda.pooled(owner)
    cuda.fill(memory, user)
    assert kinds() == ["use-before-allocation"]


def test_a_use_after_free_is_reported(cuda: Cuda) -> None:
    stream = cuda.stream()
    memory = cuda.pooled(stream)
    cuda("cuMemFreeAsync", memory, stream)
    cuda.fill(memory, stream)
    assert kinds() == ["use-after-free"]


def test_a_second_free_fails(cuda: Cuda) -> None:
    memory = cuda.memory()
    cuda("cuMemFree_v2", memory)
    assert cuda.code("cuMemFree_v2", memory) == 1
    assert kinds() == ["double-free"]


def test_a_free_of_another_address_fails(cuda: Cuda) -> None:
    memory = cuda.memory()
    assert cuda.code("cuMemFree_v2", memory + 8) == 1
    assert cuda.code("cuMemFreeHost", memory) == 1
    assert cuda.code("cuMemFreeAsync", memory, cuda.stream()) == 1  # not from a pool
    assert "bad-pointer" in kinds()


@pytest.mark.parametrize(("waits", "told"), [(True, []), (False, ["early-free"])])
def test_a_synchronous_free_waits_for_the_device_or_does_not(
    cuda: Cuda, waits: bool, told: list[str]
) -> None:
    fakegpu.configure(cuda_free_waits=waits)
    memory = cuda.memory()
    cuda.fill(memory, cuda.stream())
    cuda("cuMemFree_v2", memory)
    assert kinds() == told


def test_a_free_of_pinned_memory_does_not_wait(cuda: Cuda) -> None:
    pinned, stream = cuda.pinned(), cuda.stream()
    cuda.copy(pinned, cuda.memory(), stream)
    cuda("cuMemFreeHost", pinned)
    assert kinds() == ["early-free"]


def test_addresses_are_reused_at_once_if_configured(cuda: Cuda) -> None:
    stream = cuda.stream()
    assert cuda.memory() != cuda.memory()
    fakegpu.configure(reuse=True)
    first = cuda.pooled(stream)
    cuda("cuMemFreeAsync", first, stream)
    assert cuda.pooled(stream) == first
    assert not kinds()


def test_an_address_is_not_reused_before_its_free_is_ordered(cuda: Cuda) -> None:
    fakegpu.configure(reuse=True)
    one, other = cuda.stream(), cuda.stream()
    first = cuda.pooled(one)
    cuda("cuMemFreeAsync", first, one)
    assert cuda.pooled(other) != first
    cuda.after(other, one)
    assert cuda.pooled(other) == first


def test_a_late_use_of_a_reused_address_is_reported(cuda: Cuda) -> None:
    fakegpu.configure(reuse=True)
    owner, late = cuda.stream(), cuda.stream()
    memory = cuda.pooled(owner)
    cuda.after(late, owner)
    cuda("cuMemFreeAsync", memory, owner)
    assert cuda.pooled(owner) == memory
    cuda.fill(memory, late)
    assert kinds() == ["use-before-allocation"]


def test_freed_memory_traps_device_accesses_if_configured() -> None:
    body = (
        "cuda = Cuda(drivers.cuda)\nfakegpu.configure(unmap=True)\n"
        "stream, memory = cuda.stream(), cuda.memory()\nfakegpu.hold(stream)\n"
        "cuda.fill(memory, stream)\ncuda('cuMemFree_v2', memory)\nfakegpu.run()\n"
    )
    assert script(body).returncode == -signal.SIGSEGV


def test_allocation_fails_when_the_device_is_full(cuda: Cuda) -> None:
    total, free = Number(), Number()
    cuda("cuMemGetInfo_v2", free, total)
    assert free.value == total.value == 2**31
    assert cuda.code("cuMemAlloc_v2", Number(), 2**31 + 1) == 2
    memory = cuda.memory(2**20)
    cuda("cuMemGetInfo_v2", free, total)
    assert free.value == 2**31 - 2**20
    cuda("cuMemFree_v2", memory)
    assert cuda.code("cuMemAlloc_v2", Number(), 0) == 1


def test_pointer_attributes(cuda: Cuda) -> None:
    cuda.use(1)
    assert attributes(cuda, cuda.memory() + 17) == (2, 0, 1)
    assert attributes(cuda, cuda.pinned()) == (1, 0, 1)
    assert attributes(cuda, cuda.managed()) == (2, 1, 1)
    own = ctypes.create_string_buffer(8)
    assert attributes(cuda, ctypes.addressof(own))[0] == 0
    assert cuda.code("cuPointerGetAttribute", ctypes.c_uint(), 2, ctypes.addressof(own)) == 1


def test_every_allocation_has_an_id_of_its_own(cuda: Cuda) -> None:
    fakegpu.configure(reuse=True)
    stream, ids = cuda.stream(), []
    for _ in range(2):
        memory, number = cuda.pooled(stream), Number()
        cuda("cuPointerGetAttribute", number, 7, memory)
        ids.append((memory, number.value))
        cuda("cuMemFreeAsync", memory, stream)
    assert ids[0][0] == ids[1][0] and ids[0][1] != ids[1][1]


def test_pageable_memory_is_read_during_the_call(cuda: Cuda) -> None:
    stream, memory = cuda.stream(), cuda.memory()
    own = ctypes.create_string_buffer(b"a" * 256, 256)
    fakegpu.hold(stream)
    cuda("cuMemcpyHtoDAsync_v2", memory, own, 256, stream)
    own[0] = b"z"
    fakegpu.run()
    assert fakegpu.peek(memory, 2) == b"aa"


def test_a_copy_to_pageable_memory_waits(cuda: Cuda) -> None:
    stream, memory = cuda.stream(), cuda.memory()
    own = ctypes.create_string_buffer(256)
    cuda.fill(memory, stream, 8)
    cuda("cuMemcpyDtoHAsync_v2", own, memory, 256, stream)
    assert own.raw == b"\x08" * 256


def test_rows_are_copied_with_their_pitch(hip: Hip) -> None:
    stream, memory = hip.stream(), hip.memory(64)
    hip("hipMemsetAsync", memory, 0, 64, stream)
    own = ctypes.create_string_buffer(b"abcdefgh", 8)
    hip("hipMemcpy2DAsync", memory, 16, own, 2, 2, 4, 1, stream)
    hip("hipStreamSynchronize", stream)
    assert fakegpu.peek(memory, 64)[::16] == b"aceg"
    assert fakegpu.peek(memory + 1, 63)[::16] == b"bdfh"
    assert hip.code("hipMemcpy2DAsync", memory, 1, own, 2, 2, 4, 1, stream) == 1


def test_a_copy_rejects_a_device_address_as_host_memory(cuda: Cuda) -> None:
    stream, memory, other = cuda.stream(), cuda.memory(), cuda.memory()
    with pytest.raises(DriverError, match="returned 1"):
        cuda("cuMemcpyHtoDAsync_v2", other, memory, 256, stream)
    assert kinds() == ["device-pointer-as-host"]


def test_a_kernel_needs_access_to_another_devices_memory(cuda: Cuda) -> None:
    far = cuda.memory()
    cuda.use(1)
    stream, increment = cuda.stream(), cuda.kernel("fakegpu_increment")
    cuda.launch(increment, stream, far, 4)
    assert kinds() == ["no-peer-access"]
    fakegpu.reset()
    cuda("cuCtxEnablePeerAccess", cuda.contexts[0], 0)
    assert cuda.code("cuCtxEnablePeerAccess", cuda.contexts[0], 0) == 704
    cuda.launch(increment, stream, far, 4)
    fakegpu.run()
    assert not kinds()
    assert fakegpu.peek(far, 4) == b"\xcf\xcd\xcd\xcd"


def test_memory_of_another_vendor_is_reported(cuda: Cuda) -> None:
    hip = Hip(fakegpu.Drivers.here(hip_version="6.3").hip)
    hip.fill(cuda.memory(), hip.stream())
    assert kinds() == ["wrong-vendor"]


def test_declared_host_accesses_are_checked(cuda: Cuda) -> None:
    pinned, stream = cuda.pinned(), cuda.stream()
    cuda.copy(pinned, cuda.memory(), stream)
    fakegpu.touch(pinned, 256)
    assert kinds() == ["race"]
    fakegpu.reset()
    cuda.copy(pinned, cuda.memory(), stream)
    cuda.synchronize(stream)
    fakegpu.touch(pinned, 256, write=True)
    assert not kinds()


def test_registered_memory_is_ordered_like_any_other(cuda: Cuda) -> None:
    own = ctypes.create_string_buffer(256)
    address, stream = ctypes.addressof(own), cuda.stream()
    cuda("cuMemHostRegister_v2", address, 256, 0)
    assert attributes(cuda, address)[0] == 1
    cuda.copy(address, cuda.memory(), stream)
    cuda("cuMemHostUnregister", address)
    assert kinds() == ["early-free"]
    fakegpu.run()
    assert attributes(cuda, address)[0] == 0


def test_live_lists_all_objects(cuda: Cuda) -> None:
    before = len(fakegpu.live())
    stream, event, memory = cuda.stream(), cuda.event(), cuda.memory()
    assert {item["what"] for item in fakegpu.live()} == {"context", "event", "memory", "stream"}
    cuda("cuMemFree_v2", memory)
    cuda("cuEventDestroy_v2", event)
    cuda("cuStreamDestroy_v2", stream)
    assert len(fakegpu.live()) == before


def test_nothing_can_be_allocated_and_freed(cuda: Cuda) -> None:
    nothing = Number(77)
    cuda("cuMemAllocAsync", nothing, 0, 1)
    assert nothing.value == 0
    cuda("cuMemFreeAsync", 0, 1)
    assert not fakegpu.violations()


def test_memory_of_a_pool_has_no_context(cuda: Cuda) -> None:
    for memory, context in ((cuda.memory(), cuda.contexts[0]), (cuda.pooled(1), 0)):
        found = Number(77)
        cuda("cuPointerGetAttribute", found, 1, memory)
        assert found.value == context
