"""Host accesses to pinned and managed memory, which nothing declares: each mistake once, and a
correct program that differs in nothing else."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import fakegpu
import fakegpu.driving
import pytest
from conftest import Gpu, kinds
from fakegpu.driving import Cuda

SIZE, PAGE = 256, 4096
GLOBAL, HOST, SINGLE = 1, 2, 4  # associations of managed memory

HOW_TO_WAIT: dict[str, Callable[[Gpu, int, int], object]] = {
    "stream": lambda each, stream, event: each.synchronize(stream),
    "event": lambda each, stream, event: each(f"{each.prefix}EventSynchronize", event),
    "device": lambda each, stream, event: each(
        "cuCtxSynchronize" if each.prefix == "cu" else "hipDeviceSynchronize"
    ),
    "stream query": lambda each, stream, event: (
        fakegpu.run(), each(f"{each.prefix}StreamQuery", stream)
    ),
    "event query": lambda each, stream, event: (
        fakegpu.run(), each(f"{each.prefix}EventQuery", event)
    ),
}  # fmt: skip


def read(pointer: int) -> bytes:
    return ctypes.string_at(pointer, 1)


def write(pointer: int) -> None:
    ctypes.memset(pointer, 1, 1)


def filled(each: Gpu, stream: int) -> int:
    """Device memory with the number 7 in every byte, in the order of the stream."""
    memory = each.memory()
    each.fill(memory, stream)
    return memory


@pytest.fixture(params=["pinned", "managed"])
def host(each: Gpu, request: pytest.FixtureRequest) -> int:
    pointer: int = getattr(each, request.param)(SIZE)
    return pointer


@pytest.mark.parametrize("access", [read, write])
def test_an_access_before_the_device_has_written_is_a_race(
    each: Gpu, host: int, access: Callable[[int], object]
) -> None:
    stream = each.stream()
    each.copy(host, filled(each, stream), stream)
    access(host)
    [race] = fakegpu.violations()
    assert race["kind"] == "race"
    assert race["first"]["call"] == f"{each.prefix}MemcpyAsync"
    assert race["second"]["call"] == f"host {access.__name__}"
    assert race["pointer"] == host


@pytest.mark.parametrize("how", HOW_TO_WAIT)
@pytest.mark.parametrize("access", [read, write])
def test_an_access_after_a_wait_is_in_order(
    each: Gpu, host: int, access: Callable[[int], object], how: str
) -> None:
    stream, event = each.stream(), each.event()
    each.copy(host, filled(each, stream), stream)
    each.record(event, stream)
    HOW_TO_WAIT[how](each, stream, event)
    access(host)
    assert not kinds()
    assert read(host + 1) == b"\7"


def test_a_wait_for_another_stream_is_no_wait(each: Gpu, host: int) -> None:
    stream, other = each.stream(), each.stream()
    each.copy(host, filled(each, stream), stream)
    each.fill(each.memory(), other)
    each.synchronize(other)
    read(host)
    assert kinds() == ["race"]


def test_a_wait_does_not_cover_later_work(each: Gpu, host: int) -> None:
    stream = each.stream()
    memory = filled(each, stream)
    each.copy(host, memory, stream)
    each.synchronize(stream)
    each.copy(host, memory, stream)
    read(host)
    assert kinds() == ["race"]


def test_the_result_may_happen_to_be_right(each: Gpu, host: int) -> None:
    stream = each.stream()
    each.copy(host, filled(each, stream), stream)
    fakegpu.run()  # no ordering
    assert read(host) == b"\7"
    assert kinds() == ["race"]


def test_the_host_may_read_what_the_device_reads(each: Gpu, host: int) -> None:
    stream = each.stream()
    write(host)
    each.copy(each.memory(), host, stream)
    assert read(host) == b"\1"
    assert not kinds()
    write(host)
    assert kinds() == ["race"]


def test_work_of_a_graph_closes_the_memory(each_cuda: Cuda) -> None:
    cuda, stream, graph = each_cuda, each_cuda.stream(), fakegpu.driving.Number()
    host, memory = cuda.pinned(), filled(each_cuda, stream)
    cuda("cuStreamBeginCapture_v2", stream, 2)
    cuda.copy(host, memory, stream)
    cuda("cuStreamEndCapture", stream, graph)
    read(host)
    assert not kinds()
    cuda("cuGraphLaunch", cuda.made("cuGraphInstantiateWithFlags", graph.value, 0), stream)
    read(host)
    assert kinds() == ["race"]


def test_other_allocations_stay_open(each: Gpu, host: int) -> None:
    stream, beside = each.stream(), each.pinned()
    each.copy(host, filled(each, stream), stream)
    write(beside)
    assert not kinds()


def test_only_the_bytes_in_use_are_a_race(each: Gpu) -> None:
    """A fault names one byte: bytes of the same page that no device uses are free."""
    stream, host = each.stream(), each.pinned(2 * PAGE)
    each.copy(host, filled(each, stream), stream)
    write(host + SIZE)
    write(host + PAGE)
    assert not kinds()


def test_a_use_after_free_by_the_host_is_reported(each: Gpu) -> None:
    host = each.pinned()
    write(host)
    each("cuMemFreeHost" if each.prefix == "cu" else "hipHostFree", host)
    assert read(host) == b"\xdd"
    assert kinds() == ["use-after-free"]


def test_a_host_function_is_in_its_streams_order(each_cuda: Cuda) -> None:
    cuda, stream, seen = each_cuda, each_cuda.stream(), []
    host = cuda.pinned()
    cuda.copy(host, filled(cuda, stream), stream)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    function = kind(lambda _: seen.append(read(host)))
    cuda("cuLaunchHostFunc", stream, function, None)
    cuda.synchronize(stream)
    assert seen == [b"\7"] and not kinds()


@pytest.fixture
def running(each: Gpu) -> int:
    """A stream in which a kernel may run, on memory of its own; the host may not touch managed
    memory meanwhile."""
    fakegpu.configure(concurrent_managed=False)
    stream = each.stream()
    memory = filled(each, stream)
    each.launch(each.kernel("fakegpu_increment"), stream, memory, 4)
    return stream


@pytest.mark.parametrize("access", [read, write])
def test_managed_memory_is_the_devices_while_a_kernel_runs(
    each: Gpu, running: int, access: Callable[[int], object]
) -> None:
    managed = each.managed()
    access(managed)
    assert kinds() == ["managed-access"]


@pytest.mark.parametrize("access", [read, write])
def test_managed_memory_is_the_hosts_after_a_wait(
    each: Gpu, running: int, access: Callable[[int], object]
) -> None:
    managed = each.managed()
    each.synchronize(running)
    access(managed)
    each.fill(each.memory(), running)  # not a kernel
    access(managed)
    assert not kinds()


def test_a_device_that_shares_managed_memory_says_so(each: Gpu) -> None:
    attribute, said = 89 if each.prefix == "cu" else 9, ctypes.c_int(77)
    for sharing in (True, False):
        fakegpu.configure(concurrent_managed=sharing)
        each(f"{each.prefix}DeviceGetAttribute", said, attribute, 0)
        assert bool(said.value) == sharing
    fakegpu.configure(concurrent_managed=True)
    each.launch(each.kernel("fakegpu_increment"), each.stream(), each.memory(), 4)
    write(each.managed())
    assert not kinds()


def attach(each: Gpu, stream: int, pointer: int, flags: int, size: int = 0) -> int:
    return each.code(f"{each.prefix}StreamAttachMemAsync", stream, pointer, size, flags)


def test_memory_of_one_stream_is_the_hosts_while_others_run(each: Gpu, running: int) -> None:
    own, managed = each.stream(), each.managed()
    assert attach(each, own, managed, SINGLE) == 0
    each.synchronize(own)
    write(managed)
    assert not kinds()
    increment = each.kernel("fakegpu_increment")
    each.launch(increment, own, managed, 4)
    each.synchronize(own)
    write(managed)
    assert not kinds()
    each.launch(increment, own, each.memory(), 4)
    write(managed)
    assert kinds() == ["managed-access"]


def test_a_kernel_of_another_stream_may_not_use_it(each: Gpu, running: int) -> None:
    own, managed = each.stream(), each.managed()
    assert attach(each, own, managed, SINGLE) == 0
    each.after(running, own)
    each.launch(each.kernel("fakegpu_increment"), running, managed, 4)
    assert kinds() == ["managed-attach"]


def test_no_kernel_may_use_the_hosts_memory_until_it_is_attached(each: Gpu, running: int) -> None:
    name = "cuMemAllocManaged" if each.prefix == "cu" else "hipMallocManaged"
    managed, increment = each.made(name, SIZE, HOST), each.kernel("fakegpu_increment")
    write(managed)
    assert not kinds()
    assert attach(each, running, managed, GLOBAL, SIZE) == 0
    each.launch(increment, running, managed, 4)
    assert not kinds()
    assert attach(each, running, managed, HOST) == 0
    each.launch(increment, running, managed, 4)
    assert kinds() == ["managed-attach"]


def test_attaching_is_ordered_like_a_write(each: Gpu, running: int) -> None:
    managed, other = each.managed(), each.stream()
    each.launch(each.kernel("fakegpu_increment"), running, managed, 4)
    assert attach(each, other, managed, SINGLE) == 0
    assert kinds() == ["race"]


def test_what_cannot_be_attached_is_refused(each: Gpu) -> None:
    stream, managed = each.stream(), each.managed()
    assert attach(each, 0, managed, SINGLE) == 1  # not to the null stream
    assert attach(each, stream, managed, SINGLE, SIZE // 2) == 1  # not a part
    assert attach(each, stream, managed, 3) == 1
    assert attach(each, stream, each.memory(), GLOBAL) == 1
    assert attach(each, stream, managed, SINGLE, SIZE) == 0
    assert not kinds()
